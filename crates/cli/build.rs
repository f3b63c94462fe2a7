//! Tells the linker in which order functions stand in the static program (`order.ld` says why) and where it begins
//! (`crates/sys/src/ready.rs`).

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=order.ld");
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    // The static program for Linux is the one that people start a hundred times a day.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "musl") && is("PROFILE", "release") {
        let order = Path::new(env!("CARGO_MANIFEST_DIR")).join("order.ld");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", order.display());
        if is("CARGO_CFG_TARGET_ARCH", "x86_64") {
            println!("cargo::rustc-link-arg-bins=-Wl,-e,polder_start");
        }
    }
}
