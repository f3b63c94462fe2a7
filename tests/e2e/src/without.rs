//! The binary on a machine from which something was taken away.
//!
//! What polder found out is kept for a few seconds, for root in `/run/polder`: these calls get a `/run` of their own, so
//! that neither an old answer hides what is missing nor a new one misleads the other tests.

use crate::place::{Place, Said, binary, is_root};

/// What is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Nothing: the control.
    Nothing,
    /// Landlock, as on a kernel without it.
    Landlock,
    /// System call filters, as in a container that forbids them.
    Seccomp,
    /// User namespaces, by the limit on their number.
    UserNamespaces,
    /// Every cgroup.
    Cgroups,
    /// The whole of `/proc`: a container covers parts of it.
    Proc,
}

/// Installs a filter that answers one system call with an error, then becomes its arguments.
const FILTER: &str = "\
import ctypes, os, struct, sys\n\
number, errno = int(sys.argv[1]), int(sys.argv[2])\n\
code = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | errno), (0x06, 0, 0, 0x7fff0000)]\n\
text = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *c) for c in code))\n\
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(code), ctypes.addressof(text)))\n\
libc = ctypes.CDLL(None, use_errno=True)\n\
assert libc.prctl(38, 1, 0, 0, 0) == 0\n\
assert libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())\n\
os.execv(sys.argv[3], sys.argv[3:])\n";

/// Runs the binary where something is missing.
pub fn without(place: &Place, lack: Lack, arguments: &[&str]) -> Said {
    let filter = |number: &str, errno: &str| {
        vec!["/usr/bin/python3".to_owned(), "-c".to_owned(), FILTER.to_owned(), number.to_owned(), errno.to_owned()]
    };
    const ENOSYS: &str = "38";
    const EINVAL: &str = "22";
    let (setup, through) = match lack {
        Lack::Nothing => ("", vec![]),
        Lack::Landlock => ("", filter("444", ENOSYS)),
        Lack::Seccomp => ("", filter("317", EINVAL)),
        Lack::UserNamespaces => ("echo 0 >/proc/sys/user/max_user_namespaces;", vec![]),
        Lack::Cgroups => ("mount -t tmpfs none /sys/fs/cgroup;", vec![]),
        Lack::Proc => ("mount -t tmpfs none /proc/sys;", vec![]),
    };
    let private = if is_root() || matches!(lack, Lack::UserNamespaces | Lack::Cgroups | Lack::Proc) {
        // An ordinary user keeps its number, and the capabilities that it has in its own namespace for the setup.
        let own: &[&str] = match (is_root(), lack) {
            (true, Lack::UserNamespaces) => &["--user", "--map-root-user"],
            (true, _) => &[],
            (false, _) => &["--user", "--map-current-user", "--keep-caps"],
        };
        let mut words = vec!["unshare", "--mount"];
        words.extend(own);
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let script = format!(
            "set -e; mount -t tmpfs none /run; {setup} exec setpriv --ambient-caps -all --inh-caps -all \"$@\""
        );
        // Root without capabilities could not run anything; it keeps them.
        let script =
            if is_root() { script.replace("setpriv --ambient-caps -all --inh-caps -all ", "") } else { script };
        words.extend(["sh".to_owned(), "-c".to_owned(), script, "sh".to_owned()]);
        words
    } else {
        vec![]
    };
    let mut words: Vec<String> = private.into_iter().chain(through).collect();
    words.push(binary().display().to_string());
    words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    place.command(&words[0]).args(&words[1..]).output().expect("the wrapped call").into()
}
