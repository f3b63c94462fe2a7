use super::*;
use std::fmt::Write;

const PROGRAMS: [(&str, Guarded, Observe); 6] = [
    ("plain", Guarded::No, Observe::Off),
    ("cheap", Guarded::No, Observe::Cheap),
    ("exact", Guarded::No, Observe::Exact),
    ("guarded", Guarded::Yes, Observe::Off),
    ("guarded_cheap", Guarded::Yes, Observe::Cheap),
    ("guarded_exact", Guarded::Yes, Observe::Exact),
];

/// The committed programs are what the rules compile to. `POLDER_TEST_BLESS=1 cargo test -p polder-sys` writes them anew.
#[test]
fn compiled_programs_are_up_to_date() {
    let stale =
        PROGRAMS.iter().any(|(_, guarded, observe)| program(*guarded, *observe) != compile_rules(*guarded, *observe));
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
    for (name, guarded, observe) in PROGRAMS {
        let constant = name.to_uppercase();
        let _ = write!(text, "\npub(super) const fn {name}() -> &'static [Instruction] {{\n    {constant}\n}}\n");
        let _ = write!(text, "\nconst {constant}: &[Instruction] = &[\n");
        for instruction in compile_rules(guarded, observe) {
            let (code, jt, jf, k) = instruction.parts();
            let _ = writeln!(text, "    op({code:#04x}, {jt}, {jf}, {k:#x}),");
        }
        text.push_str("];\n");
    }
    text
}

/// Looking must not open anything: what is refused without an observer is refused or notified with one, and what is
/// notified is either looked at or refused by its number.
#[test]
fn an_observer_changes_no_verdict_into_a_yes() {
    for guarded in [Guarded::No, Guarded::Yes] {
        let without = rules(guarded, Observe::Off);
        for observe in [Observe::Cheap, Observe::Exact] {
            let with = rules(guarded, observe);
            assert_eq!(without.keys().collect::<Vec<_>>(), with.keys().collect::<Vec<_>>());
            for (number, rule) in &with {
                if let (Rule::Always(Verdict::Allow), before) = (rule, &without[number]) {
                    assert_eq!(before, rule, "{number}");
                }
                let notified = match rule {
                    Rule::Always(verdict) => *verdict == Verdict::Notify,
                    Rule::Tests { tests, otherwise } => {
                        *otherwise == Verdict::Notify || tests.iter().any(|test| test.verdict == Verdict::Notify)
                    }
                };
                let number = i64::from(*number);
                let guards = guarded == Guarded::Yes && matches!(number, libc::SYS_bind | libc::SYS_umask);
                if notified && !guards {
                    assert_ne!(is_watched(number), refused_with(number).is_some(), "{number}");
                }
            }
            for number in REFUSED.iter().chain(REFUSED_BY_ARCH) {
                assert!(!is_watched(*number) && refused_with(*number) == Some(libc::EPERM), "{number}");
                assert!(name_of(*number).is_some(), "{number} has no name");
            }
        }
    }
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
