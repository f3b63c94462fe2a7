//! The ground of a run in an image: the image's own root, read-only, with what is private or shown laid over it. Pure.
//!
//! The daemon has made the mount points, in the container's own layer: nothing is made in the image or on the host.

use super::lower::OWN;
use crate::shimmed::{access, c, has_private_home, masks, net, relative};
use polder_plan::{Plan, Written};
use polder_sys::{Access, Ground, Identity, Missing, Root, Source, Step};
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// Files that every image gets: who and where the command is. The daemon makes mount points for two of them, and has the
/// others already.
pub(super) const FILES: [&str; 2] = ["/etc/passwd", "/etc/group"];
/// Those that the daemon has mounted itself.
const DAEMONS: [&str; 3] = ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"];

/// Directories of the container that are mount points.
pub(super) fn directories(plan: &Plan) -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = ["/.polder/private", "/run/polder", "/tmp", "/var/tmp"].map(PathBuf::from).into();
    if has_private_home(plan) && !directories.iter().any(|own| own == plan.identity.home.as_path()) {
        directories.push(plan.identity.home.as_path().to_owned());
    }
    // A mount point below another is made when the other is there.
    directories.sort();
    directories
}

pub(super) fn image_ground(plan: &Plan, identity: Identity) -> Ground {
    Ground {
        identity,
        net: net(plan),
        root: Root::Found,
        scratch_bytes: plan.files.scratch.0,
        steps: steps(plan, identity),
        hostname: c(plan.identity.hostname),
    }
}

/// A path of the private file system, relative to the root.
fn private(name: &str) -> PathBuf {
    Path::new(&Root::PRIVATE.to_string_lossy().into_owned()).join(name)
}

fn steps(plan: &Plan, identity: Identity) -> Vec<Step> {
    let mut steps = Vec::new();
    let show = |steps: &mut Vec<Step>, name: &str, at: &Path, access| {
        let path = c(Path::new("/").join(private(name)));
        steps.push(Step::Bind { source: Source::System { path }, at: c(at), access });
    };
    let directory = |steps: &mut Vec<Step>, name: &str, mode, at: &Path| {
        steps.push(Step::Directory { at: c(private(name)), mode });
        show(steps, name, at, Access::ReadWrite);
    };
    steps.push(Step::Proc { at: c("proc") });
    steps.push(Step::Terminals { at: c("dev/pts") });
    directory(&mut steps, "tmp", 0o1777, Path::new("tmp"));
    directory(&mut steps, "shm", 0o1777, Path::new("dev/shm"));
    directory(&mut steps, "var-tmp", 0o1777, Path::new("var/tmp"));
    directory(&mut steps, "run", 0o755, Path::new("run/polder"));
    if has_private_home(plan) {
        directory(&mut steps, "home", 0o700, relative(&plan.identity.home));
    }
    let ours = |written: &&Written| {
        let path = written.path.as_path();
        FILES.iter().chain(&DAEMONS).any(|own| path == Path::new(own))
    };
    for (number, written) in plan.files.written.iter().filter(ours).enumerate() {
        let name = format!("file-{number}");
        steps.push(Step::File { at: c(private(&name)), content: c(&written.content), mode: 0o644 });
        show(&mut steps, &name, relative(&written.path), Access::ReadOnly);
    }
    for shown in &plan.files.shown {
        let source = Source::Resolved { path: c(shown.host.as_os_str()) };
        steps.push(Step::Bind { source, at: c(relative(&shown.guest)), access: access(shown.access) });
    }
    steps.push(Step::Directory { at: Step::HIDDEN_DIRECTORY.to_owned(), mode: 0 });
    steps.push(Step::File { at: Step::HIDDEN_FILE.to_owned(), content: CString::default(), mode: 0 });
    steps.extend(masks(plan, identity));
    // The daemon's view of the host's kernel, and everything of ours, what is shown once more among it.
    for at in ["sys", OWN.trim_start_matches('/')] {
        steps.push(Step::Hide { at: c(at), missing: Missing::Skip });
    }
    // What covers the others must not be changed.
    steps.push(Step::Protect { at: c("run/polder") });
    steps
}
