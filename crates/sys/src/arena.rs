//! An allocator for a program that lives for a few milliseconds.
//!
//! musl's allocator asks the kernel for nearly every size class anew, and each new page is a fault: half of the
//! instructions of a short run were spent in it. This one hands out the first part of memory from one block, in order,
//! and never looks back; what does not fit there goes to the system's allocator, so a long run loses nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Enough for the decisions of one run; untouched pages cost nothing.
const ARENA_BYTES: usize = 512 * 1024;

#[repr(align(4096))]
struct Block(UnsafeCell<[u8; ARENA_BYTES]>);

// SAFETY: parts of the block are handed out once, by an atomic counter, and belong to whoever got them.
unsafe impl Sync for Block {}

static BLOCK: Block = Block(UnsafeCell::new([0; ARENA_BYTES]));
static USED: AtomicUsize = AtomicUsize::new(0);

/// The allocator; `#[global_allocator] static ALLOCATOR: Arena = Arena;` in a program.
#[derive(Debug)]
pub struct Arena;

fn base() -> *mut u8 {
    BLOCK.0.get().cast()
}

/// Where in the block a pointer lies, if it does.
fn offset(pointer: *mut u8) -> Option<usize> {
    let distance = pointer.addr().wrapping_sub(base().addr());
    (distance < ARENA_BYTES).then_some(distance)
}

/// How much memory is asked for at once: one call instead of eight faults.
const READY_BYTES: usize = 32 * 1024;

/// Makes the first pages ready. Not before they are needed, because a process that is cloned early shares all that is
/// there, and each page that is then written has to be copied.
pub(crate) fn make_first_ready() {
    ask_for(0, READY_BYTES);
}

/// Makes the pages ready that this part is the first to touch.
fn make_ready(start: usize, end: usize) {
    let first = start.next_multiple_of(READY_BYTES).max(READY_BYTES);
    ask_for(first, end.next_multiple_of(READY_BYTES).min(ARENA_BYTES));
}

fn ask_for(first: usize, last: usize) {
    if first < last {
        // SAFETY: the range lies within the block. If the kernel does not know the request, pages come one by one.
        unsafe { libc::madvise(base().add(first).cast(), last - first, libc::MADV_POPULATE_WRITE) };
    }
}

fn take(layout: Layout) -> Option<*mut u8> {
    let mut used = USED.load(Ordering::Relaxed);
    loop {
        let start = used.checked_next_multiple_of(layout.align())?;
        let end = start.checked_add(layout.size())?;
        if end > ARENA_BYTES || layout.align() > 4096 {
            return None;
        }
        match USED.compare_exchange_weak(used, end, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                make_ready(used, end);
                // SAFETY: `start` is within the block, because `end` is.
                return Some(unsafe { base().add(start) });
            }
            Err(now) => used = now,
        }
    }
}

// SAFETY: every pointer is either a part of the block that nobody else has, of the right size and alignment, or comes
// from the system's allocator and goes back to it.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is passed on.
        take(layout).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        match offset(pointer) {
            // Only the newest part can be taken back; a failure just means that it is not the newest any more.
            Some(start) => {
                let end = start + layout.size();
                let _ = USED.compare_exchange(end, start, Ordering::Relaxed, Ordering::Relaxed);
            }
            // SAFETY: it came from there.
            None => unsafe { System.dealloc(pointer, layout) },
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Some(start) = offset(pointer) else {
            // SAFETY: it came from there, and the caller's promise is passed on.
            return unsafe { System.realloc(pointer, layout, new_size) };
        };
        let (old_end, new_end) = (start + layout.size(), start.saturating_add(new_size));
        // The newest part grows and shrinks in place.
        if new_end <= ARENA_BYTES
            && USED.compare_exchange(old_end, new_end, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            make_ready(old_end, new_end);
            return pointer;
        }
        // SAFETY: the caller promises that the new size is valid for the alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: as for `alloc`; the two parts do not overlap, and both are at least the smaller size long.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                ptr::copy_nonoverlapping(pointer, new, layout.size().min(new_size));
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_overlap_and_what_does_not_fit_comes_from_elsewhere() {
        let layout = Layout::from_size_align(100, 16).unwrap();
        // SAFETY: the layouts are not empty, and every pointer is used within its size and given back once.
        unsafe {
            let a = Arena.alloc(layout);
            let b = Arena.alloc(layout);
            assert!(b.addr() >= a.addr() + 100 && a.addr().is_multiple_of(16) && b.addr().is_multiple_of(16));
            a.write_bytes(1, 100);
            let grown = Arena.realloc(a, layout, 5000);
            assert_eq!((grown.read(), grown.add(99).read()), (1, 1), "the content moves along");
            let large = Layout::from_size_align(ARENA_BYTES + 1, 8).unwrap();
            let far = Arena.alloc(large);
            assert!(offset(far).is_none() && !far.is_null());
            Arena.dealloc(far, large);
            Arena.dealloc(b, layout);
            Arena.dealloc(grown, Layout::from_size_align(5000, 16).unwrap());
        }
    }
}
