//! Root may have device nodes in its trees; the one here is `/dev/null`.

use crate::answer::{Answer, DENIED};
use crate::attack::Attack;
use crate::field::Field;
use crate::stage::{Missing, Stage};
use polder_sys::attempt::{errno_of, mknod, open};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

/// ioctl_tty(2); the two C libraries disagree on the type of its name.
const TCGETS: u64 = 0x5401;

pub(crate) const ATTACK: Attack = Attack {
    id: "T207a",
    name: "a_device_node_in_a_shown_tree_is_dead",
    holds: "a device node in a tree that is shown cannot be opened",
    bait,
    sandbox: |stage, sandbox| sandbox.bind(format!("{}:/opt/shown/lib", stage.root.join("lib").display())),
    attempt: |field: &Field| Answer::of("open", open(&device(field), libc::O_RDONLY, 0), DENIED),
    ..Attack::PLAIN
};

pub(super) fn bait(stage: &mut Stage) -> Result<(), Missing> {
    let device = stage.file("lib/file", "library")?.with_file_name("null");
    mknod(&device, libc::S_IFCHR | 0o666, libc::makedev(1, 3))
        .and_then(|()| std::fs::set_permissions(&device, std::os::unix::fs::PermissionsExt::from_mode(0o666)))
        .map_err(|error| Missing::Lacking(format!("only root can make a device node: {error}")))?;
    stage.tell("device", device.display());
    Ok(())
}

fn device(field: &Field) -> PathBuf {
    field.shown("device", "/opt/shown/lib/null")
}

/// Asks the device something: `/dev/null` knows no such request, if the request comes as far as that.
pub(super) fn control_device(field: &Field) -> Answer {
    let device = match open(&device(field), libc::O_RDONLY, 0) {
        Ok(device) => device,
        Err(error) => return Answer::of_error("open", &error, DENIED),
    };
    match errno_of(libc::SYS_ioctl, [device.as_raw_fd() as u64, TCGETS, 0, 0]) {
        libc::EACCES => Answer::Blocked("ioctl".to_owned()),
        errno => Answer::Reached(format!("ioctl: errno {errno}")),
    }
}
