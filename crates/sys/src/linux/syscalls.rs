//! The system calls that a sandboxed command may make, and why the others are missing. Pure.
//!
//! An allow-list: what is not named here does not exist (`ENOSYS`), so that a new call of a new kernel is closed until
//! somebody has read about it. What is named under "refused" is known to programs, which take `EPERM` for an answer.

#[cfg(target_arch = "x86_64")]
#[path = "syscalls/compiled_x86_64.rs"]
mod compiled;

/// Other architectures compile at the first use; nobody has measured them yet.
#[cfg(not(target_arch = "x86_64"))]
mod compiled {
    use super::{Instruction, Observe, compile_rules};
    use std::sync::LazyLock;

    macro_rules! compiled {
        ($($name:ident, $observe:ident;)*) => {$(
            pub(super) fn $name() -> &'static [Instruction] {
                static PROGRAM: LazyLock<Vec<Instruction>> =
                    LazyLock::new(|| compile_rules(Observe::$observe));
                &PROGRAM
            }
        )*};
    }
    compiled! {
        plain, Off;
        cheap, Cheap;
        exact, Exact;
    }
}

mod watched;

use super::filter::{Instruction, Look, Match, Rule, Test, Verdict, compile};
use super::mutate::{self, Layer, off};
use std::collections::BTreeMap;
pub use watched::name_of;
pub(super) use watched::{Disturbs, STARTING, disturbs, is_watched, refusal, refused_with};

/// Which calls are looked at on their way, so that what was denied can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observe {
    /// None.
    Off,
    /// Those that are rare: writing, new names, execution, peers, and what the filter refuses.
    Cheap,
    /// Those that open, find and remove files as well.
    Exact,
}

#[cfg(target_arch = "x86_64")]
pub(crate) const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(crate) const ARCH: u32 = 0xc000_00b7;

const ENOSYS: Verdict = Verdict::Errno(libc::ENOSYS as u16);
const EPERM: Verdict = Verdict::Errno(libc::EPERM as u16);
const EAFNOSUPPORT: Verdict = Verdict::Errno(libc::EAFNOSUPPORT as u16);
const ENOPKG: Verdict = Verdict::Errno(libc::ENOPKG as u16);
const EINVAL: Verdict = Verdict::Errno(libc::EINVAL as u16);
/// The call returns 0 and does nothing.
const NOTHING: Verdict = Verdict::Errno(0);

/// The type of a socket beside the flags that `socket` takes in the same argument; see socket(2).
const SOCKET_KIND: u32 = 0xf;
const MPTCP: i32 = 262;

/// Requests on any internet socket for which the kernel loads the modules `bridge` and `8021q` before it asks for a
/// right (net/socket.c, Linux 6.18): SIOCGIFBR, SIOCSIFBR, SIOCGIFVLAN, SIOCSIFVLAN, SIOCBRADDBR, SIOCBRDELBR.
const LOADING_REQUESTS: [u32; 6] = [0x8940, 0x8941, 0x8982, 0x8983, 0x89a0, 0x89a1];

/// Commands of fcntl by which the kernel holds up or tells of what other processes do with a file: F_SETLEASE,
/// F_NOTIFY, F_SETDELEG.
const HOLDING_COMMANDS: [u32; 3] = [1024, 1026, 1040];

/// Every flag of clone and unshare that makes a namespace.
const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32
    | 0x80;

/// The bits that make a file run as its owner or group. mkdir(2) takes neither, whatever it is asked for
/// (fs/namei.c, `vfs_mkdir`), so it needs no test.
const SETID_BITS: u32 = 0o6000;

/// The program for the filter, compiled ahead of time: doing it anew costs every run a tenth of a millisecond.
pub fn program(observe: Observe) -> &'static [Instruction] {
    #[cfg(feature = "mutate")]
    if let Some(program) = mutate::program(observe) {
        return program;
    }
    match observe {
        Observe::Off => compiled::plain(),
        Observe::Cheap => compiled::cheap(),
        Observe::Exact => compiled::exact(),
    }
}

/// Compiles the rules; what `compiled` holds must be the same.
pub fn compile_rules(observe: Observe) -> Vec<Instruction> {
    let unknown = if off(Layer::FilterDefault) { Verdict::Allow } else { ENOSYS };
    compile(ARCH, &rules(observe), unknown)
}

/// The rules by number.
pub fn rules(observe: Observe) -> BTreeMap<u32, Rule> {
    let mut rules = BTreeMap::new();
    for number in ALLOWED.iter().chain(ALLOWED_BY_ARCH) {
        rules.insert(*number as u32, Rule::Always(Verdict::Allow));
    }
    for number in REFUSED.iter().chain(REFUSED_BY_ARCH) {
        rules.insert(*number as u32, Rule::Always(EPERM));
    }
    for (number, tests, otherwise) in tested() {
        rules.insert(number as u32, Rule::Tests { tests, otherwise });
    }
    if observe != Observe::Off {
        watched::add(observe, &mut rules);
        // The kernel takes one action of all filters, and a notification comes before a tracer (seccomp(2)): a tracer
        // that a command sets up as its own sandbox would not be asked about notified calls, so it cannot be set up.
        rules.insert(libc::SYS_ptrace as u32, Rule::Tests { tests: tracing_filters(), otherwise: Verdict::Allow });
    }
    mutate::weaken(&mut rules);
    rules
}

fn when(argument: u8, matches: Match, verdict: Verdict) -> Test {
    Test { looks: vec![Look { argument, matches }], verdict }
}

fn when_all<const N: usize>(looks: [(u8, Match); N], verdict: Verdict) -> Test {
    let looks = looks.into_iter().map(|(argument, matches)| Look { argument, matches }).collect();
    Test { looks, verdict }
}

/// Numbers of getrlimit(2) and getpriority(2); the two C libraries disagree on the type of their names.
const RLIMIT_CORE: u32 = 4;
const PRIO_USER: u32 = 2;

/// Asking to be told of calls that a filter hands to a tracer; the errno is that of an unknown option.
fn tracing_filters() -> Vec<Test> {
    // Numbers of ptrace(2); the two C libraries disagree on the type of their names.
    const PTRACE_SETOPTIONS: u32 = 0x4200;
    const PTRACE_SEIZE: u32 = 0x4206;
    let option = (3, Match::AnyBit(libc::PTRACE_O_TRACESECCOMP as u32));
    [PTRACE_SETOPTIONS, PTRACE_SEIZE].map(|request| when_all([(0, Match::Equals(request)), option], EINVAL)).to_vec()
}

/// Sockets by list, in families, types and protocols: the kernel loads a module for what it does not have yet. Local
/// ones, TCP, UDP, the echo requests that a user may send, and the routing socket that getaddrinfo asks.
fn sockets() -> Vec<Test> {
    let socket = |family: i32, kind: i32, protocol: i32| {
        let kind = Match::Masked(SOCKET_KIND, kind as u32);
        let (family, protocol) = (Match::Equals(family as u32), Match::Equals(protocol as u32));
        when_all([(0, family), (1, kind), (2, protocol)], Verdict::Allow)
    };
    let mut tests = local_sockets();
    let internet = [(libc::AF_INET, libc::IPPROTO_ICMP), (libc::AF_INET6, libc::IPPROTO_ICMPV6)];
    for (family, echo) in internet {
        tests.extend([0, libc::IPPROTO_TCP, MPTCP].map(|number| socket(family, libc::SOCK_STREAM, number)));
        tests.extend([0, libc::IPPROTO_UDP, echo].map(|number| socket(family, libc::SOCK_DGRAM, number)));
    }
    // Netlink is more than routing, which is its protocol 0.
    tests.extend([libc::SOCK_RAW, libc::SOCK_DGRAM].map(|kind| socket(libc::AF_NETLINK, kind, 0)));
    for (family, _) in internet.map(|(family, echo)| (family as u32, echo)) {
        let errno = |kind| Verdict::Errno(watched::refused_socket(libc::SYS_socket, family, kind) as u16);
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| kind as u32) {
            let looks = [(0, Match::Equals(family)), (1, Match::Masked(SOCKET_KIND, kind))];
            tests.push(when_all(looks, errno(kind)));
        }
        tests.push(when(0, Match::Equals(family), errno(0)));
    }
    tests.push(no_local_socket());
    tests
}

/// Local sockets; the kernel takes their own family's number for protocol 0 (net/unix/af_unix.c).
fn local_sockets() -> Vec<Test> {
    let family = Match::Equals(libc::AF_UNIX as u32);
    [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET]
        .map(|kind| Match::Masked(SOCKET_KIND, kind as u32))
        .map(|kind| when_all([(0, family), (1, kind), (2, Match::NoBit(!1))], Verdict::Allow))
        .to_vec()
}

fn no_local_socket() -> Test {
    let family = libc::AF_UNIX as u32;
    let errno = watched::refused_socket(libc::SYS_socket, family, 0);
    when(0, Match::Equals(family), Verdict::Errno(errno as u16))
}

fn tested() -> Vec<(i64, Vec<Test>, Verdict)> {
    let setid = |argument| vec![when(argument, Match::AnyBit(SETID_BITS), EPERM)];
    let created = |flags, mode| {
        vec![
            // Without O_CREAT and O_TMPFILE the mode is whatever the register held.
            when(flags, Match::NoBit((libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32), Verdict::Allow),
            when(mode, Match::AnyBit(SETID_BITS), EPERM),
        ]
    };
    /// ioprio_set(2); the C library has no name for it.
    const IOPRIO_WHO_USER: u32 = 3;
    let reaching_the_shim = |user| vec![when(1, Match::Equals(1), EPERM), when(0, Match::Equals(user), EPERM)];
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "only x86-64 has the older calls"))]
    let mut tested = vec![
        // No way into a namespace where the command would hold capabilities.
        (libc::SYS_clone, vec![when(0, Match::AnyBit(NEW_NAMESPACES), EPERM)], Verdict::Allow),
        (libc::SYS_unshare, vec![when(0, Match::AnyBit(NEW_NAMESPACES), EPERM)], Verdict::Allow),
        // Typing into the terminal of the caller: TIOCSTI, and TIOCLINUX which pastes on a console.
        (
            libc::SYS_ioctl,
            [0x5412, 0x541c]
                .map(|request| when(1, Match::Equals(request), EPERM))
                .into_iter()
                .chain(LOADING_REQUESTS.map(|request| when(1, Match::Equals(request), ENOPKG)))
                .collect(),
            Verdict::Allow,
        ),
        (libc::SYS_socket, sockets(), EAFNOSUPPORT),
        (libc::SYS_socketpair, local_sockets().into_iter().chain([no_local_socket()]).collect(), EAFNOSUPPORT),
        // What TCP is laid under (TLS, SMC, ESP) is a large part of the kernel that libraries do without. The errno
        // is that of a kernel which has none (net/ipv4/tcp_ulp.c).
        (
            libc::SYS_setsockopt,
            vec![when_all(
                [(1, Match::Equals(libc::SOL_TCP as u32)), (2, Match::Equals(libc::TCP_ULP as u32))],
                Verdict::Errno(libc::ENOENT as u16),
            )],
            Verdict::Allow,
        ),
        // A process that opens a leased file waits, also on the host. The errno is that of a kernel without leases.
        (
            libc::SYS_fcntl,
            HOLDING_COMMANDS.map(|command| when(1, Match::Equals(command), EINVAL)).to_vec(),
            Verdict::Allow,
        ),
        // A listener of the command's own would sit in front of ours and could let calls continue.
        (libc::SYS_seccomp, vec![when(1, Match::AnyBit(1 << 3), EPERM)], Verdict::Allow),
        // The limits and the scheduling of the shim, which has the same uid, are not the command's to change.
        // The limit of core files stays at 1, which alone keeps the kernel from starting a handler that is a pipe; 0
        // does not (core(5)). Programs that forbid themselves core files end when that fails, so it does not.
        (
            libc::SYS_prlimit64,
            vec![
                when_all([(1, Match::Equals(RLIMIT_CORE)), (2, Match::AnyBit(u32::MAX))], NOTHING),
                when_all([(1, Match::Equals(RLIMIT_CORE)), (2, Match::HighBits)], NOTHING),
                when(0, Match::AnyBit(u32::MAX), EPERM),
            ],
            Verdict::Allow,
        ),
        (libc::SYS_setrlimit, vec![when(0, Match::Equals(RLIMIT_CORE), NOTHING)], Verdict::Allow),
        (libc::SYS_sched_setaffinity, vec![when(0, Match::Equals(1), EPERM)], Verdict::Allow),
        (libc::SYS_sched_setscheduler, vec![when(0, Match::Equals(1), EPERM)], Verdict::Allow),
        (libc::SYS_sched_setparam, vec![when(0, Match::Equals(1), EPERM)], Verdict::Allow),
        (libc::SYS_sched_setattr, vec![when(0, Match::Equals(1), EPERM)], Verdict::Allow),
        // By user the shim is meant, too.
        (libc::SYS_setpriority, reaching_the_shim(PRIO_USER), Verdict::Allow),
        (libc::SYS_ioprio_set, reaching_the_shim(IOPRIO_WHO_USER), Verdict::Allow),
        // The execution domains that do not switch off address randomisation or write protection.
        (
            libc::SYS_personality,
            [0, 0x0002_0000, 0xffff_ffff].map(|n| when(0, Match::Equals(n), Verdict::Allow)).to_vec(),
            EPERM,
        ),
        // A file that runs as its owner on the host must not come out of a sandbox.
        (libc::SYS_fchmod, setid(1), Verdict::Allow),
        (libc::SYS_fchmodat, setid(2), Verdict::Allow),
        (SYS_FCHMODAT2, setid(2), Verdict::Allow),
        (libc::SYS_mknodat, setid(2), Verdict::Allow),
        (libc::SYS_openat, created(2, 3), Verdict::Allow),
    ];
    #[cfg(target_arch = "x86_64")]
    tested.extend([
        (libc::SYS_chmod, setid(1), Verdict::Allow),
        (libc::SYS_mknod, setid(1), Verdict::Allow),
        (libc::SYS_creat, setid(1), Verdict::Allow),
        (libc::SYS_open, created(1, 2), Verdict::Allow),
    ]);
    tested
}

pub(super) const SYS_FCHMODAT2: i64 = 452;

/// Refused with `EPERM`: programs know these, ask for them and go on without.
const REFUSED: &[i64] = &[
    // Changing what is mounted.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    // Entering what others made.
    libc::SYS_setns,
    // Opening files by number instead of by name, past every view.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Large interfaces into the kernel that have been the way out of many sandboxes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Everybody's files and identities at once.
    libc::SYS_fanotify_init,
    libc::SYS_kcmp,
    libc::SYS_process_madvise,
    // The machine itself.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_BY_ARCH: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_kexec_file_load,
    libc::SYS__sysctl,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_BY_ARCH: &[i64] = &[];

/// Allowed without a look. Missing on purpose, so `ENOSYS`: `clone3` (its flags are behind a pointer; libraries then
/// use `clone`), `openat2` (its mode is), `io_uring_*` (it makes calls that no filter sees).
const ALLOWED: &[i64] = &[
    // Files.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_copy_file_range,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_unlinkat,
    libc::SYS_readlinkat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_umask,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_close_range,
    libc::SYS_memfd_create,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch,
    451, // cachestat
    // Waiting for files.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    441, // epoll_pwait2
    libc::SYS_eventfd2,
    libc::SYS_signalfd4,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    // The old asynchronous interface, which databases use; it opens nothing.
    libc::SYS_io_setup,
    libc::SYS_io_destroy,
    libc::SYS_io_getevents,
    libc::SYS_io_submit,
    libc::SYS_io_cancel,
    // Memory.
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_munlock,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_brk,
    libc::SYS_remap_file_pages,
    libc::SYS_membarrier,
    libc::SYS_rseq,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_mbind,
    libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy,
    447, // memfd_secret
    450, // set_mempolicy_home_node
    453, // map_shadow_stack
    462, // mseal
    // Processes, seen from inside their own namespace.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_mrelease,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_setpgid,
    libc::SYS_getsid,
    libc::SYS_setsid,
    libc::SYS_set_tid_address,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_futex,
    449, // futex_waitv
    454, // futex_wake
    455, // futex_wait
    456, // futex_requeue
    libc::SYS_prctl,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_getpriority,
    libc::SYS_ioprio_get,
    libc::SYS_sched_yield,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getattr,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_getcpu,
    // Restricting further is welcome.
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    // Signals.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    // Identities; without capabilities they change nothing.
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capget,
    libc::SYS_capset,
    // Time.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    // The machine, read only.
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrandom,
    // Sockets, once made.
    libc::SYS_connect,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    // System V and POSIX queues, in a namespace of their own.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_mq_timedsend,
    libc::SYS_mq_timedreceive,
    libc::SYS_mq_notify,
    libc::SYS_mq_getsetattr,
];

/// The older spellings that only this architecture has.
#[cfg(target_arch = "x86_64")]
const ALLOWED_BY_ARCH: &[i64] = &[
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_access,
    libc::SYS_pipe,
    libc::SYS_dup2,
    libc::SYS_alarm,
    libc::SYS_pause,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_getdents,
    libc::SYS_rename,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_link,
    libc::SYS_unlink,
    libc::SYS_symlink,
    libc::SYS_readlink,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_getpgrp,
    libc::SYS_arch_prctl,
    libc::SYS_time,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_inotify_init,
    libc::SYS_signalfd,
    libc::SYS_eventfd,
    334, // rseq
];
#[cfg(target_arch = "aarch64")]
const ALLOWED_BY_ARCH: &[i64] = &[];

#[cfg(test)]
mod tests;
