//! The ground of a run in an image: the image's own root, read-only, with what is private or shown laid over it. Pure.
//!
//! The daemon has made the mount points, in the container's own layer: nothing is made in the image or on the host.

use super::lower::OWN;
use crate::shimmed::{
    Brought, GitConfigs, access, allowance, bring_layers, c, has_private_home, lay_layers, masks, net, relative,
};
use polder_engine::Layers;
use polder_plan::{ALLOWANCE, Plan, Role, Shown, Written};
use polder_sys::{Access, Ground, Identity, Missing, Root, Source, Step};
use std::ffi::CString;
use std::path::{Path, PathBuf};

/// Files that every image gets: who and where the command is. The daemon makes mount points for those that it has not
/// mounted itself. Without a network, one daemon has a `resolv.conf` and the other has none.
pub(super) const FILES: [&str; 3] = ["/etc/passwd", "/etc/group", "/etc/resolv.conf"];
/// Those that every daemon has mounted itself.
pub(super) const DAEMONS: [&str; 2] = ["/etc/hosts", "/etc/hostname"];

/// Places of the image that are private, in memory; more mount points below them are made there.
const PRIVATE: [&str; 2] = ["/tmp", "/var/tmp"];

/// What has a meaning of its own where the kernel is told what lies below a layer.
const SPECIAL: [u8; 3] = [b':', b'\\', b','];

/// Files of the container that are mount points: what the plan does not write stays the daemon's.
pub(super) fn files(plan: &Plan) -> Vec<&'static str> {
    let written = |path: &&str| plan.files.written.iter().any(|written| written.path.as_path() == Path::new(path));
    FILES.into_iter().filter(|path| written(path)).collect()
}

/// Directories of the container that are mount points.
pub(super) fn directories() -> Vec<PathBuf> {
    ["/.polder/private", "/run/polder"].into_iter().chain(PRIVATE).map(PathBuf::from).collect()
}

/// The home, where it has to be in the image or to be made by the daemon: what is mounted on it covers what the image has
/// there.
pub(super) fn home_in_image(plan: &Plan) -> Option<&Path> {
    let home = plan.identity.home.as_path();
    Some(home).filter(|home| has_private_home(plan) && !PRIVATE.iter().any(|place| home.starts_with(place)))
}

/// Whether a place lies below a private one, so that the sandbox makes it itself.
pub(super) fn is_below_private(plan: &Plan, guest: &Path) -> bool {
    let home = plan.identity.home.as_path();
    let below = |place: &Path| guest != place && guest.starts_with(place);
    PRIVATE.iter().any(|place| below(Path::new(place))) || (has_private_home(plan) && below(home))
}

/// Makes a place below a private one, with the directories above it.
fn make(steps: &mut Vec<Step>, at: &Path, directory: bool) {
    let parents: Vec<&Path> = at.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
    // Those that are there already stay as they are.
    steps.extend(parents.iter().rev().skip(1).map(|dir| Step::Directory { at: c(dir), mode: 0o755 }));
    steps.push(if directory {
        Step::Directory { at: c(at), mode: 0o755 }
    } else {
        Step::File { at: c(at), content: CString::default(), mode: 0o644 }
    });
}

pub(super) fn image_ground(plan: &Plan, layers: Option<&Layers>, identity: Identity) -> Ground {
    Ground {
        identity,
        net: net(plan),
        root: Root::Found,
        scratch_bytes: plan.files.scratch.0,
        steps: steps(plan, layers, identity),
        hostname: c(plan.identity.hostname),
    }
}

/// A path of the private file system, relative to the root.
fn private(name: &str) -> PathBuf {
    Path::new(&Root::PRIVATE.to_string_lossy().into_owned()).join(name)
}

fn steps(plan: &Plan, layers: Option<&Layers>, identity: Identity) -> Vec<Step> {
    let mut steps = Vec::new();
    let show = |steps: &mut Vec<Step>, name: &str, at: &Path, access| {
        let path = c(Path::new("/").join(private(name)));
        steps.push(Step::Bind { source: Source::Private { path }, at: c(at), access });
    };
    let directory = |steps: &mut Vec<Step>, name: &str, mode, at: &Path| {
        steps.push(Step::Directory { at: c(private(name)), mode });
        show(steps, name, at, Access::ReadWrite);
    };
    steps.push(Step::Proc { at: c("proc") });
    steps.push(Step::Terminals { at: c("dev/pts") });
    directory(&mut steps, "tmp", 0o1777, Path::new("tmp"));
    directory(&mut steps, "shm", 0o1777, Path::new("dev/shm"));
    // The same directory, as where it is a link: the second layer knows one.
    show(&mut steps, "tmp", Path::new("var/tmp"), Access::ReadWrite);
    directory(&mut steps, "run", 0o755, Path::new("run/polder"));
    let own = private("run").join(Path::new(ALLOWANCE).file_name().unwrap_or_default());
    steps.push(Step::File { at: c(own), content: allowance(plan), mode: 0o644 });
    if has_private_home(plan) {
        let home = relative(&plan.identity.home);
        let is_new = home_in_image(plan).is_none();
        if is_new {
            make(&mut steps, home, true);
        }
        if is_new || home.as_os_str().as_encoded_bytes().iter().any(|byte| SPECIAL.contains(byte)) {
            directory(&mut steps, "home", 0o700, home);
        } else {
            let [upper, work] = ["home", "home-work"].map(|name| c(private(name)));
            steps.push(Step::Directory { at: upper.clone(), mode: 0o700 });
            steps.push(Step::Directory { at: work.clone(), mode: 0o700 });
            steps.push(Step::Settle { upper, work, at: c(home) });
        }
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
        let within = |outer: &Shown| outer.guest != shown.guest && shown.guest.is_within(&outer.guest);
        if is_below_private(plan, shown.guest.as_path()) && !plan.files.shown.iter().any(within) {
            make(&mut steps, relative(&shown.guest), shown.directory);
        }
        let at = relative(&shown.guest);
        match layers.filter(|_| shown.role == Role::Workspace) {
            Some(layers) => {
                steps.extend(bring_layers(layers, Brought::Together));
                steps.extend(lay_layers(layers, at, shown.access, Brought::Together));
            }
            None => {
                let source = Source::Resolved { path: c(shown.host.as_os_str()) };
                steps.push(Step::Bind { source, at: c(at), access: access(shown.access) });
            }
        }
    }
    steps.push(Step::Directory { at: Step::HIDDEN_DIRECTORY.to_owned(), mode: 0 });
    steps.push(Step::File { at: Step::HIDDEN_FILE.to_owned(), content: CString::default(), mode: 0 });
    steps.extend(masks(plan, identity, GitConfigs::ReadOnly));
    // The daemon's view of the host's kernel, message queues by which runs of one container could meet, and everything of
    // ours, what is shown once more among it.
    for at in ["sys", "dev/mqueue", OWN.trim_start_matches('/')] {
        steps.push(Step::Hide { at: c(at), missing: Missing::Skip });
    }
    // What covers the others must not be changed.
    steps.push(Step::Protect { at: c("run/polder") });
    steps
}
