use super::*;
use std::fmt::Write;

const PROGRAMS: [(&str, Observe); 3] = [("plain", Observe::Off), ("cheap", Observe::Cheap), ("exact", Observe::Exact)];

/// The committed programs are what the rules compile to. `POLDER_TEST_BLESS=1 cargo test -p polder-sys` writes them anew.
#[test]
fn compiled_programs_are_up_to_date() {
    let stale = PROGRAMS.iter().any(|(_, observe)| program(*observe) != compile_rules(*observe));
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
    for (name, observe) in PROGRAMS {
        let constant = name.to_uppercase();
        let _ = write!(text, "\npub(super) const fn {name}() -> &'static [Instruction] {{\n    {constant}\n}}\n");
        let _ = write!(text, "\nconst {constant}: &[Instruction] = &[\n");
        for instruction in compile_rules(observe) {
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
    let without = rules(Observe::Off);
    for observe in [Observe::Cheap, Observe::Exact] {
        let with = rules(observe);
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
            // What is notified of these alone is made by the listener itself.
            if notified && !matches!(number, libc::SYS_fchmod | libc::SYS_prlimit64) {
                assert_ne!(is_watched(number), refused_with(number).is_some(), "{number}");
            }
        }
        for number in REFUSED.iter().chain(REFUSED_BY_ARCH) {
            assert!(!is_watched(*number) && refused_with(*number) == Some(libc::EPERM), "{number}");
            assert!(name_of(*number).is_some(), "{number} has no name");
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

/// The filter with every arm of `observe`, and the listener's errno where the filter notifies.
fn verdict(number: i64, args: [u64; 6], observe: Observe) -> Verdict {
    let program = compile_rules(observe);
    match crate::linux::filter::tests::run(&program, ARCH, number as u32, args) {
        Verdict::Notify => refusal(number, &args).map_or(Verdict::Notify, |errno| Verdict::Errno(errno as u16)),
        other => other,
    }
}

#[test]
fn sockets_outside_of_the_list_are_refused() {
    let programs = [Observe::Off, Observe::Cheap].map(compile_rules);
    let verdict = |program: &[Instruction], number: i64, args: [u64; 6]| match crate::linux::filter::tests::run(
        program,
        ARCH,
        number as u32,
        args,
    ) {
        Verdict::Notify => Verdict::Errno(refusal(number, &args).expect("it is refused") as u16),
        other => other,
    };
    let flags = [0, (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u64, 1 << 32];
    for number in [libc::SYS_socket, libc::SYS_socketpair] {
        for family in 0..50u64 {
            for kind in 0..16u64 {
                for protocol in (0..300u64).chain([u64::from(u32::MAX)]) {
                    let is_local = family == 1 && matches!(kind, 1 | 2 | 5) && protocol < 2;
                    let echo = if family == 2 { 1 } else { 58 };
                    let is_internet = matches!(family, 2 | 10)
                        && (kind == 1 && matches!(protocol, 0 | 6 | 262)
                            || kind == 2 && (matches!(protocol, 0 | 17) || protocol == echo));
                    let is_routing = family == 16 && matches!(kind, 2 | 3) && protocol == 0;
                    let is_listed = is_local || number == libc::SYS_socket && (is_internet || is_routing);
                    for flag in flags {
                        let args = [family | flag & 1 << 32, kind | flag, protocol | flag & 1 << 32, 0, 0, 0];
                        let [off, cheap] = [&programs[0], &programs[1]].map(|program| verdict(program, number, args));
                        assert_eq!(off == Verdict::Allow, is_listed, "{number} {args:x?} {off:?}");
                        assert_eq!(off, cheap, "{number} {args:x?} with an observer");
                    }
                }
            }
        }
    }
}

#[test]
fn core_limit_can_be_read_and_not_set() {
    let core = u64::from(RLIMIT_CORE);
    for (number, args, expected) in [
        (libc::SYS_prlimit64, [0, core, 0, 0x7000, 0, 0], Verdict::Allow),
        (libc::SYS_prlimit64, [0, core, 0x7000, 0, 0, 0], NOTHING),
        (libc::SYS_prlimit64, [0, core | 1 << 32, 0x7_0000_0000, 0, 0, 0], NOTHING),
        (libc::SYS_prlimit64, [0, 7, 0x7000, 0, 0, 0], Verdict::Allow),
        (libc::SYS_prlimit64, [1, 7, 0x7000, 0, 0, 0], EPERM),
        (libc::SYS_prlimit64, [77, 7, 0x7000, 0, 0, 0], EPERM),
        (libc::SYS_prlimit64, [77, core, 0x7000, 0, 0, 0], NOTHING),
        (libc::SYS_setrlimit, [core, 0x7000, 0, 0, 0, 0], NOTHING),
        (libc::SYS_setrlimit, [7, 0x7000, 0, 0, 0, 0], Verdict::Allow),
    ] {
        assert_eq!(verdict(number, args, Observe::Off), expected, "{number} {args:x?}");
        // With a listener it is asked whose limits these are.
        let heard = if expected == EPERM { Verdict::Notify } else { expected };
        assert_eq!(verdict(number, args, Observe::Cheap), heard, "{number} {args:x?}");
    }
}

#[test]
fn tracers_that_the_listener_would_pass_are_refused() {
    let seccomp = u64::from(libc::PTRACE_O_TRACESECCOMP as u32);
    for observe in [Observe::Off, Observe::Cheap, Observe::Exact] {
        for number in [444, 445, 446] {
            assert_eq!(rules(observe)[&number], Rule::Always(Verdict::Allow), "a nested Landlock domain is welcome");
        }
        let expected = if observe == Observe::Off { Verdict::Allow } else { EINVAL };
        for request in [0x4200, 0x4206] {
            let asked = |data| verdict(libc::SYS_ptrace, [request, 9, 0, data, 0, 0], observe);
            assert_eq!(asked(seccomp | 1), expected, "{request:x} {observe:?}");
            assert_eq!(asked(1), Verdict::Allow, "{request:x} {observe:?}");
        }
    }
}

#[test]
fn requests_that_reach_others_are_refused() {
    for (number, args, expected) in [
        (libc::SYS_fcntl, [3, 1024, 1, 0, 0, 0], EINVAL),
        (libc::SYS_fcntl, [3, 1026, 1, 0, 0, 0], EINVAL),
        (libc::SYS_fcntl, [3, 1030, 1, 0, 0, 0], Verdict::Allow),
        (libc::SYS_ioctl, [3, 0x8940, 0, 0, 0, 0], ENOPKG),
        (libc::SYS_ioctl, [3, 0x8912, 0, 0, 0, 0], Verdict::Allow),
        (libc::SYS_setsockopt, [3, 6, 31, 0, 0, 0], Verdict::Errno(libc::ENOENT as u16)),
        (libc::SYS_setsockopt, [3, 6, 1, 0, 0, 0], Verdict::Allow),
        (libc::SYS_setsockopt, [3, 1, 31, 0, 0, 0], Verdict::Allow),
        (libc::SYS_setpriority, [2, 0, 19, 0, 0, 0], EPERM),
        (libc::SYS_setpriority, [0, 0, 19, 0, 0, 0], Verdict::Allow),
        (libc::SYS_ioprio_set, [3, 1000, 0, 0, 0, 0], EPERM),
        (libc::SYS_ioprio_set, [1, 0, 0, 0, 0, 0], Verdict::Allow),
    ] {
        for observe in [Observe::Off, Observe::Exact] {
            assert_eq!(verdict(number, args, observe), expected, "{number} {args:x?}");
        }
    }
}

#[test]
fn set_id_bits_pass_the_filter_for_no_file() {
    for observe in [Observe::Off, Observe::Cheap, Observe::Exact] {
        for (number, at) in [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2)] {
            let asked = |mode: u64| {
                let mut args = [3; 6];
                args[at] = mode;
                crate::linux::filter::tests::run(&compile_rules(observe), ARCH, number as u32, args)
            };
            assert_eq!([asked(0o4755), asked(0o6755)], [EPERM; 2], "{number} {observe:?}");
            let group = if observe == Observe::Off { EPERM } else { Verdict::Notify };
            assert_eq!(asked(0o2755), group, "{number} {observe:?}");
            assert!(matches!(asked(0o1755), Verdict::Allow | Verdict::Notify), "{number} {observe:?}");
        }
    }
}
