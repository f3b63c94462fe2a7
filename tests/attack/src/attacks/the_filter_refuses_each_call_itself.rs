//! Most of these calls fail without a capability, too: so a filter of the attempt's own hands each one to a tracer that is
//! not there. The call then never happens, and the answer tells whether a filter before it refused (see seccomp(2)).

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use polder_sys::attempt::answer_before_tracer;

pub(crate) const ATTACK: Attack = Attack {
    id: "T201a",
    name: "the_filter_refuses_each_call_itself",
    holds: "every call of the list is refused by the filter, not only for want of a capability",
    attempt,
    ..Attack::PLAIN
};

/// One call that has to be refused: its name, its number and the arguments that decide.
pub(crate) struct RefusedCall {
    /// As in the manual.
    pub(crate) name: &'static str,
    /// As in the filter.
    pub(crate) number: i64,
    arguments: [u64; 4],
}

const fn call(name: &'static str, number: i64, arguments: [u64; 4]) -> RefusedCall {
    RefusedCall { name, number, arguments }
}

const fn plain(name: &'static str, number: i64) -> RefusedCall {
    call(name, number, [0; 4])
}

const CREAT: u64 = libc::O_CREAT as u64;

/// Every call that the filter refuses with an error, each with every kind of argument that it refuses.
#[rustfmt::skip]
/// Numbers of getrlimit(2) and tcp(7); the C libraries disagree on the type of their names, or have none.
const RLIMIT_CORE: u64 = 4;
const TCP_ULP: u64 = 31;

pub(crate) const REFUSED_CALLS: &[RefusedCall] = &[
    plain("mount", libc::SYS_mount),
    plain("umount2", libc::SYS_umount2),
    plain("pivot_root", libc::SYS_pivot_root),
    plain("chroot", libc::SYS_chroot),
    plain("open_tree", libc::SYS_open_tree),
    plain("move_mount", libc::SYS_move_mount),
    plain("fsopen", libc::SYS_fsopen),
    plain("fsconfig", libc::SYS_fsconfig),
    plain("fsmount", libc::SYS_fsmount),
    plain("fspick", libc::SYS_fspick),
    plain("mount_setattr", libc::SYS_mount_setattr),
    plain("swapon", libc::SYS_swapon),
    plain("swapoff", libc::SYS_swapoff),
    plain("quotactl", libc::SYS_quotactl),
    plain("setns", libc::SYS_setns),
    plain("open_by_handle_at", libc::SYS_open_by_handle_at),
    plain("name_to_handle_at", libc::SYS_name_to_handle_at),
    plain("bpf", libc::SYS_bpf),
    plain("perf_event_open", libc::SYS_perf_event_open),
    plain("userfaultfd", libc::SYS_userfaultfd),
    plain("keyctl", libc::SYS_keyctl),
    plain("add_key", libc::SYS_add_key),
    plain("request_key", libc::SYS_request_key),
    plain("fanotify_init", libc::SYS_fanotify_init),
    plain("kcmp", libc::SYS_kcmp),
    plain("process_madvise", libc::SYS_process_madvise),
    plain("reboot", libc::SYS_reboot),
    plain("kexec_load", libc::SYS_kexec_load),
    plain("init_module", libc::SYS_init_module),
    plain("finit_module", libc::SYS_finit_module),
    plain("delete_module", libc::SYS_delete_module),
    plain("acct", libc::SYS_acct),
    plain("settimeofday", libc::SYS_settimeofday),
    plain("clock_settime", libc::SYS_clock_settime),
    plain("clock_adjtime", libc::SYS_clock_adjtime),
    plain("adjtimex", libc::SYS_adjtimex),
    plain("sethostname", libc::SYS_sethostname),
    plain("setdomainname", libc::SYS_setdomainname),
    plain("syslog", libc::SYS_syslog),
    plain("vhangup", libc::SYS_vhangup),
    plain("nfsservctl", libc::SYS_nfsservctl),
    plain("lookup_dcookie", libc::SYS_lookup_dcookie),
    plain("move_pages", libc::SYS_move_pages),
    plain("migrate_pages", libc::SYS_migrate_pages),
    call("clone", libc::SYS_clone, [libc::CLONE_NEWUSER as u64, 0, 0, 0]),
    call("clone", libc::SYS_clone, [libc::CLONE_NEWNS as u64, 0, 0, 0]),
    call("clone", libc::SYS_clone, [libc::CLONE_NEWPID as u64, 0, 0, 0]),
    call("clone", libc::SYS_clone, [libc::CLONE_NEWNET as u64, 0, 0, 0]),
    call("clone", libc::SYS_clone, [libc::CLONE_NEWIPC as u64, 0, 0, 0]),
    call("clone", libc::SYS_clone, [libc::CLONE_NEWUTS as u64, 0, 0, 0]),
    call("clone", libc::SYS_clone, [libc::CLONE_NEWCGROUP as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [libc::CLONE_NEWUSER as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [libc::CLONE_NEWNS as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [libc::CLONE_NEWPID as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [libc::CLONE_NEWNET as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [libc::CLONE_NEWIPC as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [libc::CLONE_NEWUTS as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [libc::CLONE_NEWCGROUP as u64, 0, 0, 0]),
    call("unshare", libc::SYS_unshare, [0x80, 0, 0, 0]),
    call("ioctl", libc::SYS_ioctl, [0, 0x5412, 0, 0]),
    call("ioctl", libc::SYS_ioctl, [0, 0x541c, 0, 0]),
    call("socket", libc::SYS_socket, [libc::AF_PACKET as u64, libc::SOCK_RAW as u64, 0, 0]),
    call("socket", libc::SYS_socket, [libc::AF_VSOCK as u64, libc::SOCK_STREAM as u64, 0, 0]),
    call("socket", libc::SYS_socket, [libc::AF_ALG as u64, libc::SOCK_SEQPACKET as u64, 0, 0]),
    call("socket", libc::SYS_socket, [libc::AF_NETLINK as u64, libc::SOCK_RAW as u64, 9, 0]),
    call("socketpair", libc::SYS_socketpair, [libc::AF_TIPC as u64, libc::SOCK_STREAM as u64, 0, 0]),
    call("seccomp", libc::SYS_seccomp, [1, 1 << 3, 0, 0]),
    call("prlimit64", libc::SYS_prlimit64, [1, 0, 0, 0]),
    call("setrlimit", libc::SYS_setrlimit, [RLIMIT_CORE, 0, 0, 0]),
    call("fcntl", libc::SYS_fcntl, [0, libc::F_SETLEASE as u64, 0, 0]),
    call("setsockopt", libc::SYS_setsockopt, [0, libc::IPPROTO_TCP as u64, TCP_ULP, 0]),
    call("sched_setaffinity", libc::SYS_sched_setaffinity, [1, 0, 0, 0]),
    call("sched_setscheduler", libc::SYS_sched_setscheduler, [1, 0, 0, 0]),
    call("sched_setparam", libc::SYS_sched_setparam, [1, 0, 0, 0]),
    call("sched_setattr", libc::SYS_sched_setattr, [1, 0, 0, 0]),
    call("setpriority", libc::SYS_setpriority, [0, 1, 0, 0]),
    call("ioprio_set", libc::SYS_ioprio_set, [1, 1, 0, 0]),
    call("personality", libc::SYS_personality, [0x0004_0000, 0, 0, 0]),
    call("personality", libc::SYS_personality, [0x0040_0000, 0, 0, 0]),
    call("fchmod", libc::SYS_fchmod, [0, 0o4755, 0, 0]),
    call("fchmod", libc::SYS_fchmod, [0, 0o2755, 0, 0]),
    call("fchmodat", libc::SYS_fchmodat, [0, 0, 0o4755, 0]),
    call("fchmodat", libc::SYS_fchmodat, [0, 0, 0o2755, 0]),
    call("fchmodat2", 452, [0, 0, 0o4755, 0]),
    call("fchmodat2", 452, [0, 0, 0o2755, 0]),
    call("mknodat", libc::SYS_mknodat, [0, 0, 0o4755, 0]),
    call("openat", libc::SYS_openat, [0, 0, CREAT, 0o4755]),
    call("openat", libc::SYS_openat, [0, 0, libc::O_TMPFILE as u64, 0o4755]),
    #[cfg(target_arch = "x86_64")]
    call("chmod", libc::SYS_chmod, [0, 0o4755, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    call("chmod", libc::SYS_chmod, [0, 0o2755, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    call("mknod", libc::SYS_mknod, [0, 0o4755, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    call("creat", libc::SYS_creat, [0, 0o4755, 0, 0]),
    #[cfg(target_arch = "x86_64")]
    call("open", libc::SYS_open, [0, CREAT, 0o4755, 0]),
    #[cfg(target_arch = "x86_64")]
    plain("iopl", libc::SYS_iopl),
    #[cfg(target_arch = "x86_64")]
    plain("ioperm", libc::SYS_ioperm),
    #[cfg(target_arch = "x86_64")]
    plain("modify_ldt", libc::SYS_modify_ldt),
    #[cfg(target_arch = "x86_64")]
    plain("uselib", libc::SYS_uselib),
    #[cfg(target_arch = "x86_64")]
    plain("ustat", libc::SYS_ustat),
    #[cfg(target_arch = "x86_64")]
    plain("kexec_file_load", libc::SYS_kexec_file_load),
    #[cfg(target_arch = "x86_64")]
    plain("_sysctl", libc::SYS__sysctl),
];

pub(super) fn attempt(field: &Field) -> Answer {
    Answer::all(
        field,
        REFUSED_CALLS.iter().map(|RefusedCall { name, number, arguments }| {
            let what = format!("{name} {arguments:x?}");
            match answer_before_tracer(*number, *arguments) {
                Ok(libc::ENOSYS) => Answer::Reached(what),
                // The core limit is said to be set, and is not. A listener that makes a call itself, for directories
                // alone, finds no path at address 0.
                Ok(libc::EPERM | libc::EAFNOSUPPORT | libc::EINVAL | libc::ENOENT | libc::EFAULT | 0) => {
                    Answer::Blocked(what)
                }
                Ok(errno) => Answer::Broken(format!("{what}: errno {errno}")),
                Err(error) => Answer::Broken(format!("{what}: {error}")),
            }
        }),
    )
}
