use super::*;

const ARCH: u32 = 0xc000_003e;

/// A small interpreter of the instructions that the compiler emits.
pub(in crate::linux) fn run(program: &[Instruction], arch: u32, number: u32, args: [u64; 6]) -> Verdict {
    let (mut pc, mut accumulator) = (0usize, 0u32);
    loop {
        let Instruction { code, jt, jf, k } = program[pc];
        pc += 1;
        let jump = |taken: bool| usize::from(if taken { jt } else { jf });
        match code {
            LD_W_ABS => {
                accumulator = match k {
                    OFFSET_NR => number,
                    OFFSET_ARCH => arch,
                    _ => (args[((k - OFFSET_ARGS) / 8) as usize] >> (8 * ((k - OFFSET_ARGS) % 8))) as u32,
                }
            }
            ALU_AND => accumulator &= k,
            JMP_JA => pc += k as usize,
            JMP_JEQ => pc += jump(accumulator == k),
            JMP_JGE => pc += jump(accumulator >= k),
            JMP_JSET => pc += jump(accumulator & k != 0),
            RET => {
                return match k {
                    0x7fff_0000 => Verdict::Allow,
                    0x7fc0_0000 => Verdict::Notify,
                    0x8000_0000 => Verdict::Kill,
                    errno => Verdict::Errno((errno & 0xffff) as u16),
                };
            }
            other => panic!("no such instruction: {other:#x}"),
        }
    }
}

/// What the rules say, without any compiling.
fn meant(rules: &BTreeMap<u32, Rule>, unknown: Verdict, number: u32, args: [u64; 6]) -> Verdict {
    match rules.get(&number) {
        None => unknown,
        Some(Rule::Always(verdict)) => *verdict,
        Some(Rule::Tests { tests, otherwise }) => tests
            .iter()
            .find(|test| {
                test.looks.iter().all(|look| {
                    let whole = args[usize::from(look.argument)];
                    let value = whole as u32;
                    match look.matches {
                        Match::Equals(number) => value == number,
                        Match::Differs(number) => value != number,
                        Match::AnyBit(bits) => value & bits != 0,
                        Match::NoBit(bits) => value & bits == 0,
                        Match::Masked(mask, number) => value & mask == number,
                        Match::HighBits => whole >> 32 != 0,
                    }
                })
            })
            .map_or(*otherwise, |test| test.verdict),
    }
}

#[test]
fn the_program_says_what_the_rules_say_for_every_number() {
    let rules = super::super::syscalls::rules(super::super::syscalls::Observe::Off);
    let unknown = Verdict::Errno(libc::ENOSYS as u16);
    let program = compile(ARCH, &rules, unknown);
    let values =
        [0, 1, 2, 4, 6, 10, 16, 17, 136, 262, 1024, 0x4200, 0o4755, 0o755, 0x1000_0000, 0x5412, 0x541c, 0x8940];
    let values = values.into_iter().chain([0x2000_0000, 0xffff_ffff, 1 << 32, 0x7_0000_0010]);
    let values: Vec<u64> = values.collect();
    for number in (0..700).chain([0x4000_0000, 0x4000_0029, u32::MAX]) {
        for &a in &values {
            for &b in &values {
                let args = [a, b, a ^ b, a, b, 0];
                assert_eq!(
                    run(&program, ARCH, number, args),
                    meant(&rules, unknown, number, args),
                    "{number} {args:x?}"
                );
            }
        }
    }
}

#[test]
fn another_architecture_ends_the_process() {
    let rules = super::super::syscalls::rules(super::super::syscalls::Observe::Off);
    let program = compile(ARCH, &rules, Verdict::Allow);
    assert_eq!(run(&program, 0x4000_0003, 5, [0; 6]), Verdict::Kill);
}

#[test]
fn a_search_over_far_jumps_still_arrives() {
    // Every other number has tests of its own, so the low half is far longer than a conditional jump reaches.
    let looks =
        vec![Look { argument: 0, matches: Match::Equals(7) }, Look { argument: 1, matches: Match::Masked(15, 7) }];
    let tests = vec![Test { looks, verdict: Verdict::Allow }; 5];
    let rules: BTreeMap<u32, Rule> = (0..100)
        .map(|n| (2 * n, Rule::Tests { tests: tests.clone(), otherwise: Verdict::Errno((n % 90 + 1) as u16) }))
        .collect();
    let program = compile(ARCH, &rules, Verdict::Kill);
    assert!(program.len() < 4096, "the kernel takes 4096 instructions, not {}", program.len());
    for number in 0..210 {
        for value in [0, 7] {
            let args = [value; 6];
            assert_eq!(run(&program, ARCH, number, args), meant(&rules, Verdict::Kill, number, args), "{number}");
        }
    }
}
