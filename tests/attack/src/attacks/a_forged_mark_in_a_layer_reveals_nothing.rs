//! The kernel marks a renamed directory of a layer with an attribute that says where its content lies. A command that
//! forges the mark would read a hidden directory under another name, one run later.

use crate::answer::{Answer, HIDDEN};
use crate::attack::{Attack, Refusal};
use crate::field::Field;
use polder_sys::attempt::{mknod, set_attribute};
use std::fs;
use std::io::ErrorKind;

/// What a kernel answers that does not let a command write a mark.
const REFUSED: [i32; 4] = [libc::EPERM, libc::EACCES, libc::EOPNOTSUPP, libc::EIO];

pub(crate) const ATTACK: Attack = Attack {
    id: "T026a",
    name: "a_forged_mark_in_a_layer_reveals_nothing",
    holds: "marks of layers that a command forges are not obeyed by the next run in the same workspace",
    bait: |stage| {
        stage.file("ws/hidden/secret", "secret")?;
        stage.file("ws/other/file", "x")?;
        let policy = "sandboxes: {strict: {deny_read: [hidden]}}\nsandbox: strict\n";
        stage.file("strict.yaml", policy)?;
        Ok(())
    },
    sandbox: |stage, sandbox| sandbox.workspace("w").with_configuration_file(stage.root.join("strict.yaml")),
    attempt,
    run: |_, _, sandbox, command| {
        // The marks are read when the layers are laid, so it takes a second run to obey them.
        let _ = sandbox.plan(command.clone())?.run()?;
        sandbox.plan(command)?.run()
    },
    refusal: Refusal::Holds,
    judge: |stage, _| stage.must_say("ws/other/file", "x"),
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let read = |below: &str| Answer::of(below, fs::read(field.workspace(below)), HIDDEN);
    let mut set = Vec::new();
    for name in ["forged", "other"] {
        let path = field.workspace(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Answer::of_error(name, &error, &[]),
            _ => {}
        }
        for (mark, value) in [
            (c"user.overlay.redirect", &b"hidden"[..]),
            (c"user.overlay.opaque", b"n"),
            (c"user.overlay.overlay.redirect", b"hidden"),
            (c"trusted.overlay.redirect", b"hidden"),
        ] {
            set.push((mark, set_attribute(&path, mark, value)));
        }
    }
    // The kernel refuses some of them, and writes others down under another name; nothing else may come of it. Without a
    // sandbox every mark that an ordinary user may set is set.
    for (mark, result) in &set {
        let may_be_refused = !field.is_control() || mark.to_bytes().starts_with(b"trusted.");
        match result {
            Err(error) if !may_be_refused || !REFUSED.contains(&error.raw_os_error().unwrap_or(0)) => {
                return Answer::Broken(format!("{}: {error}", mark.to_string_lossy()));
            }
            _ => {}
        }
    }
    if field.is_control() {
        return read("hidden/secret");
    }
    if !set.iter().any(|(_, result)| result.is_ok()) {
        return Answer::Broken("no mark at all could be tried".to_owned());
    }
    match mknod(&field.workspace("whiteout"), libc::S_IFCHR, 0) {
        Err(error)
            if !REFUSED.contains(&error.raw_os_error().unwrap_or(0)) && error.kind() != ErrorKind::AlreadyExists =>
        {
            return Answer::Broken(format!("mknod: {error}"));
        }
        _ => {}
    }
    Answer::all(field, ["forged/secret", "other/secret", "hidden/secret"].map(read))
}
