use super::*;
use std::fmt::Write;

/// The committed programs are what the rules compile to. `POLDER_TEST_BLESS=1 cargo test -p polder-sys` writes them anew.
#[test]
fn compiled_programs_are_up_to_date() {
    let stale =
        program(Guarded::No) != compile_rules(Guarded::No) || program(Guarded::Yes) != compile_rules(Guarded::Yes);
    if std::env::var_os("POLDER_TEST_BLESS").is_some() {
        let arch = std::env::consts::ARCH;
        let file = format!("{}/src/linux/syscalls/compiled_{arch}.rs", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(arch, "x86_64", "other architectures compile at the first use");
        std::fs::write(file, source()).unwrap();
    } else {
        assert!(!stale, "the rules have changed; run this test with POLDER_TEST_BLESS=1");
    }
}

fn source() -> String {
    let mut text = "//! Generated from the rules in `syscalls.rs`; a test says when it is stale.\n\n\
                    use crate::linux::filter::{Instruction, op};\n"
        .to_owned();
    for (name, constant, guarded) in [("plain", "PLAIN", Guarded::No), ("guarded", "GUARDED", Guarded::Yes)] {
        let _ = write!(text, "\npub(super) const fn {name}() -> &'static [Instruction] {{\n    {constant}\n}}\n");
        let _ = write!(text, "\nconst {constant}: &[Instruction] = &[\n");
        for instruction in compile_rules(guarded) {
            let (code, jt, jf, k) = instruction.parts();
            let _ = writeln!(text, "    op({code:#04x}, {jt}, {jf}, {k:#x}),");
        }
        text.push_str("];\n");
    }
    text
}

#[test]
fn no_call_is_both_allowed_and_refused() {
    for number in REFUSED.iter().chain(REFUSED_BY_ARCH) {
        assert!(!ALLOWED.contains(number) && !ALLOWED_BY_ARCH.contains(number), "{number}");
    }
    for (number, _, _) in tested() {
        assert!(!REFUSED.contains(&number), "{number} is refused and tested");
    }
}
