//! A killed polder leaves nothing behind once the next one has started. `cargo xtask soak kill` does
//! the same a thousand times.
#![forbid(unsafe_code)]

use polder_e2e::soak_kill;

/// Enough to meet each part of a start once or twice.
const KILLS: u32 = 20;

fn check(engine: &str) {
    let has = std::env::var("POLDER_TEST_HAS").unwrap_or_default();
    if has.split(',').any(|word| word == engine) {
        let report = soak_kill(engine, KILLS);
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn killed_native_runs_leave_nothing() {
    check("native");
}

#[test]
fn killed_bubblewrap_runs_leave_nothing() {
    check("bubblewrap");
}

#[test]
fn killed_nsjail_runs_leave_nothing() {
    check("nsjail");
}

#[test]
fn killed_firejail_runs_leave_nothing() {
    check("firejail");
}

#[test]
fn killed_unsandboxed_runs_leave_nothing() {
    check("none");
}
