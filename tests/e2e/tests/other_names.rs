//! Protected and hidden paths that have another name in what is shown: hard links, mounts, files that come later.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said, is_root};
use std::fs;

const DENY: &str = "sandboxes: {a: {deny_read: [secret], protect: [held]}}\nsandbox: a\n";

fn place(configuration: &str) -> Place {
    let place = Place::new();
    place.write("work/secret/deep/key", "s3cret\n");
    place.write("work/held/file", "kept\n");
    place.write("deny.yaml", configuration);
    place
}

/// A shell text in a mount namespace of its own, in which `$RUN` is the binary without the rights that mounting takes.
fn mounting(place: &Place, script: &str) -> Said {
    let (unshare, drop) = if is_root() {
        ("unshare --mount", "")
    } else {
        ("unshare --map-current-user --mount --keep-caps", "setpriv --inh-caps=-all --ambient-caps=-all")
    };
    place.sh(&format!("export RUN=\"{drop} $POLDER\"; {unshare} sh -ec '{script}'"))
}

#[test]
fn hard_link_of_a_masked_directory_refuses_the_run() {
    for (from, held) in [("secret/deep/key", "hidden"), ("held/file", "protected")] {
        let place = place(DENY);
        let run = || place.says(&["run", "--config", "../deny.yaml", "--", "cat", "other"]);
        fs::hard_link(place.work().join(from), place.dir().join("outside")).expect("a link");
        let control = run();
        assert!(control.err.contains("No such file"), "a link that is not shown is harmless: {control:?}");
        fs::hard_link(place.work().join(from), place.work().join("other")).expect("a link");
        let said = run();
        assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
        let named = said.err.contains(&format!("{from}` is {held}")) && said.err.contains("work/other` is not");
        assert!(named && said.err.contains("replace one by a copy"), "{said:?}");
    }
}

#[test]
fn hard_link_in_a_read_only_bind_reveals_nothing() {
    let place = place(DENY);
    fs::create_dir(place.dir().join("bound")).expect("a directory");
    let linked = place.dir().join("bound/key");
    fs::hard_link(place.work().join("secret/deep/key"), &linked).expect("a link");
    let bind = format!("{}:/mnt/bound", place.dir().join("bound").display());
    let run = || place.says(&["run", "--config", "../deny.yaml", "--bind", &bind, "--", "cat", "/mnt/bound/key"]);
    let said = run();
    assert_eq!((said.code, said.out.as_str()), (125, ""), "{said:?}");
    fs::remove_file(&linked).and_then(|()| fs::write(&linked, "free\n")).expect("another file");
    assert_eq!(run().out, "free\n", "the control");
}

#[test]
fn mount_of_a_masked_path_is_masked_as_well() {
    let place = place(DENY);
    for directory in ["copy", "part", "again", "whole"] {
        fs::create_dir(place.work().join(directory)).expect("a directory");
    }
    let mounts =
        "mount --bind secret copy; mount --bind secret/deep part; mount --bind held again; mount --bind . whole;";
    let attempts = "cat copy/deep/key part/key whole/secret/deep/key whole/copy/deep/key; \
                    echo x >again/file; echo x >again/new; echo x >whole/held/file; mv whole/held whole/gone; \
                    cat held/file; echo y >whole/free; cat free";
    let control = mounting(&place, &format!("{mounts} cat copy/deep/key part/key whole/secret/deep/key"));
    assert_eq!(control.out, "s3cret\ns3cret\ns3cret\n", "{control:?}");
    let said = mounting(&place, &format!("{mounts} $RUN run --config ../deny.yaml -- sh -c \"{attempts}\""));
    assert_eq!(said.out, "kept\ny\n", "{said:?}");
    assert_eq!((place.read("work/held/file"), place.has("work/held/new")), ("kept\n".to_owned(), false));
}

#[test]
fn mount_of_a_protected_parent_is_masked_as_well() {
    let place = place(DENY);
    assert_eq!(place.sh("git init -q . && mkdir copy").code, 0);
    let mounts = "mount --bind .git copy;";
    let attempts =
        "echo x >copy/config; echo x >copy/hooks/pre-commit; echo x >copy/commondir; echo x >copy/COMMIT_EDITMSG; true";
    let said = mounting(&place, &format!("{mounts} $RUN run --config ../deny.yaml -- sh -c \"{attempts}\""));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(place.has("work/.git/COMMIT_EDITMSG"), "the control: what is not protected can be written: {said:?}");
    assert_ne!(place.read("work/.git/config"), "x\n", "{said:?}");
    assert!(!place.has("work/.git/hooks/pre-commit") && !place.has("work/.git/commondir"), "{said:?}");
}

#[test]
fn bind_of_a_mount_that_shows_a_hidden_path_is_refused() {
    let place = place(DENY);
    fs::create_dir(place.dir().join("elsewhere")).expect("a directory");
    let bind = format!("{}:/mnt/x", place.dir().join("elsewhere").display());
    let run = format!("$RUN run --config ../deny.yaml --bind {bind} -- cat /mnt/x/deep/key");
    let said = mounting(&place, &format!("mount --bind secret ../elsewhere; cat ../elsewhere/deep/key; {run}"));
    assert_eq!((said.code, said.out.as_str()), (125, "s3cret\n"), "{said:?}");
    assert!(said.err.contains("a mount shows it as a whole at `/mnt/x`"), "{said:?}");
}

#[test]
fn report_names_patterns_that_hide_at_the_start_only() {
    let place = place("sandboxes: {a: {deny_read: [\"**/*.pem\", later, secret]}}\nsandbox: a\n");
    let said = place.says(&["run", "--dry-run", "--config", "../deny.yaml", "--", "true"]).out;
    for told in ["**/*.pem (what exists at the start)", "later (what exists at the start)"] {
        assert!(said.contains(told), "{said}");
    }
    assert!(!said.contains("secret (what exists"), "a path that exists is hidden: {said}");
    assert!(said.contains("`**/*.pem` and 1 more entries of deny_read hide what exists when the run begins"), "{said}");
}
