use super::super::super::Containers;
use super::*;
use crate::shimmed::testing::{fitted, linux_host};
use polder_engine::{Engine, EngineClass};
use polder_facts::{ByteSize, Guarantee, Origin, Sourced};
use polder_policy::{EngineChoice, Image, Network, NetworkMode, PathPattern, Policy, built_in};
use std::sync::Arc;

struct Known;

impl Host for Known {
    fn has(&self, path: &Path) -> bool {
        path == Path::new("/etc/ssl")
    }

    fn is_directory(&self, path: &Path) -> bool {
        path == Path::new("/home/u/repo/hidden")
    }
}

fn policy() -> Policy {
    let said = |text: &str| Sourced::new(PathPattern(text.to_owned()), Origin::Api);
    let mut policy = built_in();
    policy.image = Some(Sourced::new(Image::Named("busybox".to_owned()), Origin::Api));
    policy.engine = Sourced::new(EngineChoice::Named("docker".to_owned()), Origin::Api);
    policy.network.value = Network::of(NetworkMode::None);
    policy.deny_read = vec![said("hidden"), said("secret")];
    policy.protect.push(said("**/.env"));
    policy.limits.memory = Some(Sourced::new(ByteSize(1 << 30), Origin::Api));
    let options = Sourced::new(json!({ "runtime": "runsc" }), Origin::Api);
    policy.engine_options.insert("docker".to_owned(), options);
    policy.accept = [Guarantee::SecondLayer, Guarantee::Protect].map(|gap| Sourced::new(gap, Origin::Api)).into();
    policy
}

fn at<'a>(mounts: &'a [Mounted], path: &str) -> Option<(&'a From, bool)> {
    mounts.iter().find(|mount| mount.at == Path::new(path)).map(|mount| (&mount.from, mount.read_only))
}

#[test]
fn what_is_hidden_and_protected_is_a_mount_of_the_container() {
    let fitted = fitted(&Containers::DOCKER, &policy(), linux_host(1000));
    let mounts = mounts(fitted.plan(), Some(&["HOME=/root".to_owned()]), &Known);
    let users = |path: &str| From::Users(path.into());
    assert_eq!(at(&mounts, "/home/u/repo"), Some((&users("/home/u/repo"), false)));
    assert_eq!(at(&mounts, "/home/u/repo/hidden"), Some((&From::Hidden { directory: true }, true)));
    assert_eq!(at(&mounts, "/home/u/repo/secret"), Some((&From::Hidden { directory: false }, true)));
    assert_eq!(at(&mounts, "/home/u/repo/.git/config"), Some((&users("/home/u/repo/.git/config"), true)));
    assert_eq!(at(&mounts, "/home/u/repo/.git"), Some((&users("/home/u/repo/.git"), false)), "pinned");
    assert_eq!(at(&mounts, "/root"), Some((&From::Memory { mode: 0o700 }, false)), "the image's home");
    assert_eq!(at(&mounts, "/usr"), None, "nothing of the host's beside an image");
    let order = |path: &str| mounts.iter().position(|mount| mount.at == Path::new(path));
    assert!(
        order("/home/u/repo") < order("/home/u/repo/.git")
            && order("/home/u/repo/.git") < order("/home/u/repo/.git/config")
    );
}

#[test]
fn a_request_gives_no_right_and_tells_no_variable() {
    for uid in [0, 1000] {
        let mut policy = policy();
        policy.env.set.push(Sourced::new(("TOKEN".to_owned(), "s3cret".to_owned()), Origin::Api));
        let fitted = fitted(&Containers::DOCKER, &policy, linux_host(uid));
        let plan = fitted.plan();
        let all: Vec<_> = mounts(plan, Some(&[]), &Known).into_iter().map(|mount| (mount, Some("/x".into()))).collect();
        let labels = BTreeMap::from([("polder.owner", "42".to_owned())]);
        let bounds = bounds(plan, true);
        let (kind, image, runtime) = (Kind::Docker, "sha256:0", "runsc");
        let request = request(plan, &Setting { kind, image, runtime, labels: &labels, bounds, mounts: &all });
        let host = &request["HostConfig"];
        assert_eq!(host["CapDrop"], json!(["ALL"]));
        assert_eq!((&host["Runtime"], &host["NetworkMode"]), (&json!("runsc"), &json!("none")));
        assert_eq!((&host["ReadonlyRootfs"], &host["Privileged"]), (&json!(true), &json!(false)));
        assert_eq!((&host["Memory"], &host["AutoRemove"]), (&json!(1u64 << 30), &json!(false)));
        let part = plan.files.scratch.0 / 4;
        assert_eq!(host["ShmSize"], json!(part), "three more places have a part each");
        let memory = host["Tmpfs"].as_object().expect("places");
        assert_eq!(memory.len(), 3);
        assert!(memory.values().all(|options| options.to_string().contains(&format!("size={part},"))), "{memory:?}");
        for key in ["CapAdd", "Devices", "Binds", "PidMode", "VolumesFrom", "GroupAdd"] {
            assert_eq!(host[key], Value::Null, "{key}");
        }
        assert_eq!(request["Env"], json!([]));
        assert!(!request.to_string().contains("s3cret"));
    }
}

#[test]
fn every_gap_is_said_and_nothing_starts_without_a_word() {
    let host = Arc::new(linux_host(1000));
    let judged = |change: &dyn Fn(&mut Policy)| {
        let mut policy = policy();
        change(&mut policy);
        let engine = Containers::DOCKER;
        let plan = polder_plan::compile_in(engine.world(), &policy, &host, &["true".into()]).expect("a plan");
        let plan = Arc::new(plan);
        let fit = engine.fit(&plan, &host);
        assert_eq!(fit.class, EngineClass::Vm, "a kernel of its own");
        fit.require(&plan, &host).map(drop).map_err(|refused| refused.to_string())
    };
    assert_eq!(judged(&|_| {}), Ok(()), "the control");
    let refused = |change: &dyn Fn(&mut Policy), words: &str| {
        let said = judged(change).expect_err(words);
        assert!(said.contains(words), "{words}: {said}");
    };
    refused(&|policy| policy.accept.clear(), "no Landlock in `runsc`");
    refused(&|policy| policy.network.value = Network::of(NetworkMode::Full), "has no network");
    refused(&|policy| policy.observe = Sourced::new(polder_policy::Observe::Exact, Origin::Api), "observe: off");
    refused(&|policy| policy.workspace.value.mode = polder_policy::WorkspaceMode::Cow, "layer of this kernel's");
    refused(
        &|policy| {
            let (file, service) = ("compose.yaml".to_owned(), "app".to_owned());
            policy.image = Some(Sourced::new(Image::Compose { file, service }, Origin::Api));
        },
        "share a network namespace",
    );
}
