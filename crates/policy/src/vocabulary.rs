//! The names of engines, given by the caller: this crate knows none of them.

use crate::fault::nearest;
use crate::model::EngineChoice;

/// One engine as configuration may call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineName {
    /// Its id.
    pub id: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Whether it makes the sandbox's file system from an image.
    pub takes_image: bool,
    /// How strong its wall is; a greater number is stronger.
    pub strength: u8,
    /// Whether it enforces nothing. Such an engine is never chosen by a project.
    pub unsandboxed: bool,
}

/// Every engine that configuration may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The engines.
    pub engines: Vec<EngineName>,
    /// The engine for a sandbox that has an image and names no engine.
    pub image_engine: &'static str,
    /// How strong the wall of the engine is that `auto` tries first here.
    pub auto_strength: u8,
}

/// The choice that is not an engine.
pub(crate) const AUTO: &str = "auto";

impl Vocabulary {
    /// What a name in the configuration means; on failure the message and the remedy.
    pub(crate) fn choice(&self, name: &str) -> Result<EngineChoice, (String, String)> {
        if name == AUTO {
            return Ok(EngineChoice::Auto);
        }
        let found = self.engines.iter().find(|engine| engine.id == name || engine.aliases.contains(&name));
        found.map(|engine| EngineChoice::Named(engine.id.to_owned())).ok_or_else(|| {
            let known = || std::iter::once(AUTO).chain(self.engines.iter().map(|engine| engine.id));
            let all = self.engines.iter().flat_map(|engine| engine.aliases.iter().copied()).chain(known());
            let list = format!("known are {}", known().collect::<Vec<_>>().join(", "));
            let hint = nearest(name, all).map_or(list.clone(), |near| format!("{near} {list}"));
            (format!("unknown engine `{name}`"), hint)
        })
    }

    /// What is known about the chosen engine; nothing for `auto`.
    pub(crate) fn engine(&self, choice: &EngineChoice) -> Option<&EngineName> {
        match choice {
            EngineChoice::Auto => None,
            EngineChoice::Named(id) => self.engines.iter().find(|engine| engine.id == id),
        }
    }

    /// How strong the wall of a choice is. An engine that is not known has none.
    pub(crate) fn strength(&self, choice: &EngineChoice) -> u8 {
        match choice {
            EngineChoice::Auto => self.auto_strength,
            EngineChoice::Named(_) => self.engine(choice).map_or(0, |engine| engine.strength),
        }
    }

    /// The engine that enforces nothing, when there is one.
    pub(crate) fn unsandboxed(&self) -> Option<&EngineName> {
        self.engines.iter().find(|engine| engine.unsandboxed)
    }
}
