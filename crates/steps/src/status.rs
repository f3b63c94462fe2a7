//! How a step ended. What the command did, what its limits did, and what polder could not do are different things.

use polder_facts::{Ending, LimitKind, Outcome};

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// The command returned zero.
    Passed,
    /// The command returned this code; 128+n for a signal, 126 and 127 when it could not be executed.
    Failed(i32),
    /// Its time was up.
    TimedOut,
    /// It reached a limit, and failed.
    Limit(LimitKind),
    /// Polder could not do its part; the command may never have run.
    Broken(String),
    /// It did not run.
    Skipped(Skip),
    /// The user asked for the end.
    Interrupted(i32),
}

/// Why a step did not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Skip {
    /// Its `if` does not hold.
    Condition,
    /// None of these, which it waited for, let it run; each with how it ended.
    Dependency(Vec<(String, &'static str)>),
    /// The user asked for the end before its turn.
    Stopped,
}

impl Status {
    /// What an outcome means for a step.
    pub fn of(outcome: &Outcome) -> Self {
        match (outcome.ending, outcome.limit) {
            (Ending::Exited(0), _) => Self::Passed,
            (Ending::TimedOut, _) => Self::TimedOut,
            (Ending::Interrupted(signal), _) => Self::Interrupted(signal),
            (Ending::Lost, _) => Self::Broken("the sandbox vanished and took the command with it".to_owned()),
            (_, Some(limit)) => Self::Limit(limit),
            (Ending::LimitReached, None) => Self::Limit(LimitKind::Memory),
            (Ending::Exited(_) | Ending::Signalled(_) | Ending::NotExecutable(_) | Ending::NotFound, None) => {
                Self::Failed(outcome.exit_code())
            }
        }
    }

    /// The word in reports and conditions.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::TimedOut => "timed-out",
            Self::Limit(_) => "limit",
            Self::Broken(_) => "broken",
            Self::Skipped(_) => "skipped",
            Self::Interrupted(_) => "interrupted",
        }
    }

    /// Whether the command ran and returned zero.
    pub const fn passed(&self) -> bool {
        matches!(self, Self::Passed)
    }

    /// The code of the command, where there is one.
    pub const fn code(&self) -> Option<i32> {
        match self {
            Self::Passed => Some(0),
            Self::Failed(code) => Some(*code),
            Self::TimedOut => Some(124),
            Self::Limit(_) => Some(137),
            Self::Interrupted(signal) => Some(128 + *signal),
            Self::Broken(_) | Self::Skipped(_) => None,
        }
    }

    /// What the word alone does not say.
    pub fn detail(&self) -> String {
        match self {
            Self::Passed => String::new(),
            Self::Failed(127) => "exit code 127: the command does not exist in the sandbox".to_owned(),
            Self::Failed(126) => "exit code 126: the command cannot be executed".to_owned(),
            Self::Failed(code) => format!("exit code {code}"),
            Self::TimedOut => "its time was up".to_owned(),
            Self::Limit(limit) => format!("the {} limit was reached", limit.name()),
            Self::Broken(why) => why.clone(),
            Self::Skipped(Skip::Condition) => "its `if` does not hold".to_owned(),
            Self::Skipped(Skip::Stopped) => "the run was ended before its turn".to_owned(),
            Self::Skipped(Skip::Dependency(names)) => {
                let names: Vec<_> = names.iter().map(|(name, how)| format!("`{name}` {how}")).collect();
                names.join(" and ")
            }
            Self::Interrupted(signal) => format!("ended by signal {signal}"),
        }
    }

    /// Whether a step that waits for this one may run. That polder could not do its part always stops those who wait.
    pub(crate) const fn lets(&self, continues: bool) -> bool {
        match self {
            Self::Passed => true,
            Self::Failed(_) | Self::TimedOut | Self::Limit(_) | Self::Skipped(_) => continues,
            Self::Broken(_) | Self::Interrupted(_) => false,
        }
    }
}

/// The exit code of `polder steps`: 125 when polder could not do its part, else 128+n when the user asked for the end,
/// else 1 when a step failed. That a failure lets others run does not make it a success.
pub fn exit_code<'a>(statuses: impl Iterator<Item = &'a Status>) -> u8 {
    let rank = |status: &Status| match status {
        Status::Broken(_) => 125,
        Status::Interrupted(signal) => u8::try_from(128 + *signal).unwrap_or(255),
        Status::Failed(_) | Status::TimedOut | Status::Limit(_) => 1,
        Status::Passed | Status::Skipped(_) => 0,
    };
    let codes: Vec<u8> = statuses.map(rank).collect();
    if codes.contains(&125) { 125 } else { codes.into_iter().max().unwrap_or(0) }
}
