//! Who is told what an engine does before a command starts, and knows whether anybody still wants it.
//!
//! An image can take minutes to come. Somebody who watches wants to see it coming, and somebody who does not want to wait
//! any longer must not have to.

use polder_facts::Progress;

/// What an engine has to say before the command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// How far it is.
    Progress(Progress),
    /// Something went wrong that the run does not depend on.
    Warning(String),
}

/// Who surrounds a launch.
pub trait Lookout {
    /// Hears what the engine has to say.
    fn tell(&mut self, notice: Notice);

    /// The signal by which somebody asked for the end of the run, once that has happened. An engine that waits for
    /// anything looks here a few times a second.
    fn interrupted(&mut self) -> Option<i32>;
}
