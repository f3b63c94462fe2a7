//! Places that every made world has, whoever makes it.

use polder_facts::GuestPath;
use polder_plan::Plan;

/// Devices of the host that are shown.
pub(crate) const DEVICES: [&str; 5] = ["null", "zero", "full", "urandom", "tty"];

/// Links below `/dev`: their text, and where they are.
pub(crate) const DEVICE_LINKS: [(&str, &str); 6] = [
    // The same generator since Linux 5.6, and one mount less.
    ("urandom", "dev/random"),
    ("/proc/self/fd", "dev/fd"),
    ("/proc/self/fd/0", "dev/stdin"),
    ("/proc/self/fd/1", "dev/stdout"),
    ("/proc/self/fd/2", "dev/stderr"),
    ("pts/ptmx", "dev/ptmx"),
];

/// Whether the home is an empty one of the sandbox's own. One below something shown, such as a workspace at its host
/// path, is not private and not made.
pub(crate) fn has_private_home(plan: &Plan) -> bool {
    !plan.files.shown.iter().any(|shown| plan.identity.home.is_within(&shown.guest))
}

/// Whether something is mounted below `/var/tmp`, which is otherwise a link: a mount point must not lie behind one.
pub(crate) fn var_tmp_holds_mounts(plan: &Plan) -> bool {
    let below = |path: &GuestPath| path.as_path().starts_with("/var/tmp");
    below(&plan.identity.home) || plan.files.shown.iter().any(|shown| below(&shown.guest))
}
