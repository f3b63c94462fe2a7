//! What somebody who was killed left in the store: directories without a final name, half made or half removed; and workspaces
//! without a name of the user's, of which a note says that nobody else wants them.

use crate::about::Keep;
use crate::remove::remove_below;
use polder_sys::tree;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const GONE: &str = ".gone-";
const NEW: &str = ".new-";
/// Notes about workspaces that end with their run, and how they end.
const PASSING: [(&str, Keep); 2] = [(".never-", Keep::Never), (".changed-", Keep::Changed)];
/// How long nothing must have happened to one that is being made: whoever makes it may be in another pid namespace.
const QUIET: Duration = Duration::from_secs(3600);

/// The name under which a workspace is removed.
pub(crate) fn gone(name: &str) -> String {
    format!("{GONE}{name}-{}", std::process::id())
}

/// The name under which a workspace is made.
pub(crate) fn new(id: &str) -> String {
    format!("{NEW}{id}-{}-{:?}", std::process::id(), std::thread::current().id())
}

/// Notes that a workspace ends with the run that has it.
pub(crate) fn pass(workspace: &Path, keep: Keep) -> io::Result<()> {
    match PASSING.iter().find(|(_, known)| *known == keep) {
        Some((start, _)) => File::create(note(workspace, start)).map(drop),
        None => Ok(()),
    }
}

/// Forgets that note: the workspace has ended, or stays.
pub(crate) fn passed(workspace: &Path) {
    for (start, _) in PASSING {
        // Most have none. One that stays says nothing about a workspace that is gone.
        let _ = fs::remove_file(note(workspace, start));
    }
}

fn note(workspace: &Path, start: &str) -> PathBuf {
    let id = workspace.file_name().unwrap_or_default().to_string_lossy();
    workspace.with_file_name(format!("{start}{id}"))
}

/// Removes what nobody is at work on any more. What cannot be removed is in nobody's way, and is met again the next time.
/// Gives the workspaces of which a note says how they end.
pub(crate) fn clear(place: &Path, store: BorrowedFd<'_>) -> Vec<(String, Keep)> {
    let names = tree::names(store).unwrap_or_default();
    let mut passing = Vec::new();
    for name in names.iter().filter_map(|name| name.to_str()).filter(|name| name.starts_with('.')) {
        let noted = |(start, keep): &(&str, Keep)| Some((name.strip_prefix(start)?.to_owned(), *keep));
        passing.extend(PASSING.iter().find_map(noted));
        let maker = if name.starts_with(GONE) {
            name.rsplit('-').next()
        } else if name.starts_with(NEW) && is_quiet(&place.join(name)) {
            name.rsplit('-').nth(1)
        } else {
            None
        };
        if maker.and_then(|pid| pid.parse::<u32>().ok()).is_some_and(is_gone) {
            let _ = remove_below(store, OsStr::new(name));
        }
    }
    passing
}

fn is_gone(pid: u32) -> bool {
    !Path::new("/proc").join(pid.to_string()).exists()
}

fn is_quiet(path: &Path) -> bool {
    let since = path.symlink_metadata().and_then(|found| found.modified()).ok();
    since.and_then(|then| SystemTime::now().duration_since(then).ok()).is_some_and(|passed| passed > QUIET)
}

#[cfg(test)]
mod tests {
    use super::{gone, new};
    use crate::store::Store;
    use std::fs;
    use std::process::Command;

    #[test]
    fn what_a_killed_one_left_goes_and_what_somebody_is_at_work_on_stays() {
        let base = std::env::temp_dir().join(format!("polder-leftover-{}", std::process::id()));
        Store::open(&base).unwrap();
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let pid = ended.id();
        let (old_gone, old_new) = (format!(".gone-x-{pid}"), format!(".new-x.0a-{pid}-ThreadId(1)"));
        let young = format!(".new-y.0a-{pid}-ThreadId(1)");
        let (own_gone, own_new) = (gone("x"), new("x.0a"));
        for name in [&old_gone, &old_new, &young, &own_gone, &own_new] {
            fs::create_dir_all(base.join(name).join("upper/dir")).unwrap();
        }
        let touched = Command::new("touch").args(["-d", "2 hours ago"]).arg(base.join(&old_new)).status().unwrap();
        assert!(touched.success());
        Store::open(&base).unwrap();
        let there = |name: &str| base.join(name).exists();
        assert!(!there(&old_gone) && !there(&old_new));
        assert!(there(&young) && there(&own_gone) && there(&own_new));
        fs::remove_dir_all(base).unwrap();
    }
}
