//! Layers of a sandbox that a test build can switch off, to see which test goes red without them.
//!
//! Only with the feature `mutate`, which no shipped program has: `MUTATE_POLDER=name,name` is read once by the caller
//! before the clone, and the child finds the answer in its copy of the caller's memory. Without the feature every
//! question is `false` at compile time. `cargo xtask mutate` goes through the table.

/// Names each layer once: the variant at the step, the name in the table, and what the step does.
macro_rules! layers {
    ($($variant:ident = $name:literal: $what:literal;)*) => {
        /// One layer of a sandbox.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[cfg_attr(not(feature = "mutate"), expect(unreachable_pub, reason = "public in a test build"))]
        pub enum Layer {
            $(#[doc = $what] $variant,)*
        }

        /// Every layer: its name, and what it does.
        #[cfg(feature = "mutate")]
        pub const LAYERS: &[(Layer, &str, &str)] = &[$((Layer::$variant, $name, $what),)*];
    };
}

layers! {
    NsUser = "ns.user": "a user namespace of its own";
    NsMount = "ns.mount": "a mount namespace of its own";
    NsPid = "ns.pid": "a pid namespace of its own";
    NsIpc = "ns.ipc": "an ipc namespace of its own";
    NsUts = "ns.uts": "a uts namespace of its own";
    NsNet = "ns.net": "a network namespace of its own";
    NsCgroup = "ns.cgroup": "a cgroup namespace of its own";
    IdentityRange = "identity.range": "root becomes a range of unprivileged ids";
    IdentityGroups = "identity.groups": "supplementary groups are given up";
    MountPrivate = "mount.private": "mounts of the host do not propagate into the sandbox";
    MountNosuid = "mount.nosuid": "a setuid bit means nothing on any mount";
    MountNodev = "mount.nodev": "a device node means nothing on any mount but those of devices";
    MountNoexec = "mount.noexec": "nothing can be executed on proc, devpts, devices and covers";
    BindReadonly = "bind.readonly": "shown trees without a write grant are mounted read-only";
    ScratchSize = "scratch.size": "the private file systems have a size";
    ScratchInodes = "scratch.inodes": "the private file systems have a number of inodes";
    RootSeal = "root.seal": "the root becomes read-only";
    RootOld = "root.old": "the old root is detached";
    ProcHidepid = "proc.hidepid": "the process table does not list the shim";
    StepProtect = "step.protect": "a protected path is mounted read-only on itself";
    StepPin = "step.pin": "the parent of a mask is a mount point";
    StepHide = "step.hide": "a hidden path is covered";
    StepWithdraw = "step.withdraw": "the layers of a workspace are taken out of view";
    ResolveHost = "resolve.host": "a shown host path is opened without symbolic links";
    ResolveBelow = "resolve.below": "a path below the new root is opened without symbolic links";
    UsernsBound = "userns.bound": "no further user namespace can be made";
    InotifyBound = "inotify.bound": "inotify instances are bounded";
    RlimitCore = "rlimit.core": "no core file";
    RlimitNproc = "rlimit.nproc": "a number of processes";
    RlimitNofile = "rlimit.nofile": "a number of open files";
    RlimitData = "rlimit.data": "an amount of memory where no cgroup can hold it";
    CgroupJoin = "cgroup.join": "the run joins its cgroup";
    CapsBounding = "caps.bounding": "the bounding set is empty";
    CapsSets = "caps.sets": "effective, permitted and inheritable sets are empty";
    Securebits = "securebits": "uid 0 means no capability, and that is locked";
    NoNewPrivs = "no_new_privs": "no program gains anything by being executed";
    ShimDumpable = "shim.dumpable": "the shim is not dumpable";
    ShimSession = "shim.session": "the shim leaves the caller's session";
    ShimSignals = "shim.signals": "the shim blocks all signals";
    ShimPdeathsig = "shim.pdeathsig": "during the set-up the shim ends with the caller's thread";
    ShimLifeline = "shim.lifeline": "the shim ends when the caller is gone";
    ShimKill = "shim.kill": "the shim ends every other process before it tells the end";
    CommandSession = "command.session": "the command leads a session of its own";
    DescriptorsShim = "descriptors.shim": "the shim closes the descriptors of its caller";
    DescriptorsCommand = "descriptors.command": "the command gets three descriptors";
    Landlock = "landlock": "a Landlock domain over the view";
    LandlockExecute = "landlock.execute": "LANDLOCK_ACCESS_FS_EXECUTE";
    LandlockWriteFile = "landlock.write_file": "LANDLOCK_ACCESS_FS_WRITE_FILE";
    LandlockReadFile = "landlock.read_file": "LANDLOCK_ACCESS_FS_READ_FILE";
    LandlockReadDir = "landlock.read_dir": "LANDLOCK_ACCESS_FS_READ_DIR";
    LandlockRemoveDir = "landlock.remove_dir": "LANDLOCK_ACCESS_FS_REMOVE_DIR";
    LandlockRemoveFile = "landlock.remove_file": "LANDLOCK_ACCESS_FS_REMOVE_FILE";
    LandlockMakeChar = "landlock.make_char": "LANDLOCK_ACCESS_FS_MAKE_CHAR";
    LandlockMakeDir = "landlock.make_dir": "LANDLOCK_ACCESS_FS_MAKE_DIR";
    LandlockMakeReg = "landlock.make_reg": "LANDLOCK_ACCESS_FS_MAKE_REG";
    LandlockMakeSock = "landlock.make_sock": "LANDLOCK_ACCESS_FS_MAKE_SOCK";
    LandlockMakeFifo = "landlock.make_fifo": "LANDLOCK_ACCESS_FS_MAKE_FIFO";
    LandlockMakeBlock = "landlock.make_block": "LANDLOCK_ACCESS_FS_MAKE_BLOCK";
    LandlockMakeSym = "landlock.make_sym": "LANDLOCK_ACCESS_FS_MAKE_SYM";
    LandlockTruncate = "landlock.truncate": "LANDLOCK_ACCESS_FS_TRUNCATE";
    LandlockIoctlDev = "landlock.ioctl_dev": "LANDLOCK_ACCESS_FS_IOCTL_DEV";
    LandlockAbstract = "landlock.abstract": "LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET";
    LandlockSignal = "landlock.signal": "LANDLOCK_SCOPE_SIGNAL";
    Filter = "filter": "the filter of system calls";
    FilterArch = "filter.arch": "the filter ends a process of another architecture";
    FilterDefault = "filter.default": "a system call without a rule does not exist";
    WatchNames = "watch.names": "the caller is told of names that come into being";
    WatchCaller = "watch.caller": "the caller sets aside during the run what must not stay";
    SweepCaller = "sweep.caller": "the caller sets aside what must not stay";
    SweepShim = "sweep.shim": "the shim does so where the caller is gone";
}

/// The layer of each resource limit, by its number; see `asm-generic/resource.h`.
pub(crate) const fn rlimit(resource: u32) -> Option<Layer> {
    match resource {
        2 => Some(Layer::RlimitData),
        4 => Some(Layer::RlimitCore),
        6 => Some(Layer::RlimitNproc),
        7 => Some(Layer::RlimitNofile),
        _ => None,
    }
}

/// These bits without those whose layer is off.
#[inline]
pub(crate) fn bits(bits: u64, layers: &[(u64, Layer)]) -> u64 {
    layers.iter().filter(|(_, layer)| off(*layer)).fold(bits, |left, (bit, _)| left & !bit)
}

#[cfg(not(feature = "mutate"))]
mod switches {
    use super::super::filter::Rule;
    use std::collections::BTreeMap;

    /// Whether a layer is switched off: never in this build.
    pub(crate) const fn off(_: super::Layer) -> bool {
        false
    }

    /// Reads the switches: there are none in this build.
    pub(crate) const fn load() {}

    /// Takes rules of the filter away: none in this build.
    pub(crate) const fn weaken(_: &mut BTreeMap<u32, Rule>) {}
}

#[cfg(feature = "mutate")]
mod switches {
    use super::super::filter::{Instruction, Rule, Verdict};
    use super::super::syscalls::{Observe, compile_rules};
    use super::{LAYERS, Layer};
    use std::collections::BTreeMap;
    use std::sync::{LazyLock, OnceLock};

    /// The variable that names what is off.
    pub const VARIABLE: &str = "MUTATE_POLDER";
    /// What stands before the number of a system call whose rule is off.
    const CALL: &str = "filter.";

    struct Switches {
        off: Vec<bool>,
        calls: Vec<u32>,
    }

    static SWITCHES: LazyLock<Switches> = LazyLock::new(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        let mut switches = Switches { off: vec![false; LAYERS.len()], calls: Vec::new() };
        for name in text.split(',').filter(|name| !name.is_empty()) {
            let call = name.strip_prefix(CALL).and_then(|number| number.parse().ok());
            match (call, LAYERS.iter().position(|(_, layer, _)| *layer == name)) {
                (Some(number), _) => switches.calls.push(number),
                (None, Some(index)) => switches.off[index] = true,
                // A typing error must not look like a layer that no test misses.
                (None, None) => panic!("{VARIABLE}: no layer `{name}`"),
            }
        }
        switches
    });

    type Programs = [Vec<Instruction>; 3];
    static PROGRAMS: OnceLock<Programs> = OnceLock::new();

    const KINDS: [Observe; 3] = [Observe::Off, Observe::Cheap, Observe::Exact];

    /// Whether a layer is switched off. After [`load`] this neither allocates nor locks.
    pub(crate) fn off(layer: Layer) -> bool {
        SWITCHES.off[layer as usize]
    }

    /// Reads the switches and compiles the filters, because the child may not allocate.
    pub(crate) fn load() {
        PROGRAMS.get_or_init(|| KINDS.map(compile_rules));
    }

    /// Lets every call through whose rule is off.
    pub(crate) fn weaken(rules: &mut BTreeMap<u32, Rule>) {
        rules.extend(SWITCHES.calls.iter().map(|number| (*number, Rule::Always(Verdict::Allow))));
    }

    /// The filter without the rules that are off.
    pub(crate) fn program(observe: Observe) -> Option<&'static [Instruction]> {
        let index = KINDS.iter().position(|kind| *kind == observe)?;
        PROGRAMS.get().map(|programs| programs[index].as_slice())
    }
}

#[cfg(feature = "mutate")]
pub use switches::VARIABLE;
#[cfg(feature = "mutate")]
pub(crate) use switches::program;
pub(crate) use switches::{load, off, weaken};
