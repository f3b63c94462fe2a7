//! Pages that will be written in a moment, asked for together: one call costs half of what as many faults do.
//!
//! Everything here is a hint. A kernel that does not know the request (before 5.14) or a range that is not all there
//! means faults, one by one, as without it.

use crate::arena;

// Where the static program begins, if its linker is told so (`crates/cli/build.rs`): the pages that the loader is about to
// fill with addresses are made ready, and the C library's own beginning follows. Nothing has been relocated yet, so this
// knows nothing but where it is itself.
#[cfg(all(target_arch = "x86_64", target_env = "musl"))]
std::arch::global_asm!(
    ".pushsection .text.polder_start, \"ax\", @progbits",
    ".globl polder_start",
    ".hidden polder_start",
    ".type polder_start, @function",
    "polder_start:",
    "lea rdi, [rip + __init_array_start]",
    "and rdi, -4096",
    "lea rsi, [rip + _edata]",
    "sub rsi, rdi",
    "mov edx, {populate_write}",
    "mov eax, {madvise}",
    "syscall",
    "jmp _start",
    ".size polder_start, . - polder_start",
    ".popsection",
    populate_write = const libc::MADV_POPULATE_WRITE,
    madvise = const libc::SYS_madvise,
);

/// How much of the stack the decisions of a run need.
const DECIDING_BYTES: usize = 36 * 1024;
/// What callers have on the stack already.
const ABOVE_BYTES: usize = 8 * 1024;
const PAGE_BYTES: usize = 4096;

/// For a process that has just been cloned from: all that it had is shared with the clone, and would be copied page by
/// page at each first write.
pub(crate) fn after_clone() {
    arena::make_first_ready();
    let here = 0u8;
    let here = (&raw const here).addr();
    let start = here.saturating_sub(DECIDING_BYTES) & !(PAGE_BYTES - 1);
    let end = (here + ABOVE_BYTES) & !(PAGE_BYTES - 1);
    // SAFETY: changes nothing that could be read: a page is there, with what it holds, or it is not a page of ours.
    unsafe {
        libc::madvise(std::ptr::with_exposed_provenance_mut(start), end - start, libc::MADV_POPULATE_WRITE);
    }
}
