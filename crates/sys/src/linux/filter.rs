//! Compiling system call rules into a seccomp program. Pure.
//!
//! The kernel runs a new filter once per system call number when it is installed, and a call that needs arguments
//! runs it every time. So numbers are found by a balanced search over ranges instead of a chain of comparisons: a
//! list of 300 names costs nine jumps. `seccompiler` emits chains, which measured at twice the time to install.

use std::collections::BTreeMap;

/// One instruction of classic BPF, as the kernel reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    code: u16,
    jt: u8,
    jf: u8,
    k: u32,
}

/// What the kernel does with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It happens.
    Allow,
    /// It returns this error.
    Errno(u16),
    /// It waits for the answer of the listener.
    Notify,
    /// The process ends.
    Kill,
}

/// What is looked at before the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing.
    Always(Verdict),
    /// One test after the other; the first that matches gives the verdict.
    Tests {
        /// The tests, in order.
        tests: Vec<Test>,
        /// The verdict when none matches.
        otherwise: Verdict,
    },
}

/// A look at the low 32 bits of one argument. All arguments that are tested here are 32 bits wide in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// Which argument, from 0.
    pub argument: u8,
    /// What it is compared with.
    pub matches: Match,
    /// What follows when it matches.
    pub verdict: Verdict,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The argument is this number.
    Equals(u32),
    /// The argument has at least one of these bits.
    AnyBit(u32),
    /// The argument has none of these bits.
    NoBit(u32),
}

const LD_W_ABS: u16 = 0x20;
const JMP_JA: u16 = 0x05;
const JMP_JEQ: u16 = 0x15;
const JMP_JGE: u16 = 0x35;
const JMP_JSET: u16 = 0x45;
const RET: u16 = 0x06;

const OFFSET_NR: u32 = 0;
const OFFSET_ARCH: u32 = 4;
const OFFSET_ARGS: u32 = 16;

/// An instruction from its four parts.
pub(super) const fn op(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
    Instruction { code, jt, jf, k }
}

#[cfg(test)]
impl Instruction {
    /// The four parts, for writing a program down.
    pub(super) const fn parts(self) -> (u16, u8, u8, u32) {
        (self.code, self.jt, self.jf, self.k)
    }
}

const fn ret(verdict: Verdict) -> Instruction {
    let k = match verdict {
        Verdict::Allow => 0x7fff_0000,
        Verdict::Errno(errno) => 0x0005_0000 | errno as u32,
        Verdict::Notify => 0x7fc0_0000,
        Verdict::Kill => 0x8000_0000,
    };
    op(RET, 0, 0, k)
}

/// Compiles rules by number; a number without a rule gets `unknown`, another architecture ends the process.
pub fn compile(arch: u32, rules: &BTreeMap<u32, Rule>, unknown: Verdict) -> Vec<Instruction> {
    let mut program = vec![
        op(LD_W_ABS, 0, 0, OFFSET_ARCH),
        op(JMP_JEQ, 1, 0, arch),
        ret(Verdict::Kill),
        op(LD_W_ABS, 0, 0, OFFSET_NR),
    ];
    program.extend(search(&segments(rules, unknown)));
    program
}

/// Runs of numbers that share a rule: where each begins and what holds there.
fn segments(rules: &BTreeMap<u32, Rule>, unknown: Verdict) -> Vec<(u32, Rule)> {
    let mut segments: Vec<(u32, Rule)> = Vec::new();
    let mut push = |start: u32, rule: Rule| {
        if segments.last().is_none_or(|(_, last)| *last != rule) {
            segments.push((start, rule));
        }
    };
    let mut next = 0;
    for (&number, rule) in rules {
        if number > next {
            push(next, Rule::Always(unknown));
        }
        push(number, rule.clone());
        next = number + 1;
    }
    push(next, Rule::Always(unknown));
    segments
}

/// A balanced search for the segment that holds the number in the accumulator.
fn search(segments: &[(u32, Rule)]) -> Vec<Instruction> {
    if let [(_, rule)] = segments {
        return leaf(rule);
    }
    let (low, high) = segments.split_at(segments.len() / 2);
    let (low_code, high_code) = (search(low), search(high));
    let mut code = Vec::with_capacity(low_code.len() + high_code.len() + 2);
    match u8::try_from(low_code.len()) {
        Ok(distance) => code.push(op(JMP_JGE, distance, 0, high[0].0)),
        // A conditional jump reaches 255 instructions; the unconditional one has no such limit.
        Err(_) => {
            code.push(op(JMP_JGE, 0, 1, high[0].0));
            code.push(op(JMP_JA, 0, 0, low_code.len() as u32));
        }
    }
    code.extend(low_code);
    code.extend(high_code);
    code
}

fn leaf(rule: &Rule) -> Vec<Instruction> {
    match rule {
        Rule::Always(verdict) => vec![ret(*verdict)],
        Rule::Tests { tests, otherwise } => {
            let mut code = Vec::new();
            for Test { argument, matches, verdict } in tests {
                code.push(op(LD_W_ABS, 0, 0, OFFSET_ARGS + 8 * u32::from(*argument)));
                code.push(match *matches {
                    Match::Equals(number) => op(JMP_JEQ, 0, 1, number),
                    Match::AnyBit(bits) => op(JMP_JSET, 0, 1, bits),
                    Match::NoBit(bits) => op(JMP_JSET, 1, 0, bits),
                });
                code.push(ret(*verdict));
            }
            code.push(ret(*otherwise));
            code
        }
    }
}

#[cfg(test)]
mod tests;
