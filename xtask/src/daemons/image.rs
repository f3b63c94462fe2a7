//! The one image that tests start from: nothing can be pulled on a test machine, so it is made of a static program.

use super::IMAGE;
use super::place::Place;
use super::ready::ask;
use crate::run::call;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = "/bin/busybox";

/// Packs the image's files.
pub(super) fn archive(place: &Place) -> Result<Vec<u8>, String> {
    let root = place.path().join("image");
    let cannot = |error: std::io::Error| format!("cannot make the image for tests: {error}");
    for directory in ["", "bin", "dev", "etc", "home", "proc", "root", "sys", "tmp", "usr", "usr/bin", "var"] {
        fs::create_dir(root.join(directory)).map_err(cannot)?;
    }
    fs::copy(PROGRAM, root.join("bin/busybox")).map_err(cannot)?;
    let list = Command::new(PROGRAM).arg("--list").output().map_err(cannot)?;
    for name in String::from_utf8_lossy(&list.stdout).lines().filter(|name| *name != "busybox") {
        symlink("busybox", root.join("bin").join(name)).map_err(cannot)?;
    }
    symlink("../../bin/env", root.join("usr/bin/env")).map_err(cannot)?;
    fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home:/bin/sh\n")
        .map_err(cannot)?;
    fs::write(root.join("etc/group"), "root:x:0:\nuser:x:1000:\n").map_err(cannot)?;
    call(Command::new("chmod").arg("1777").arg(root.join("tmp")))?;
    let archive = place.path().join("image.tar");
    call(
        Command::new("tar")
            .args(["--owner=0", "--group=0", "--create", "--file"])
            .arg(&archive)
            .arg("-C")
            .arg(&root)
            .arg("."),
    )?;
    fs::read(archive).map_err(cannot)
}

/// Gives a daemon the image.
pub(super) fn load(socket: &Path, archive: &[u8]) -> Result<(), String> {
    let (repository, tag) = IMAGE.split_once(':').unwrap_or((IMAGE, "latest"));
    let asked = |what: &str, body: &[u8]| {
        let answer = ask(socket, what, body).map_err(|error| format!("cannot load the image for tests: {error}"))?;
        let taken = (200..300).contains(&answer.status);
        if taken { Ok(answer.text) } else { Err(format!("the image for tests was not taken: {}", answer.text)) }
    };
    // `ENV PATH=/bin:/usr/bin`, so that the image has a PATH of its own.
    let answer = asked("POST /images/create?fromSrc=-&changes=ENV%20PATH%3D%2Fbin%3A%2Fusr%2Fbin", archive)?;
    // Podman gives what it imports no name, whatever it is told.
    let id = answer.find("sha256:").and_then(|at| answer.get(at..at + "sha256:".len() + 64));
    let id = id.ok_or_else(|| format!("the image for tests has no id: {answer}"))?;
    asked(&format!("POST /images/{id}/tag?repo={repository}&tag={tag}"), &[])?;
    asked(&format!("GET /images/{IMAGE}/json"), &[]).map(drop)
}
