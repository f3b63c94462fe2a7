use super::super::Containers;
use super::*;
use crate::shimmed::testing::{fitted, linux_host, much, text};
use expect_test::{ExpectFile, expect_file};
use polder_facts::{ByteSize, HostFacts, Origin, Sourced};
use polder_policy::{EngineChoice, Image, Policy, built_in};

fn lowered(engine: &Containers, policy: &Policy, host: HostFacts, image_env: Option<&[String]>) -> Lowered {
    let located = |number: usize| Located {
        link: format!("/tmp/place/shown/{number}").into(),
        device: 7,
        inode: 100 + number as u64,
    };
    let shown: Vec<Located> = (0..8).map(located).collect();
    let labels = BTreeMap::from([("polder.owner", "42".to_owned())]);
    let setting = Setting {
        kind: engine.0,
        image: "sha256:0",
        image_env,
        runtime: None,
        program: Path::new("/usr/bin/polder"),
        door: Path::new("/tmp/place/door"),
        empty: Path::new("/tmp/place/empty"),
        file: Path::new("/tmp/place/file"),
        layers: None,
        shown: &shown,
        labels: &labels,
        names: &[],
    };
    lower(&fitted(engine, policy, host), None, &setting)
}

fn told(lowered: &Lowered, expected: &ExpectFile) {
    let Lowered { request, without_home, uid, bounds, ground, inside } = lowered;
    let request = serde_json::to_string_pretty(request).expect("JSON");
    let steps = text::steps(&ground.steps);
    let identity = ground.identity;
    let inside = text::inside(inside);
    let home = without_home.as_ref().map(|(home, _)| home);
    expected
        .assert_eq(&format!("{request}\n\nhome {home:?}\nuid {uid}\n{bounds:?}\n{identity:?}\n\n{steps}\n{inside}"));
}

fn limited() -> Policy {
    let mut policy = much();
    policy.limits.memory = Some(Sourced::new(ByteSize(1 << 30), Origin::Api));
    policy.limits.cpus = Some(Sourced::new(1.5, Origin::Api));
    policy.limits.pids = Some(Sourced::new(100, Origin::Api));
    policy
}

fn with_image() -> Policy {
    let mut policy = built_in();
    policy.image = Some(Sourced::new(Image::Named("busybox".to_owned()), Origin::Api));
    policy.engine = Sourced::new(EngineChoice::Named("docker".to_owned()), Origin::Api);
    policy
}

#[test]
fn the_hosts_programs_for_an_ordinary_user() {
    told(&lowered(&Containers::DOCKER, &limited(), linux_host(1000), None), &expect_file!["./tests/host_user.txt"]);
}

#[test]
fn the_hosts_programs_for_root() {
    let lowered = lowered(&Containers::DOCKER, &built_in(), linux_host(0), None);
    // The daemon is not told what is shown: it is handed over by descriptor.
    assert!(!lowered.request.to_string().contains("shown"));
    told(&lowered, &expect_file!["./tests/host_root.txt"]);
}

#[test]
fn an_image_for_an_ordinary_user_by_the_other_daemon() {
    let env = ["PATH=/opt/bin:/bin".to_owned(), "HOME=/root".to_owned(), "LANG=C".to_owned()];
    let lowered = lowered(&Containers::PODMAN, &with_image(), linux_host(1000), Some(&env));
    let candidates: Vec<_> = lowered.inside.command.candidates.iter().map(|path| path.to_string_lossy()).collect();
    assert_eq!(candidates, ["/opt/bin/sh", "/bin/sh"], "the image's PATH, not the host's");
    assert!(lowered.inside.command.env.contains(&c("HOME=/root")), "the image's HOME");
    told(&lowered, &expect_file!["./tests/image_user.txt"]);
}

#[test]
fn no_request_gives_a_right_or_shows_a_socket() {
    let env = ["PATH=/bin".to_owned()];
    for (policy, image) in [(much(), None), (built_in(), None), (with_image(), Some(env.as_slice()))] {
        for uid in [0, 1000] {
            for engine in [&Containers::DOCKER, &Containers::PODMAN] {
                let Lowered { request, .. } = lowered(engine, &policy, linux_host(uid), image);
                let host = &request["HostConfig"];
                assert_eq!(host["CapDrop"], json!(["ALL"]));
                assert_eq!(host["Privileged"], json!(false));
                assert_eq!(host["ReadonlyRootfs"], json!(true));
                for key in ["CapAdd", "Devices", "DeviceRequests", "Binds", "PidMode", "VolumesFrom", "GroupAdd"] {
                    assert_eq!(host[key], Value::Null, "{key}");
                }
                assert_ne!(request["User"], json!("0:0"));
                assert!(!request.to_string().contains(".sock\""), "{request}");
                assert_eq!(request["Env"], json!([]), "what the environment holds is nobody's business");
            }
        }
    }
}
