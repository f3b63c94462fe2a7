use super::*;
use crate::shimmed::testing::linux_host;
use polder_facts::{Origin, Sourced};
use polder_policy::{Image, built_in};

fn denial(kind: DenialKind, errno: u32, target: &str) -> Denial {
    let (target, exe) = (Some(target.as_bytes().to_vec()), None);
    Denial { index: 0, kind, detail: errno, pid: 7, exe, target, count: 1, at_end: None }
}

fn plan(image: Option<Image>) -> Plan {
    let mut policy = built_in();
    policy.image = image.map(|image| Sourced::new(image, Origin::Api));
    polder_plan::compile(&policy, &linux_host(1000), &["true".into()]).expect("a plan")
}

#[test]
fn the_host_is_not_asked_about_the_paths_of_an_image() {
    let (image, plain) = (plan(Some(Image::Named("alpine".to_owned()))), plan(None));
    // The host of this test has it, and so would grant it.
    let read = denial(DenialKind::Read, ENOENT, "/etc/hostname");
    for errno in [EROFS, EACCES] {
        let written = denial(DenialKind::Create, errno, "/opt/new");
        let found = violation(&image, &written).expect("a violation");
        assert!(found.grant.is_none(), "{found:?}");
        assert!(found.note.is_some_and(|note| note.contains("the image's root is read-only")));
    }
    assert_eq!(violation(&image, &read), None, "the image does not have it");
    assert_eq!(violation(&image, &denial(DenialKind::Write, ENOENT, "/no/x")), None, "nor that");
    assert!(!is_of_image(&image, Path::new("/home/u/repo/.git/hooks/x")), "what is shown is the host's");
    assert!(is_of_image(&image, Path::new("/etc/hostname")) && !is_of_image(&plain, Path::new("/etc/hostname")));
}

#[test]
fn missing_path_of_private_home_is_judged_at_the_end() {
    let plan = plan(None);
    let home = plan.identity.home.to_string();
    let at = |kind, path: &str, at_end| Denial { at_end, ..denial(kind, ENOENT, path) };
    let (npm, socket) = (format!("{home}/.npm/_logs"), "/tmp/tmux-1000/default");
    let nothing = Some(FoundAtEnd { target: false, parent: false });
    let parent = Some(FoundAtEnd { target: false, parent: true });
    let target = Some(FoundAtEnd { target: true, parent: true });
    for kind in [DenialKind::Name, DenialKind::Create] {
        assert!(waits_for_end(&plan, &at(kind, &npm, None)));
        assert!(!is_settled(&plan, &at(kind, &npm, nothing)), "its directory is still missing");
        assert!(is_settled(&plan, &at(kind, &npm, parent)) && is_settled(&plan, &at(kind, &npm, None)));
    }
    assert!(is_settled(&plan, &at(DenialKind::Read, &npm, target)));
    assert!(!is_settled(&plan, &at(DenialKind::Read, &npm, parent)), "the file is still missing");
    assert!(!is_settled(&plan, &at(DenialKind::Read, &npm, None)), "nothing says that it was made");
    assert!(is_settled(&plan, &at(DenialKind::UnixSocket, socket, parent)), "the client made the directory");
    assert!(!is_settled(&plan, &at(DenialKind::UnixSocket, "/tmp/x.sock", parent)), "which every sandbox has");
    assert!(!waits_for_end(&plan, &at(DenialKind::Name, "/opt/x/y", None)), "nothing can be made there");
    assert!(!waits_for_end(&plan, &denial(DenialKind::Name, EROFS, &npm)), "it is not missing");
}
