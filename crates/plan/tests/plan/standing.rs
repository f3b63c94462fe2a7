use crate::sample::{bind, file, host, planned, protecting, with, with_source};
use polder_facts::{Entry, Grant};
use polder_plan::{Plan, Standing, Way, Wish};
use polder_policy::{Access, built_in};
use std::path::Path;

fn way(plan: &Plan, path: &str, wish: Wish) -> String {
    match plan.standing(Path::new(path), wish) {
        Standing::Allowed { host } => format!("allowed {}", host.unwrap_or_default().display()),
        Standing::Kernel => "kernel".to_owned(),
        Standing::Denied(denied) => {
            let way = match denied.way {
                Way::Show => "show".to_owned(),
                Way::Only(grant) => grant.to_string(),
                Way::Other(_) => "other".to_owned(),
            };
            format!("denied {} {way}", denied.host.display())
        }
    }
}

#[test]
fn every_place_has_a_standing() {
    let mut policy = built_in();
    policy.binds = vec![bind("/srv/data", "/data", Access::ReadOnly)];
    let mut facts = with_source(host(), "/srv/data");
    facts.caches.kept = Some("/home/u/.local/state/polder".into());
    let plan = planned(&policy, &facts).unwrap();
    for (path, read, write) in [
        ("/home/u/repo/src/x", "allowed /home/u/repo/src/x", "allowed /home/u/repo/src/x"),
        ("/home/u/repo", "allowed /home/u/repo", "allowed /home/u/repo"),
        ("/data/x", "allowed /srv/data/x", "denied /srv/data/x other"),
        ("/usr/lib/x", "allowed /usr/lib/x", "denied /usr/lib/x other"),
        ("/etc/passwd", "allowed ", "denied /etc/passwd other"),
        ("/etc/ssl/certs/x", "allowed ", "denied /etc/ssl/certs/x other"),
        ("/etc/shadow", "denied /etc/shadow show", "denied /etc/shadow show"),
        ("/tmp/x", "denied /tmp/x show", "denied /tmp/x show"),
        ("/home/u/.ssh/id", "denied /home/u/.ssh/id show", "denied /home/u/.ssh/id show"),
        ("/opt/x", "denied /opt/x show", "denied /opt/x show"),
        (
            "/home/u/.local/state/polder/runs",
            "denied /home/u/.local/state/polder/runs other",
            "denied /home/u/.local/state/polder/runs other",
        ),
        ("/proc/kcore", "kernel", "kernel"),
        ("/usrx", "denied /usrx show", "denied /usrx show"),
    ] {
        assert_eq!(
            (way(&plan, path, Wish::Read), way(&plan, path, Wish::Write)),
            (read.into(), write.into()),
            "{path}"
        );
    }
}

#[test]
fn a_protection_is_lifted_by_its_rule_and_not_by_the_path() {
    let mut facts = with(host(), &[("conf", Entry::Directory), ("a/.env", file()), ("a", Entry::Directory)]);
    facts.tree.matches.insert("**/.env".to_owned(), vec!["/home/u/repo/a/.env".into()]);
    let plan = planned(&protecting(&["conf", "**/.env"]), &facts).unwrap();
    assert_eq!(way(&plan, "/home/u/repo/conf/x/y", Wish::Write), "denied /home/u/repo/conf/x/y fs.write=conf");
    assert_eq!(way(&plan, "/home/u/repo/conf/x/y", Wish::Read), "allowed /home/u/repo/conf/x/y");
    let Standing::Denied(denied) = plan.standing(Path::new("/home/u/repo/a/.env"), Wish::Write) else { panic!() };
    assert_eq!(denied.way, Way::Only(Grant::FsWrite("**/.env".into())));
}
