//! Compiling system call rules into a seccomp program. Pure.
//!
//! The kernel runs a new filter once per system call number when it is installed, and a call that needs arguments
//! runs it every time. So numbers are found by a balanced search over ranges instead of a chain of comparisons: a
//! list of 300 names costs nine jumps. `seccompiler` emits chains, which measured at twice the time to install.

use super::mutate::{Layer, off};
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

/// Looks at arguments, all of which must match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The looks, in order. There is at least one.
    pub looks: Vec<Look>,
    /// The verdict when all of them match.
    pub verdict: Verdict,
}

/// A look at one argument: at its low 32 bits, unless the comparison says otherwise. The kernel reads no more than
/// those of the arguments that are tested here, but for pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Which argument, from 0.
    pub argument: u8,
    /// What it is compared with.
    pub matches: Match,
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
    /// The argument is not this number.
    Differs(u32),
    /// The argument is this number in the bits of the mask.
    Masked(u32, u32),
    /// The high 32 bits of the argument are not all zero.
    HighBits,
}

const LD_W_ABS: u16 = 0x20;
const JMP_JA: u16 = 0x05;
const JMP_JEQ: u16 = 0x15;
const JMP_JGE: u16 = 0x35;
const JMP_JSET: u16 = 0x45;
const RET: u16 = 0x06;
const ALU_AND: u16 = 0x54;

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
        ret(if off(Layer::FilterArch) { Verdict::Allow } else { Verdict::Kill }),
        op(LD_W_ABS, 0, 0, OFFSET_NR),
    ];
    let segments = segments(rules, unknown);
    let mut emitter = Emitter::default();
    let entry = emitter.search(&segments);
    debug_assert_eq!(entry, emitter.reversed.len() - 1, "the search begins where the program goes on");
    program.extend(emitter.reversed.into_iter().rev());
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

/// How far a conditional jump reaches.
const REACH: usize = 255;

/// Writes a program from its end, because jumps only lead forward: what a jump leads to is there before the jump. So
/// verdicts are shared by all jumps that reach them, which makes a program shorter by a third; the kernel compiles it
/// anew for every run.
#[derive(Default)]
struct Emitter {
    /// The last instruction first. Places are indices into this.
    reversed: Vec<Instruction>,
}

impl Emitter {
    fn push(&mut self, instruction: Instruction) -> usize {
        self.reversed.push(instruction);
        self.reversed.len() - 1
    }

    /// How many instructions lie between the next one and a place.
    fn distance(&self, place: usize) -> usize {
        self.reversed.len() - 1 - place
    }

    /// Where a verdict is given, near enough for the next few instructions.
    fn verdict(&mut self, verdict: Verdict) -> usize {
        // Two jumps and what is needed to bring a far place near come at most between this and the jump to it.
        const SPARE: usize = 8;
        let wanted = ret(verdict);
        let near = self.reversed.len().saturating_sub(REACH - SPARE);
        match self.reversed[near..].iter().rposition(|instruction| *instruction == wanted) {
            Some(index) => near + index,
            None => self.push(wanted),
        }
    }

    /// A place from which the next jump reaches this one.
    fn near(&mut self, place: usize) -> usize {
        if self.distance(place) + 1 < REACH {
            return place;
        }
        match self.reversed[place] {
            verdict @ Instruction { code: RET, .. } => self.push(verdict),
            _ => {
                let far = self.distance(place) as u32;
                self.push(op(JMP_JA, 0, 0, far))
            }
        }
    }

    /// A jump to one of two places; gives its own place.
    fn jump(&mut self, code: u16, k: u32, taken: usize, otherwise: usize) -> usize {
        let taken = self.near(taken);
        let otherwise = self.near(otherwise);
        let reach = |place| u8::try_from(self.distance(place)).expect("invariant: `near` made it so");
        let jump = op(code, reach(taken), reach(otherwise), k);
        self.push(jump)
    }

    /// A balanced search for the segment that holds the number in the accumulator.
    fn search(&mut self, segments: &[(u32, Rule)]) -> usize {
        if let [(_, rule)] = segments {
            return self.leaf(rule);
        }
        let (low, high) = segments.split_at(segments.len() / 2);
        let taken = self.search(high);
        let otherwise = self.search(low);
        self.jump(JMP_JGE, high[0].0, taken, otherwise)
    }

    fn leaf(&mut self, rule: &Rule) -> usize {
        let (tests, otherwise) = match rule {
            Rule::Always(verdict) => return self.verdict(*verdict),
            Rule::Tests { tests, otherwise } => (tests, otherwise),
        };
        let mut next = self.verdict(*otherwise);
        for Test { looks, verdict } in tests.iter().rev() {
            let mut matched = self.verdict(*verdict);
            for look in looks.iter().rev() {
                matched = self.look(*look, matched, next);
            }
            next = matched;
        }
        next
    }

    /// Loads an argument and goes to one of two places.
    fn look(&mut self, Look { argument, matches }: Look, matched: usize, otherwise: usize) -> usize {
        let low = OFFSET_ARGS + 8 * u32::from(argument);
        let mut word = low;
        match matches {
            Match::Equals(number) => self.jump(JMP_JEQ, number, matched, otherwise),
            Match::Differs(number) => self.jump(JMP_JEQ, number, otherwise, matched),
            Match::AnyBit(bits) => self.jump(JMP_JSET, bits, matched, otherwise),
            Match::NoBit(bits) => self.jump(JMP_JSET, bits, otherwise, matched),
            Match::Masked(mask, number) => {
                self.jump(JMP_JEQ, number, matched, otherwise);
                self.push(op(ALU_AND, 0, 0, mask))
            }
            Match::HighBits => {
                // Both architectures are little-endian: the high half comes second.
                word = low + 4;
                self.jump(JMP_JSET, u32::MAX, matched, otherwise)
            }
        };
        self.push(op(LD_W_ABS, 0, 0, word))
    }
}

#[cfg(test)]
pub(super) mod tests;
