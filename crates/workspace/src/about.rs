//! What is known about a workspace, kept beside its layer as `about.json`.

use crate::name::Name;
use crate::relative::Wire;
use polder_sys::tree::Moment;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::PathBuf;

/// The form of `about.json` that this program writes and reads.
const VERSION: u32 = 1;

/// How a workspace is kept apart from the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A layer over the tree.
    Cow,
    /// A layer over a git worktree that belongs to the workspace.
    Worktree,
}

impl Mode {
    /// The word that people use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cow => "cow",
            Self::Worktree => "worktree",
        }
    }
}

/// What becomes of a workspace when its run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It stays.
    Always,
    /// It stays if the command changed anything.
    Changed,
    /// It goes.
    Never,
}

/// Everything that `about.json` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) name: Name,
    /// The tree, by path and by what the path meant when the workspace began.
    pub(crate) root: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// When the directory came to be, where the file system tells: numbers are given out again.
    pub(crate) born: Option<Born>,
    pub(crate) mode: Mode,
    /// The clock of the file systems when the workspace began: what changed on the host at or after it is a conflict.
    pub(crate) began: Began,
    /// The workspace that this one branched from.
    pub(crate) parent: Option<Name>,
    /// What the command could not see, as patterns below the root: a diff must not show it either.
    pub(crate) hidden: Vec<String>,
    /// The repositories of a worktree that has several, the tree's own first; empty where it has one.
    pub(crate) projects: Vec<ProjectRoot>,
}

/// Seconds since 1970 and nanoseconds at which a directory came to be.
pub(crate) type Born = (u64, u32);

/// One of several repositories: the directory inside, and the tree by path and by what the path meant in the beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProjectRoot {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// The moment at which a workspace began.
///
/// File systems stamp with a clock that ticks every few milliseconds. Since Linux 6.13 some of them (ext4, xfs, btrfs, tmpfs)
/// stamp finely when somebody looked at the last stamp, and promise that a later change never gets an earlier stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Began {
    /// The last tick before.
    pub(crate) tick: Moment,
    /// As finely as the store's file system tells.
    pub(crate) fine: Moment,
}

/// File systems that stamp finely since Linux 6.13, and promise that no later change gets an earlier stamp.
const FINE: [u64; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
/// The longest tick of any kernel's clock.
const TICK_NANOSECONDS: i64 = 10_000_000;

impl Began {
    /// The moment of a stamp.
    pub(crate) fn at(stamp: Moment) -> Self {
        let Moment { seconds, nanoseconds } = stamp;
        let tick = match nanoseconds - TICK_NANOSECONDS {
            before if before < 0 => Moment { seconds: seconds - 1, nanoseconds: before + 1_000_000_000 },
            nanoseconds => Moment { seconds, nanoseconds },
        };
        Self { tick, fine: stamp }
    }

    /// From when on a stamp of this file system means that something came later. In doubt it does.
    pub(crate) fn moment_on(self, file_system: u64) -> Moment {
        if FINE.contains(&file_system) { self.fine } else { self.tick }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    version: u32,
    name: String,
    root: Wire,
    device: u64,
    inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<Born>,
    mode: String,
    began_tick: (i64, i64),
    began_fine: (i64, i64),
    parent: Option<String>,
    hidden: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    projects: Vec<ProjectForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectForm {
    name: String,
    root: Wire,
    device: u64,
    inode: u64,
}

impl About {
    pub(crate) fn to_text(&self) -> String {
        let Self { name, root, device, inode, born, mode, began, parent, hidden, projects } = self;
        let projects = projects.iter().map(|ProjectRoot { name, root, device, inode }| ProjectForm {
            name: name.clone(),
            root: Wire::of(root.as_os_str()),
            device: *device,
            inode: *inode,
        });
        let pair = |moment: Moment| (moment.seconds, moment.nanoseconds);
        let form = Form {
            version: VERSION,
            name: name.to_string(),
            root: Wire::of(root.as_os_str()),
            device: *device,
            inode: *inode,
            born: *born,
            mode: mode.name().to_owned(),
            began_tick: pair(began.tick),
            began_fine: pair(began.fine),
            parent: parent.as_ref().map(ToString::to_string),
            hidden: hidden.clone(),
            projects: projects.collect(),
        };
        serde_json::to_string(&form).expect("invariant: plain data")
    }

    pub(crate) fn from_text(text: &str) -> io::Result<Self> {
        let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let form: Form = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let Form { version, name, root, device, inode, born, mode, began_tick, began_fine, parent, hidden, projects } =
            form;
        if version != VERSION {
            return Err(wrong(format!("it has version {version}, and this polder knows {VERSION}")));
        }
        let name_of = |text: String| text.parse::<Name>().map_err(|error| wrong(error.to_string()));
        let moment = |(seconds, nanoseconds)| Moment { seconds, nanoseconds };
        let path_of =
            |wire: Wire| wire.read().map(PathBuf::from).ok_or_else(|| wrong("its root is no path".to_owned()));
        let project = |ProjectForm { name, root, device, inode }| {
            // It becomes a part of paths.
            let name = name_of(name)?.to_string();
            Ok(ProjectRoot { name, root: path_of(root)?, device, inode })
        };
        let mode = [Mode::Cow, Mode::Worktree].into_iter().find(|known| known.name() == mode);
        Ok(Self {
            name: name_of(name)?,
            root: path_of(root)?,
            device,
            inode,
            born,
            mode: mode.ok_or_else(|| wrong("its mode is not known".to_owned()))?,
            began: Began { tick: moment(began_tick), fine: moment(began_fine) },
            parent: parent.map(name_of).transpose()?,
            hidden,
            projects: projects.into_iter().map(project).collect::<io::Result<_>>()?,
        })
    }
}
