//! From a plan to a profile. Pure: the same plan gives the same text on every machine.
//!
//! The last rule that matches wins, so the order is: deny everything, allow what every program needs, allow what the
//! plan shows, parents before children, and then deny what the plan protects. Nothing is allowed after that.

use super::sbpl::{Unspeakable, any_case, any_case_anywhere, below, only};
use polder_plan::{FileView, MaskKind, Plan, Reserved, Shown, SystemKind};
use polder_policy::{Access, NetworkMode};
use std::collections::BTreeSet;
use std::path::Path;

/// The parameter that names the run's own directory, which is made when it starts.
pub(super) const SCRATCH: &str = "SCRATCH";

/// Temporary files of everybody, without the link that leads there.
pub(super) const TEMPORARY: &str = "/private/tmp";

/// What is not part of the default and therefore denied by name; what every program needs to start and to run others.
/// Hard links are not among it: a second name of a protected file would not be protected.
const PROCESSES: &str = r#"(version 1)
(deny default)
(deny process-info* nvram* iokit-get-properties)

; processes: the rules pass on to whatever is started, and nobody outside is seen or signalled
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(deny sysctl-read (sysctl-name-prefix "kern.proc"))
(allow ipc-posix-sem (ipc-posix-name-regex #"^/mp-"))
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))

; services: names of users and groups, notifications, the log
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.bsd.dirhelper"))
"#;

/// Directories of programs, on every macOS.
const SYSTEM: [&str; 5] = ["/usr", "/bin", "/sbin", "/Library", "/System"];

/// What programs read beside those: the links at the top, and from `/private` what is named here.
const CONFIGURATION: &str = r#"
; configuration: never keys, never other users' files
(allow file-read-metadata
  (literal "/etc") (literal "/tmp") (literal "/var")
  (literal "/private") (literal "/private/etc") (literal "/private/var") (literal "/private/var/db")
  (literal "/private/var/run") (literal "/Users"))
(allow file-read*
  (literal "/")
  (literal "/private/etc/bashrc") (literal "/private/etc/gitconfig") (literal "/private/etc/group")
  (literal "/private/etc/hosts") (literal "/private/etc/localtime") (literal "/private/etc/man.conf")
  (literal "/private/etc/passwd") (literal "/private/etc/paths") (literal "/private/etc/profile")
  (literal "/private/etc/protocols") (literal "/private/etc/services") (literal "/private/etc/shells")
  (literal "/private/etc/zprofile") (literal "/private/etc/zshenv") (literal "/private/etc/zshrc")
  (literal "/private/etc/ssl/cert.pem") (literal "/private/etc/ssl/openssl.cnf")
  (subpath "/private/etc/paths.d") (subpath "/private/etc/ssl/certs")
  (subpath "/private/var/db/dyld") (subpath "/private/var/db/timezone")
  (literal "/private/var/db/xcode_select_link") (subpath "/private/var/select"))
"#;

/// Devices, terminals that are made inside, temporary files, and the cache of the developer tools.
const DEVICES: &str = r#"
; devices and temporary files
(allow file-read* (literal "/dev"))
(allow file-read* file-write-data file-ioctl
  (subpath "/dev/fd")
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom")
  (literal "/dev/tty") (literal "/dev/dtracehelper")
  (literal "/dev/stdin") (literal "/dev/stdout") (literal "/dev/stderr"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write*
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow file-ioctl (regex #"^/dev/ttys[0-9]+$"))
(allow file-read* file-write* process-exec (subpath "/private/tmp"))
(allow file-read* file-write* (regex #"^/private/var/folders/[^/]+/[^/]+/T/xcrun_db"))
(allow file-read* file-write* process-exec (subpath (param "SCRATCH")))
"#;

/// The host's network, and no socket of the host's file system but the one that names are asked from.
const NETWORK: &str = r#"
; network
(allow network-outbound (remote ip "*:*") (literal "/private/var/run/mDNSResponder"))
(allow network-bind network-inbound (local ip "*:*"))
(allow system-socket)
(allow file-read* (literal "/private/etc/resolv.conf") (literal "/private/var/run/resolv.conf"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.dnssd.service")
  (global-name "com.apple.trustd")
  (global-name "com.apple.trustd.agent"))
"#;

/// The whole profile, or the first path that it cannot name.
pub(super) fn profile(plan: &Plan) -> Result<String, Unspeakable> {
    let files = &plan.files;
    let mut out = Profile { text: PROCESSES.to_owned() };
    out.system(files)?;
    out.text.push_str(CONFIGURATION);
    out.text.push_str(DEVICES);
    match plan.network.value.mode {
        NetworkMode::Full => out.text.push_str(NETWORK),
        // Restricted never becomes a `Fitted` without a broker; if it did, nothing must be open.
        NetworkMode::None | NetworkMode::Restricted => {}
    }
    out.shown(files)?;
    out.masks(files)?;
    out.ancestors(files)?;
    Ok(out.text)
}

struct Profile {
    text: String,
}

impl Profile {
    fn comment(&mut self, text: &str) {
        self.text.push_str(&format!("\n; {text}\n"));
    }

    fn rule(&mut self, rule: &str, filter: &str) {
        self.text.push_str(&format!("({rule} {filter})\n"));
    }

    /// Programs: to read and to execute, and nothing else can be executed but what the plan shows.
    fn system(&mut self, files: &FileView) -> Result<(), Unspeakable> {
        self.comment("programs");
        for path in SYSTEM {
            self.rule("allow file-read* process-exec", &below(Path::new(path))?);
        }
        for entry in &files.system {
            let path = entry.path.as_path();
            if entry.kind == SystemKind::Directory && !SYSTEM.iter().any(|known| path.starts_with(known)) {
                self.rule("allow file-read* process-exec", &below(path)?);
            }
        }
        Ok(())
    }

    /// The way to what is visible: that its parents exist, and not what is in them.
    fn parents(&mut self, files: &FileView) -> Result<(), Unspeakable> {
        let system = files.system.iter().map(|entry| entry.path.as_path());
        let visible = system.chain(files.shown.iter().map(|shown| shown.host.as_path()));
        let parents: BTreeSet<&Path> = visible.flat_map(|path| path.ancestors().skip(1)).collect();
        for parent in parents.into_iter().filter(|parent| *parent != Path::new("/")) {
            self.rule("allow file-read-metadata", &only(parent)?);
        }
        Ok(())
    }

    fn shown(&mut self, files: &FileView) -> Result<(), Unspeakable> {
        self.comment("the workspace and what is bound");
        self.parents(files)?;
        for shown in &files.shown {
            let path = shown.host.as_path();
            let filter = if shown.directory { below(path)? } else { only(path)? };
            self.rule("allow file-read* process-exec", &filter);
            match shown.access {
                Access::ReadWrite => self.rule("allow file-write*", &filter),
                Access::ReadOnly if can_be_written(files, path) => self.rule("deny file-write*", &filter),
                Access::ReadOnly => {}
            }
        }
        Ok(())
    }

    fn masks(&mut self, files: &FileView) -> Result<(), Unspeakable> {
        if !files.masks.is_empty() {
            self.comment("protected and hidden");
        }
        for mask in &files.masks {
            let filter = below(mask.path.as_path())?;
            match mask.kind {
                MaskKind::Protect => self.rule("deny file-write*", &filter),
                MaskKind::Hide => self.rule("deny file-read* file-write* process-exec", &filter),
            }
        }
        if !files.reserved.is_empty() || !files.swept.is_empty() || !files.git.missing.is_empty() {
            self.comment("names that must not come into being");
        }
        for Reserved { name, .. } in &files.reserved {
            for tree in written_trees(files) {
                self.rule("deny file-write*", &any_case_anywhere(tree.host.as_path(), name)?);
            }
        }
        // Elsewhere these are watched and set aside; here it costs nothing to refuse them at once.
        for swept in files.swept.iter().chain(&files.git.missing) {
            let path = swept.path.as_path();
            if let (Some(directory), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) {
                self.rule("deny file-write*", &any_case(directory, name)?);
            }
        }
        Ok(())
    }

    /// What is shown stays where it is, and so does every directory above it and above a mask: the rules go by path, and
    /// under another path none of them would hold.
    fn ancestors(&mut self, files: &FileView) -> Result<(), Unspeakable> {
        let masked = files.masks.iter().filter_map(|mask| mask.path.as_path().parent());
        let swept = files.swept.iter().chain(&files.git.missing).filter_map(|swept| swept.path.as_path().parent());
        let shown = files.shown.iter().map(|shown| shown.host.as_path());
        let pinned = files.pinned.iter().map(|pinned| pinned.as_path());
        let held: BTreeSet<&Path> = (masked.chain(swept).chain(shown).chain(pinned))
            .flat_map(Path::ancestors)
            .filter(|path| can_be_written(files, path))
            .collect();
        if !held.is_empty() {
            self.comment("what is shown, and what lies above a protection, stays where it is");
        }
        for path in held {
            self.rule("deny file-write-unlink", &only(path)?);
        }
        Ok(())
    }
}

fn written_trees(files: &FileView) -> impl Iterator<Item = &Shown> {
    files.shown.iter().filter(|shown| shown.access == Access::ReadWrite)
}

/// Whether some rule allows to write here.
fn can_be_written(files: &FileView, path: &Path) -> bool {
    path.starts_with(TEMPORARY) || written_trees(files).any(|tree| path.starts_with(tree.host.as_path()))
}
