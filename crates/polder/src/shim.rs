//! The program as the first process of a sandbox.

/// Becomes the first process of a sandbox if this program was started as that; returns at once otherwise.
///
/// Some engines are programs of their own: they build a sandbox and start in it what they are told to. Polder tells them
/// to start this very program, which then gives up every privilege, starts the command and watches over it. A program
/// that wants to use such an engine calls this first in `main`, before it starts a thread or reads its arguments. Without
/// it these engines say that they cannot be used; the embedded ones work all the same.
///
/// ```
/// polder::become_shim_if_asked(); // the first line of `main`
/// ```
#[cfg(target_os = "linux")]
pub fn become_shim_if_asked() {
    polder_sys::become_shim_if_asked();
}

/// Returns at once: no engine of this system starts this program.
#[cfg(not(target_os = "linux"))]
pub fn become_shim_if_asked() {}
