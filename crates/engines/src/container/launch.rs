//! From a judged plan to a run in a container. Thin: everything was decided before.

use super::api::Client;
use super::compose;
use super::daemon::{connect, known_sockets};
use super::kind::Kind;
use super::lower::Lowered;
use super::opening::{Opened, Opening, is_shared};
use super::ready::{Ready, image_key, ready_image};
use super::{apart, image, owner, place};
use crate::shimmed::{ShimmedRun, describe, made_layers, setup};
use polder_engine::{
    Finished, Fitted, LaunchError, Lookout, NoTerminal, Notice, Parting, Report, Running, Services, Session, Words,
};
use polder_facts::LimitKind;
use polder_plan::{Plan, Shown};
use polder_sys::cgroup::Counted;
use polder_sys::{Errno, Recipe, Source, SpawnError, Step};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A symbolic link where none may be.
const ELOOP: i32 = 40;

pub(super) fn launch(kind: Kind, fitted: &Fitted, services: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
    let Services { stdio, terminal, no_terminal, ahead: _, layers, lookout, session, record } = services;
    let plan = fitted.plan();
    let (layers, kept) = made_layers(plan, layers)?;
    let kept = kept.or(record);
    // Before anything is made: what is wrong with it is said first.
    let project = compose::read(plan, fitted.host())?;
    let client = connect(kind, fitted.host(), Some(plan))?;
    keep_sockets(&client, fitted)?;
    tidy(&client, fitted.host().user.uid, lookout);
    let session = session.filter(|_| is_shared(&plan.scope, project.is_some())).unwrap_or_default();
    // Once in a session: what a command changes in a recipe, or a name that means another image by now, does not count.
    let image_key = image_key(&client, kind, fitted, project.as_ref());
    let image = {
        let make = |lookout: &mut dyn Lookout| ready_image(&client, kind, fitted, project.as_ref(), lookout);
        session.share(&image_key, lookout, |_| true, make)?
    };
    // What a run writes to a volume of the image, others of the session would find, if nothing else keeps it from writing.
    let leaks = image.has_volumes && fitted.host().landlock_abi == 0;
    let session = if leaks { Session::new() } else { session };
    if let Some(runtime) = image.apart() {
        let asked_for_terminal = terminal.is_some() && no_terminal == NoTerminal::Refuse;
        let run = apart::Services { stdio, asked_for_terminal, kept, lookout };
        return apart::launch(kind, fitted, &client, &image, runtime, run);
    }
    let opening = Opening::new(&client, kind, fitted, &image, layers.as_ref(), project.as_ref())?;
    let (Lowered { ground, inside, .. }, key) = opening.on_paper(terminal);
    // Services that died since the last command of the session are started again, and somebody has to hear of it.
    let unwell = RefCell::new(None);
    let is_good = |opened: &Opened| {
        *unwell.borrow_mut() = Some(opened).filter(|opened| opened.is_there()).and_then(Opened::is_unwell);
        opened.is_there() && unwell.borrow().is_none()
    };
    let words = session.words();
    let opened = session.share(&key, lookout, is_good, |lookout| opening.open(lookout, words.clone()))?;
    if let Some(text) = unwell.take() {
        lookout.tell(Notice::Warning(format!("{text}\nit died between two commands; all services were started again")));
    }
    let before = opened.container.watched().counted();
    let recipe = Recipe { ground, inside, cgroup: None, stdio, kept };
    let launched = opened.container.enter(&recipe).map_err(|error| described(error, &recipe, plan, &image))?;
    drop(opening);
    Ok(Box::new(Contained { run: Box::new(ShimmedRun::new(launched, None, plan)), before, opened, words }))
}

/// Turns the kernel's answer into what the user can do about it in an image, where paths are not the host's.
fn described(error: SpawnError, recipe: &Recipe, plan: &Plan, image: &Ready) -> LaunchError {
    let step = match &error {
        SpawnError::Inside { errno: Errno(ELOOP), step: Some(step), .. } if image.env.is_some() => *step,
        _ => return describe(error),
    };
    let at = match recipe.ground.steps.get(step) {
        Some(Step::Bind { source: Source::Resolved { .. }, at, .. } | Step::Overlay { at, .. }) => at,
        _ => {
            let remedy = "use an image in which this is no symbolic link";
            return setup(error, Some(remedy.to_owned()));
        }
    };
    let at = Path::new("/").join(OsStr::from_bytes(at.as_bytes()));
    let Some(shown) = plan.files.shown.iter().find(|shown| shown.guest.as_path() == at) else { return describe(error) };
    let Shown { host, origin, .. } = shown;
    let text = format!(
        "`{host}` ({origin}) cannot be shown at `{}`: it lies behind a symbolic link of the image",
        at.display()
    );
    let remedy = "show it at the path to which the link leads, as `/run` for `/var/run`";
    setup(io::Error::other(text), Some(remedy.to_owned()))
}

/// Whoever reaches a daemon needs no sandbox to get out of: nothing that holds a socket of one is shown, not even to be
/// read, be it the daemon that is used or another one.
fn keep_sockets(client: &Client, fitted: &Fitted) -> Result<(), LaunchError> {
    let own = client.socket().canonicalize().unwrap_or_else(|_| client.socket().to_owned());
    for socket in [own].into_iter().chain(known_sockets(fitted.host())) {
        let mut shown = fitted.plan().files.shown.iter();
        if let Some(shown) = shown.find(|shown| socket.starts_with(shown.host.as_path())) {
            let (host, origin, socket) = (&shown.host, &shown.origin, socket.display());
            let text = format!("`{host}` ({origin}) would show `{socket}`, the socket of a daemon");
            return Err(setup(io::Error::other(text), Some("show something that does not hold it".to_owned())));
        }
    }
    Ok(())
}

/// Removes, once for each daemon in the life of this process, what killed ones left behind.
fn tidy(client: &Client, uid: u32, lookout: &mut dyn Lookout) {
    static TIDIED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    // Held to the end: who comes meanwhile must not meet what is about to go.
    let mut tidied = TIDIED.lock().unwrap_or_else(PoisonError::into_inner);
    if !tidied.insert(client.socket().to_owned()) {
        return;
    }
    let reaped = owner::reap(client, uid).map_err(|error| error.to_string());
    let swept = place::sweep(uid).map_err(|error| error.to_string());
    let freed = image::sweep(uid).map_err(|error| error.to_string());
    for error in [reaped, swept, freed].into_iter().filter_map(Result::err) {
        lookout.tell(Notice::Warning(format!("what an earlier run left could not be removed: {error}")));
    }
}

/// A run in a container. The run ends before the container does; that ends with the last run of its session.
struct Contained {
    run: Box<dyn Running>,
    /// How often the container's limits had been reached when the run began.
    before: Counted,
    opened: Arc<Opened>,
    /// What people have to hear of containers that went, this one among them if this is its last run.
    words: Words,
}

impl Running for Contained {
    fn reports(&self) -> BorrowedFd<'_> {
        self.run.reports()
    }

    fn ending(&self) -> Option<BorrowedFd<'_>> {
        self.run.ending()
    }

    fn report(&mut self) -> Report {
        self.run.report()
    }

    fn take_terminal(&mut self) -> Option<OwnedFd> {
        self.run.take_terminal()
    }

    fn signal(&self, signal: i32) {
        self.run.signal(signal);
    }

    fn kill(&self) {
        self.run.kill();
    }

    fn is_quiet(&self) -> bool {
        self.run.is_quiet()
    }

    fn take_git_copies(&mut self) -> Option<OwnedFd> {
        self.run.take_git_copies()
    }

    fn finish(self: Box<Self>, _: Parting) -> Finished {
        let Self { run, before, opened, words } = *self;
        // There may be a container to remove: nobody leaves early.
        let Finished { limit, violations, mut warnings } = run.finish(Parting::Wait);
        let reached = opened.container.watched().counted().since(before);
        drop(opened);
        warnings.extend(words.take());
        let limit = match reached {
            _ if limit.is_some() => limit,
            reached if reached.memory => Some(LimitKind::Memory),
            reached if reached.pids => Some(LimitKind::Pids),
            _ => None,
        };
        Finished { limit, violations, warnings }
    }
}
