//! The host side of an attack: a fresh directory with a workspace and a home beside it, and whatever lives as bait.
//!
//! Everything that a stage holds ends with it: listeners close, host processes are killed, files are removed by the
//! process that started the stage.

use crate::field::Field;
use crate::hidden::HIDDEN_ARGUMENT;
use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Why a bait cannot be laid out here.
#[derive(Debug)]
pub(crate) enum Missing {
    /// The machine or the caller does not have what it needs.
    Lacking(String),
    /// It went wrong.
    Broken(String),
}

impl From<io::Error> for Missing {
    fn from(error: io::Error) -> Self {
        Self::Broken(format!("bait: {error}"))
    }
}

/// The host side of one attempt.
pub(crate) struct Stage {
    /// The directory of everything.
    pub(crate) root: PathBuf,
    /// The workspace.
    pub(crate) workspace: PathBuf,
    /// The caller's home directory.
    pub(crate) home: PathBuf,
    /// The executable of all attempts.
    pub(crate) payload: PathBuf,
    /// Variables of the caller beside the ordinary ones.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    words: BTreeMap<String, String>,
    held: RefCell<Vec<Box<dyn Any>>>,
    children: RefCell<Vec<Child>>,
}

impl Stage {
    /// A stage in a directory that must not exist yet.
    pub(crate) fn new(root: &Path, payload: &Path, side: &str) -> io::Result<Self> {
        let (workspace, home) = (root.join("ws"), root.join("home"));
        fs::create_dir(root)?;
        fs::create_dir(&workspace)?;
        fs::create_dir(&home)?;
        let text = |path: &Path| path.display().to_string();
        let words = BTreeMap::from([
            ("side".to_owned(), side.to_owned()),
            ("workspace".to_owned(), text(&workspace)),
            ("home".to_owned(), text(&home)),
        ]);
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let mut environment = BTreeMap::from([("PATH".into(), path), ("HOME".into(), home.clone().into_os_string())]);
        // Where daemons listen, if somebody has said so: engines that are daemons look there.
        for name in ["DOCKER_HOST", "CONTAINER_HOST"] {
            environment.extend(std::env::var_os(name).map(|socket| (OsString::from(name), socket)));
        }
        #[cfg(feature = "mutate")]
        environment.extend(
            std::env::var_os(polder_sys::mutate::VARIABLE)
                .map(|off| (OsString::from(polder_sys::mutate::VARIABLE), off)),
        );
        Ok(Self {
            root: root.to_owned(),
            workspace,
            home,
            payload: payload.to_owned(),
            environment,
            words,
            held: RefCell::default(),
            children: RefCell::default(),
        })
    }

    /// Leaves a word for the attempt.
    pub(crate) fn tell(&mut self, name: &str, value: impl ToString) {
        self.words.insert(name.to_owned(), value.to_string());
    }

    /// A word left before.
    pub(crate) fn word(&self, name: &str) -> &str {
        self.words.get(name).map_or("", String::as_str)
    }

    /// Writes a file below the stage's directory, with its parents.
    pub(crate) fn file(&self, below: &str, content: &str) -> io::Result<PathBuf> {
        let path = self.root.join(below);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, content)?;
        Ok(path)
    }

    /// What is in a file below the stage's directory now.
    pub(crate) fn content(&self, below: &str) -> String {
        fs::read_to_string(self.root.join(below)).unwrap_or_else(|error| format!("<{error}>"))
    }

    /// An error if something exists, the link itself included.
    pub(crate) fn must_not_exist(&self, below: &str) -> Result<(), String> {
        match fs::symlink_metadata(self.root.join(below)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("`{below}`: {error}")),
            Ok(found) => Err(format!("`{below}` came into being on the host: {:?}", found.file_type())),
        }
    }

    /// An error if a file does not say this.
    pub(crate) fn must_say(&self, below: &str, content: &str) -> Result<(), String> {
        let found = self.content(below);
        if found == content { Ok(()) } else { Err(format!("`{below}` on the host now says {found:?}")) }
    }

    /// A workspace that is a git repository, as `git init` makes one; without calling git.
    pub(crate) fn repository(&self) -> io::Result<()> {
        self.file("ws/.git/HEAD", "ref: refs/heads/main\n")?;
        self.file("ws/.git/config", GIT_CONFIG)?;
        self.file("ws/.git/hooks/pre-commit.sample", "#!/bin/sh\n")?;
        fs::create_dir_all(self.workspace.join(".git/objects"))?;
        fs::create_dir_all(self.workspace.join(".git/refs/heads"))
    }

    /// Keeps something alive until the stage ends.
    pub(crate) fn hold(&self, thing: impl Any) {
        self.held.borrow_mut().push(Box::new(thing));
    }

    /// Asks something that is kept alive, if there is one of this type.
    pub(crate) fn held<T: Any, A>(&self, ask: impl FnOnce(&T) -> A) -> Option<A> {
        self.held.borrow().iter().find_map(|thing| thing.downcast_ref::<T>()).map(ask)
    }

    /// A host process that waits to be found; gives its pid.
    pub(crate) fn victim(&self, argument: &str) -> io::Result<u32> {
        let mut command = Command::new(&self.payload);
        command.args([HIDDEN_ARGUMENT, "victim", argument]).envs(&self.environment);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = polder_sys::attempt::die_with_starter(&mut command).spawn()?;
        let mut ready = [0u8; 1];
        if let Some(out) = &mut child.stdout {
            io::Read::read_exact(out, &mut ready)?;
        }
        let pid = child.id();
        self.children.borrow_mut().push(child);
        Ok(pid)
    }

    /// An error unless every victim still lives.
    pub(crate) fn victims_live(&self) -> Result<(), String> {
        for child in self.children.borrow_mut().iter_mut() {
            match child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => return Err(format!("a host process was ended: {status}")),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    /// What the attempt gets to know.
    pub(crate) fn field(&self) -> Field {
        Field::new(self.words.clone())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in self.children.borrow_mut().iter_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The configuration of a new repository.
pub(crate) const GIT_CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
