//! From a judged plan to a run in another kernel. Thin: everything was decided before.

use super::life::Container;
use super::lower::{From, Host, Mounted, Setting, bounds, errand, mounts, request};
use super::run::ApartRun;
use super::seen::{Doubt, Expected, judge};
use super::streams::{Ear, Voice};
use crate::container::api::Client;
use crate::container::fit::has_cgroups;
use crate::container::kind::Kind;
use crate::container::owner;
use crate::container::place::Place;
use crate::container::program::own_program;
use crate::container::ready::Ready;
use crate::shimmed::{c, describe, setup};
use polder_engine::{Fitted, LaunchError, LaunchFailure, Lookout};
use polder_sys::inmate::{FileSeen, Frame, Look, Seen, Tag};
use polder_sys::{Errno, Located, SpawnError, Terminal};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the container may take from its start to its first word, and every other word after that.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often is looked at files that others change, and how long is waited between.
const LOOKS_MAX: u32 = 40;
const BETWEEN: Duration = Duration::from_millis(25);

/// What surrounds the run.
pub(in crate::container) struct Services<'a> {
    pub(in crate::container) stdio: [OwnedFd; 3],
    pub(in crate::container) asked_for_terminal: bool,
    pub(in crate::container) kept: Option<OwnedFd>,
    pub(in crate::container) lookout: &'a mut dyn Lookout,
}

/// This machine.
struct Here;

impl Host for Here {
    fn has(&self, path: &Path) -> bool {
        path.exists()
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|found| found.is_dir())
    }
}

/// Something of the user's that is shown, held so that it stays what it is.
struct Held {
    at: PathBuf,
    located: Located,
}

pub(in crate::container) fn launch(
    kind: Kind,
    fitted: &Fitted,
    client: &Client,
    image: &Ready,
    runtime: &str,
    services: Services<'_>,
) -> Result<Box<dyn polder_engine::Running>, LaunchError> {
    let Services { stdio, asked_for_terminal, kept, lookout } = services;
    if asked_for_terminal {
        let text = format!("runtime `{runtime}` has a kernel of its own, into which no terminal of this one's leads");
        return Err(other(text, Some("run without --tty, or use a runtime on this kernel, such as `runc`")));
    }
    let (plan, uid) = (fitted.plan(), fitted.host().user.uid);
    let place = Place::make(uid).map_err(|error| setup(error, None))?;
    let (mounts, held) = gather(mounts(plan, image.env.as_deref(), &Here), image.env.is_some(), &place)?;
    let bounds = bounds(plan, has_cgroups(kind, plan, fitted.host()));
    let labels = owner::labels(uid);
    let setting = Setting { kind, image: &image.name, runtime, labels: &labels, bounds, mounts: &mounts };
    let request = request(plan, &setting);
    // Whatever must not stay is set aside, also where something fails from here on.
    let (container, attached) = Container::start(client, kind, &request, bounds, place)?;
    if let Some(signal) = lookout.interrupted() {
        return Err(LaunchError { failure: LaunchFailure::Interrupted(signal), remedy: None });
    }
    let mut voice = Voice::new(attached);
    let ear = voice.ear().map_err(|error| setup(error, None))?;
    let mounts: Vec<Mounted> = mounts.into_iter().map(|(mount, _)| mount).collect();
    is_as_asked(&mut voice, &ear, &mounts, &held, fitted, runtime)?;
    ear.say(Tag::Errand, &errand(fitted, image.env.as_deref()).to_bytes()).map_err(|error| setup(error, None))?;
    match answer(&mut voice)? {
        Frame { tag: Tag::Started, .. } => {}
        frame if frame.tag == Tag::NotStarted => {
            let errno = Errno(frame.number().unwrap_or_default());
            return Err(describe(SpawnError::NotStarted { errno }));
        }
        Frame { bytes, .. } => return Err(failed(&bytes)),
    }
    let run = ApartRun::new(container, voice, ear, stdio, kept).map_err(|error| setup(error, None))?;
    Ok(Box::new(run))
}

fn other(text: String, remedy: Option<&str>) -> LaunchError {
    setup(io::Error::other(text), remedy.map(str::to_owned))
}

/// Every mount with a path for the daemon, and what is held of the user's.
#[expect(clippy::type_complexity, reason = "two lists")]
fn gather(
    mounts: Vec<Mounted>,
    in_image: bool,
    place: &Place,
) -> Result<(Vec<(Mounted, Option<PathBuf>)>, Vec<Held>), LaunchError> {
    let fault = |error: io::Error| setup(error, None);
    let (mut all, mut held) = (Vec::new(), Vec::new());
    for (number, mount) in mounts.into_iter().enumerate() {
        let source = match &mount.from {
            From::Memory { .. } => None,
            From::Program => Some(own_program(place, in_image).map_err(|error| {
                let remedy = error.remedy();
                setup(error, remedy)
            })?),
            From::System(path) => Some(path.clone()),
            From::Written(content) => Some(place.write(number, content).map_err(fault)?),
            From::Hidden { directory } => {
                let (closed, unreadable) = place.hidden().map_err(fault)?;
                Some(if *directory { closed } else { unreadable })
            }
            From::Users(path) => {
                let located = polder_sys::locate(&c(path.as_os_str())).map_err(|errno| {
                    let remedy = "it is gone, or a part of it became a symbolic link; look at it and run again";
                    other(format!("cannot show `{}`: {errno}", path.display()), Some(remedy))
                })?;
                held.push(Held { at: mount.at.clone(), located });
                Some(place.name(path, number).map_err(fault)?)
            }
        };
        all.push((mount, source));
    }
    Ok((all, held))
}

/// Looks, through our program inside, at what the daemon and the runtime have made.
fn is_as_asked(
    voice: &mut Voice,
    ear: &Ear,
    mounts: &[Mounted],
    held: &[Held],
    fitted: &Fitted,
    runtime: &str,
) -> Result<(), LaunchError> {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).map_err(|error| setup(error, None));
    let (release, version) = (read("osrelease")?, read("version")?);
    let look = Look { paths: held.iter().map(|held| held.at.as_os_str().as_bytes().to_vec()).collect() };
    let identity = &fitted.plan().identity;
    let mut looks = 1;
    loop {
        ear.say(Tag::Look, &look.to_bytes()).map_err(|error| setup(error, None))?;
        let frame = answer(voice)?;
        if frame.tag != Tag::Seen {
            return Err(failed(&frame.bytes));
        }
        let seen = Seen::from_bytes(&frame.bytes).map_err(|error| setup(error, None))?;
        let files = held.iter().map(|held| Ok((held.at.as_path(), FileSeen::of(&held.located.metadata()?))));
        let files = files.collect::<io::Result<Vec<_>>>().map_err(|error| setup(error, None))?;
        let expected = Expected {
            kernel: (release.trim(), version.trim()),
            runtime,
            ids: (identity.uid, identity.gid),
            mounts,
            held: &files,
        };
        match judge(&seen, &expected) {
            Ok(()) => return Ok(()),
            // Somebody may work there at this moment.
            Err(Doubt::File(_)) if looks < LOOKS_MAX => {
                looks += 1;
                std::thread::sleep(BETWEEN);
            }
            Err(doubt) => {
                let remedy = "nothing was started; look at the configuration of the daemon and at the paths";
                return Err(setup(doubt, Some(remedy.to_owned())));
            }
        }
    }
}

/// The next word of our program inside.
fn answer(voice: &mut Voice) -> Result<Frame, LaunchError> {
    match voice.answer(PATIENCE) {
        Ok(Some(frame)) => Ok(frame),
        Ok(None) => Err(other(format!("the container ended before the run{}", complaint(voice)), None)),
        Err(error) => Err(other(format!("nothing is heard from the container: {error}{}", complaint(voice)), None)),
    }
}

fn complaint(voice: &Voice) -> String {
    let said = voice.complaint();
    if said.is_empty() { said } else { format!(": {said}") }
}

fn failed(text: &[u8]) -> LaunchError {
    let text: String = String::from_utf8_lossy(text).chars().take(300).filter(|c| !c.is_control()).collect();
    other(format!("the container failed before the command: {text}"), None)
}
