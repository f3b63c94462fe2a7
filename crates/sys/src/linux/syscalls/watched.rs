//! The calls that an observer looks at, and those that are refused in its sight. Pure.
//!
//! A notified call costs two switches between processes, so each is here for a reason. What only looks at names without
//! following links (`lstat`, as `git status` does for every file) is never notified, nor is what works on a descriptor.

use super::{EPERM, Match, NEW_NAMESPACES, Observe, REFUSED, REFUSED_BY_ARCH, Rule, SETID_BITS, SOCKET_KIND};
use super::{SYS_FCHMODAT2, Test, Verdict, when};
use std::collections::BTreeMap;

/// The shim starts the command with this in an argument that execve does not have: it waits for that very call and
/// could not answer. Whoever else says it is not observed, and as bound as before.
pub(in crate::linux) const STARTING: u32 = 0x706f_6c64;

const CREATES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
const WRITES: u32 = (libc::O_ACCMODE | libc::O_TRUNC) as u32;

/// Calls that change names or files.
const CHANGING: &[i64] = &[
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_mkdirat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
];

/// Calls that take names away. Whoever empties a tree makes one for each file, so only `exact` looks.
const REMOVING: &[i64] = &[
    libc::SYS_unlinkat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
];

/// Calls that change names or files, which the filter refuses for certain modes: the number, and which argument is the mode.
const CHANGING_WITH_MODE: &[(i64, u8)] = &[
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
];

/// The same, of which whoever unpacks an archive makes one for each file, so only `exact` looks.
const CHANGING_OFTEN_WITH_MODE: &[(i64, u8)] = &[
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
];

/// Calls that ask whether something is there or go there, following links; by the argument that says otherwise.
const FINDING: &[(i64, Option<u8>)] = &[
    (libc::SYS_chdir, None),
    (libc::SYS_newfstatat, Some(3)),
    (libc::SYS_statx, Some(2)),
    (libc::SYS_faccessat, None),
    (libc::SYS_faccessat2, Some(3)),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_stat, None),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_access, None),
];

/// A call that goes somewhere by a descriptor. Nothing can be denied there, but the observer remembers where callers are.
const MOVING: i64 = libc::SYS_fchdir;

/// Calls that reach others.
const REACHING: &[i64] = &[libc::SYS_connect, libc::SYS_sendmmsg];

/// Whether a call is looked at and then continues.
pub(in crate::linux) fn is_watched(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_open {
        return true;
    }
    matches!(number, libc::SYS_openat | libc::SYS_execve | libc::SYS_execveat | libc::SYS_sendto | MOVING)
        || CHANGING.contains(&number)
        || REMOVING.contains(&number)
        || REACHING.contains(&number)
        || CHANGING_WITH_MODE.iter().chain(CHANGING_OFTEN_WITH_MODE).any(|(changing, _)| *changing == number)
        || FINDING.iter().any(|(finding, _)| *finding == number)
}

/// What a call can change of what the observer remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::linux) enum Disturbs {
    /// Where names lead.
    Names,
    /// Where a caller is.
    Cwd,
}

/// What a call disturbs. Making a file or a directory where nothing was leads nobody elsewhere.
pub(in crate::linux) fn disturbs(number: i64) -> Option<Disturbs> {
    match number {
        libc::SYS_chdir | MOVING => Some(Disturbs::Cwd),
        libc::SYS_mkdirat => None,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir => None,
        number => CHANGING.contains(&number).then_some(Disturbs::Names),
    }
}

/// The error of a call that is refused in the observer's sight: all of them, or those that the filter does not allow.
pub(in crate::linux) fn refused_with(number: i64) -> Option<i32> {
    match number {
        libc::SYS_clone | libc::SYS_unshare => Some(libc::EPERM),
        libc::SYS_socket | libc::SYS_socketpair => Some(libc::EAFNOSUPPORT),
        _ => (REFUSED.contains(&number) || REFUSED_BY_ARCH.contains(&number)).then_some(libc::EPERM),
    }
}

/// The errno of a call that is refused by its number; its arguments say which of several, since programs know what
/// the kernel says.
pub(in crate::linux) fn refusal(number: i64, args: &[u64; 6]) -> Option<i32> {
    match number {
        libc::SYS_socket | libc::SYS_socketpair => Some(refused_socket(number, args[0] as u32, args[1] as u32)),
        other => refused_with(other),
    }
}

/// What the kernel says of a socket that it does not have, and of a raw one to a process without CAP_NET_RAW.
pub(super) fn refused_socket(number: i64, family: u32, kind: u32) -> i32 {
    let is_internet = number == libc::SYS_socket && [libc::AF_INET, libc::AF_INET6].contains(&(family as i32));
    match (kind & SOCKET_KIND) as i32 {
        _ if family == libc::AF_UNIX as u32 => libc::EPROTONOSUPPORT,
        libc::SOCK_STREAM | libc::SOCK_DGRAM if is_internet => libc::EPROTONOSUPPORT,
        libc::SOCK_RAW if is_internet => libc::EPERM,
        _ if is_internet => libc::ESOCKTNOSUPPORT,
        _ => libc::EAFNOSUPPORT,
    }
}

/// The tests of an open that does not create.
pub(super) fn open_without_creating(observe: Observe, flags: u8) -> Vec<Test> {
    let (reads, writes) = match observe {
        Observe::Off => (Verdict::Allow, Verdict::Allow),
        Observe::Cheap => (Verdict::Allow, Verdict::Notify),
        Observe::Exact => (Verdict::Notify, Verdict::Notify),
    };
    if reads == writes {
        return vec![when(flags, Match::NoBit(CREATES), reads)];
    }
    vec![when(flags, Match::NoBit(CREATES | WRITES), reads), when(flags, Match::NoBit(CREATES), writes)]
}

/// Makes rules notify what is watched.
pub(super) fn add(observe: Observe, rules: &mut BTreeMap<u32, Rule>) {
    let mut put = |number: i64, tests: Vec<Test>, otherwise: Verdict| {
        let rule = if tests.is_empty() { Rule::Always(otherwise) } else { Rule::Tests { tests, otherwise } };
        rules.insert(number as u32, rule);
    };
    for number in CHANGING.iter().chain(REACHING) {
        put(*number, Vec::new(), Verdict::Notify);
    }
    let (removing, changing_often) = match observe {
        Observe::Off | Observe::Cheap => (&[][..], &[][..]),
        Observe::Exact => (REMOVING, CHANGING_OFTEN_WITH_MODE),
    };
    for number in removing {
        put(*number, Vec::new(), Verdict::Notify);
    }
    for (number, mode) in CHANGING_WITH_MODE {
        put(*number, vec![when(*mode, Match::AnyBit(SETID_BITS), EPERM)], Verdict::Notify);
    }
    // The listener makes those itself that set the group's bit, and only for directories; see `setgid.rs`.
    for (number, mode) in CHANGING_OFTEN_WITH_MODE.iter().chain(&[(libc::SYS_fchmod, 1)]) {
        let [user, group] = [(libc::S_ISUID, EPERM), (libc::S_ISGID, Verdict::Notify)]
            .map(|(bit, verdict)| when(*mode, Match::AnyBit(bit), verdict));
        let looks = changing_often.iter().any(|(often, _)| often == number);
        put(*number, vec![user, group], if looks { Verdict::Notify } else { Verdict::Allow });
    }
    let mut opening = |number: i64, flags: u8, mode: u8| {
        let mut tests = open_without_creating(observe, flags);
        tests.push(when(mode, Match::AnyBit(SETID_BITS), EPERM));
        let otherwise = if observe == Observe::Cheap {
            // Whoever unpacks, copies or checks out a tree insists on new files, and so does whoever makes a temporary
            // one: a look at each would take nearly as long as the work.
            tests.push(when(flags, Match::AnyBit(libc::O_EXCL as u32), Verdict::Allow));
            // What is locked, appended to or kept open is opened seldom.
            tests.push(when(flags, Match::NoBit(libc::O_TRUNC as u32), Verdict::Notify));
            // A shell's redirection, or C's; those of languages that close on exec write trees of files.
            tests.push(when(flags, Match::NoBit(libc::O_CLOEXEC as u32), Verdict::Notify));
            Verdict::Allow
        } else {
            Verdict::Notify
        };
        put(number, tests, otherwise);
    };
    opening(libc::SYS_openat, 2, 3);
    #[cfg(target_arch = "x86_64")]
    opening(libc::SYS_open, 1, 2);
    put(libc::SYS_execve, vec![when(3, Match::Equals(STARTING), Verdict::Allow)], Verdict::Notify);
    put(libc::SYS_execveat, Vec::new(), Verdict::Notify);
    // Only what names its receiver; on a connected socket the peer is known already.
    put(libc::SYS_sendto, vec![when(5, Match::AnyBit(u32::MAX), Verdict::Notify)], Verdict::Allow);
    if observe == Observe::Exact {
        put(MOVING, Vec::new(), Verdict::Notify);
        let other = (libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) as u32;
        for (number, flags) in FINDING {
            let tests = flags.map(|flags| when(flags, Match::AnyBit(other), Verdict::Allow));
            put(*number, tests.into_iter().collect(), Verdict::Notify);
        }
    }
    // What is refused, is refused by the listener, by the number alone.
    for number in REFUSED.iter().chain(REFUSED_BY_ARCH) {
        put(*number, Vec::new(), Verdict::Notify);
    }
    for (number, rule) in rules.iter_mut() {
        let Rule::Tests { tests, otherwise } = rule else { continue };
        let namespaces =
            |test: &Test| matches!(test.looks[..], [look] if look.matches == Match::AnyBit(NEW_NAMESPACES));
        tests.iter_mut().filter(|test| namespaces(test)).for_each(|test| test.verdict = Verdict::Notify);
        // The listener knows which process is the shim, and lets the command have the limits of all others.
        if i64::from(*number) == libc::SYS_prlimit64 {
            let by_number = |test: &&mut Test| matches!(test.looks[..], [look] if look.argument == 0);
            tests.iter_mut().filter(by_number).for_each(|test| test.verdict = Verdict::Notify);
        }
        if matches!(i64::from(*number), libc::SYS_socket | libc::SYS_socketpair) {
            tests.retain(|test| test.verdict == Verdict::Allow);
            *otherwise = Verdict::Notify;
        }
    }
}

/// What people call the calls that are refused in sight.
const NAMES: &[(i64, &str)] = &[
    (libc::SYS_clone, "clone"),
    (libc::SYS_unshare, "unshare"),
    (libc::SYS_socket, "socket"),
    (libc::SYS_socketpair, "socketpair"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_umount2, "umount2"),
    (libc::SYS_pivot_root, "pivot_root"),
    (libc::SYS_chroot, "chroot"),
    (libc::SYS_open_tree, "open_tree"),
    (libc::SYS_move_mount, "move_mount"),
    (libc::SYS_fsopen, "fsopen"),
    (libc::SYS_fsconfig, "fsconfig"),
    (libc::SYS_fsmount, "fsmount"),
    (libc::SYS_fspick, "fspick"),
    (libc::SYS_mount_setattr, "mount_setattr"),
    (libc::SYS_swapon, "swapon"),
    (libc::SYS_swapoff, "swapoff"),
    (libc::SYS_quotactl, "quotactl"),
    (libc::SYS_setns, "setns"),
    (libc::SYS_open_by_handle_at, "open_by_handle_at"),
    (libc::SYS_name_to_handle_at, "name_to_handle_at"),
    (libc::SYS_bpf, "bpf"),
    (libc::SYS_perf_event_open, "perf_event_open"),
    (libc::SYS_userfaultfd, "userfaultfd"),
    (libc::SYS_keyctl, "keyctl"),
    (libc::SYS_add_key, "add_key"),
    (libc::SYS_request_key, "request_key"),
    (libc::SYS_fanotify_init, "fanotify_init"),
    (libc::SYS_kcmp, "kcmp"),
    (libc::SYS_process_madvise, "process_madvise"),
    (libc::SYS_reboot, "reboot"),
    (libc::SYS_kexec_load, "kexec_load"),
    (libc::SYS_init_module, "init_module"),
    (libc::SYS_finit_module, "finit_module"),
    (libc::SYS_delete_module, "delete_module"),
    (libc::SYS_acct, "acct"),
    (libc::SYS_settimeofday, "settimeofday"),
    (libc::SYS_clock_settime, "clock_settime"),
    (libc::SYS_clock_adjtime, "clock_adjtime"),
    (libc::SYS_adjtimex, "adjtimex"),
    (libc::SYS_sethostname, "sethostname"),
    (libc::SYS_setdomainname, "setdomainname"),
    (libc::SYS_syslog, "syslog"),
    (libc::SYS_vhangup, "vhangup"),
    (libc::SYS_nfsservctl, "nfsservctl"),
    (libc::SYS_lookup_dcookie, "lookup_dcookie"),
    (libc::SYS_move_pages, "move_pages"),
    (libc::SYS_migrate_pages, "migrate_pages"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_iopl, "iopl"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_ioperm, "ioperm"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_modify_ldt, "modify_ldt"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_uselib, "uselib"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_ustat, "ustat"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_kexec_file_load, "kexec_file_load"),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS__sysctl, "_sysctl"),
];

/// The name of a call that is refused in the observer's sight.
pub fn name_of(number: i64) -> Option<&'static str> {
    NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}
