//! Colours: only on a terminal that can show them, and only where the user did not say no (<https://no-color.org>).

use std::io::IsTerminal;

/// Whether words have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Colour,
    Plain,
}

/// What a colour stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Doubtful,
    Bad,
    Faint,
    Heading,
    Place,
}

impl Tone {
    /// The parameter of SGR (ECMA-48, 8.3.117).
    const fn code(self) -> u8 {
        match self {
            Self::Heading => 1,
            Self::Faint => 2,
            Self::Bad => 31,
            Self::Good => 32,
            Self::Doubtful => 33,
            Self::Place => 36,
        }
    }
}

impl Paint {
    /// For what goes to this stream.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = said("NO_COLOR").is_some() || said("TERM").is_none_or(|term| term == "dumb");
        if stream.is_terminal() && !plain { Self::Colour } else { Self::Plain }
    }

    /// A text that has no control characters of its own, in a colour.
    pub(crate) fn wrap(self, tone: Tone, text: &str) -> String {
        match self {
            Self::Colour => format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code()),
            Self::Plain => text.to_owned(),
        }
    }
}
