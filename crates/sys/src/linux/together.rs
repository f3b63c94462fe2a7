//! Two processes on one CPU while they hand something to each other.
//!
//! The kernel wakes a caller where a CPU is idle, which is never the one that we are running on, and handing a descriptor over
//! wakes each of us once. On a virtual machine an idle CPU takes longer to wake than the whole call takes otherwise. Only
//! speed depends on this: where it fails, both go on wherever they are.
//!
//! Runs in a cloned process: no allocation, no locks, no formatting.

use super::call::{Errno, check};

/// As many CPUs as the kernel can be built for.
const CPUS_MAX: usize = 8192;
const WORD_BITS: usize = u64::BITS as usize;

/// Which CPUs a process may run on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Cpus([u64; CPUS_MAX / WORD_BITS]);

impl Cpus {
    /// Those of a process; 0 is this one.
    pub(super) fn of(pid: u32) -> Result<Self, Errno> {
        let mut cpus = Self([0; CPUS_MAX / WORD_BITS]);
        let (words, bytes) = (cpus.0.as_mut_ptr(), size_of::<Self>());
        // SAFETY: the kernel fills at most that many bytes.
        check(unsafe { libc::syscall(libc::SYS_sched_getaffinity, pid, bytes, words) }).map(|_| cpus)
    }

    fn only(cpu: usize) -> Self {
        let mut cpus = Self([0; CPUS_MAX / WORD_BITS]);
        cpus.0[cpu / WORD_BITS] = 1 << (cpu % WORD_BITS);
        cpus
    }

    fn have(&self, cpu: usize) -> bool {
        self.0[cpu / WORD_BITS] & 1 << (cpu % WORD_BITS) != 0
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    fn give(&self, pid: u32) -> Result<(), Errno> {
        // SAFETY: the kernel reads that many bytes.
        check(unsafe { libc::syscall(libc::SYS_sched_setaffinity, pid, size_of::<Self>(), self.0.as_ptr()) }).map(drop)
    }
}

/// A caller and we are on one CPU for as long as this lives.
pub(super) struct Together<'a> {
    pid: u32,
    here: Cpus,
    callers: Cpus,
    ours: &'a Cpus,
}

impl<'a> Together<'a> {
    /// Brings a caller that waits for us to the CPU that we are on, if both may run there. Ours is what we may run on
    /// otherwise.
    pub(super) fn with(pid: u32, ours: &'a Cpus) -> Option<Self> {
        // SAFETY: no arguments.
        let cpu = usize::try_from(unsafe { libc::sched_getcpu() }).ok().filter(|cpu| *cpu < CPUS_MAX)?;
        if ours.count() < 2 {
            return None;
        }
        let here = Cpus::only(cpu);
        let callers = Cpus::of(pid).ok().filter(|callers| callers.have(cpu))?;
        let together = Self { pid, here, callers, ours };
        here.give(0).ok()?;
        // Where this fails, what was done is undone by the drop.
        here.give(pid).ok().map(|()| together)
    }
}

impl Drop for Together<'_> {
    fn drop(&mut self) {
        let all = Cpus([u64::MAX; CPUS_MAX / WORD_BITS]);
        // A caller to whom somebody gave other CPUs meanwhile keeps them. Mostly it could run everywhere, and has to be told just
        // that: told the CPUs of today, it would stay there when its cpuset gets others.
        if Cpus::of(self.pid).is_ok_and(|now| now == self.here) {
            let _ = all.give(self.pid);
            if Cpus::of(self.pid).is_ok_and(|now| now != self.callers) {
                let _ = self.callers.give(self.pid);
            }
        }
        // What cannot be had any more, because the machine lost CPUs meanwhile, is replaced by all there are.
        if self.ours.give(0).is_err() {
            let _ = all.give(0);
        }
    }
}

#[cfg(test)]
mod tests;
