//! Measuring, always side by side: every figure is a ratio of interleaved rounds, because the machine's own speed
//! swings from minute to minute.

mod engines;
mod sessions;
mod start;
mod streams;
mod table;
mod turns;
mod work;
mod workspace;

use crate::daemons::{Daemons, Whose};
use crate::machine::{self, Shared};
use crate::run::{self, Outcome, copy, root};
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) fn bench(args: &[String]) -> Outcome {
    let keep = args.iter().any(|arg| arg == "--write");
    let rounds = args.iter().find_map(|arg| arg.strip_prefix("--rounds=")?.parse().ok());
    let engines = args.iter().any(|arg| arg == "--engines");
    match args.first().map(String::as_str) {
        Some("start") if engines => measure("engines", rounds.unwrap_or(300), keep),
        Some("start") => measure("start", rounds.unwrap_or(300), keep),
        Some("work") => measure("work", rounds.unwrap_or(30), keep),
        Some("workspace") => measure("workspace", rounds.unwrap_or(100), keep),
        Some("streams") => measure("streams", rounds.unwrap_or(20), keep),
        // The second half, in the directory and as the user that the first half chose.
        Some("start-here") => here(args, start::measure),
        Some("engines-here") => here(args, engines::measure),
        Some("work-here") => here(args, work::measure),
        Some("workspace-here") => here(args, workspace::measure),
        Some("streams-here") => here(args, streams::measure),
        _ => Err("bench start [--engines]|work|workspace|streams [--rounds=N] [--write]".to_owned()),
    }
}

fn here(args: &[String], measure: fn(&Path, &Path, usize) -> Result<String, String>) -> Outcome {
    let [_, polder, directory, rounds] = args else { return Err("three arguments are needed".to_owned()) };
    let rounds = rounds.parse().map_err(|_| "the third argument is a number")?;
    print!("{}", measure(Path::new(polder), Path::new(directory), rounds)?);
    Ok(0)
}

/// Measures as the caller and, where that is root, once more as an ordinary user.
fn measure(what: &str, rounds: usize, keep: bool) -> Outcome {
    machine::install_packages()?;
    let shared = Shared::new()?;
    let polder = copy(&run::build()?, &shared.path().join("polder"))?;
    // Containers are measured where daemons can be started for it.
    let daemons = if what == "engines" && machine::is_root() {
        copy(&run::build_example("polder", sessions::PROGRAM)?, &shared.path().join(sessions::PROGRAM))?;
        Some(Daemons::start()?)
    } else {
        None
    };
    if IN_MEMORY.contains(&what) {
        copy(&run::build_example("polder-sys", work::FLOOR)?, &shared.path().join(work::FLOOR))?;
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let own = copy(&own, &shared.path().join("xtask"))?;
    let mut text = heading(what, rounds);
    let mut users = vec![("root", false)];
    if machine::is_root() {
        machine::make_user()?;
        users.push(("an ordinary user", true));
    } else {
        users[0].0 = "an ordinary user";
    }
    for (name, change) in users {
        let directory = shared.path().join(if change { "user" } else { "caller" });
        fs::create_dir(&directory).map_err(|error| error.to_string())?;
        if change {
            run::call(Command::new("chown").arg(machine::USER).arg(&directory))?;
        }
        let whose = if change { Whose::OrdinaryUser } else { Whose::Root };
        let told = daemons.as_ref().map_or_else(Vec::new, |daemons| daemons.environment(whose));
        let mut command = if change { machine::as_user(Path::new("env")) } else { Command::new("env") };
        command.args(told.into_iter().map(|(name, value)| format!("{name}={value}"))).arg(&own);
        command.args(["bench", &format!("{what}-here")]).arg(&polder).arg(&directory).arg(rounds.to_string());
        if IN_MEMORY.contains(&what) && machine::is_root() {
            command = in_memory(&directory, change, &command);
        }
        eprintln!("measuring as {name}");
        let output = command.stderr(std::process::Stdio::inherit()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("measuring as {name} failed"));
        }
        text.push_str(&format!("\n## As {name}\n\n{}", String::from_utf8_lossy(&output.stdout)));
    }
    print!("{text}");
    if keep {
        let path = root().join(format!("docs/bench/{what}.md"));
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(0)
}

/// What is measured on a disk in memory, with the file system that most people have: a real disk would hide what a sandbox
/// costs behind its own swings, which are tens of seconds for the same 20,000 files here.
const IN_MEMORY: [&str; 2] = ["work", "workspace"];

/// The command with an ext4 in memory below its directory, in a mount namespace that goes away with it.
fn in_memory(directory: &Path, for_user: bool, command: &Command) -> Command {
    let owner = if for_user { machine::USER } else { "root" };
    let mount = "mkdir \"$1/disk\" \"$1/memory\" && mount -t tmpfs -o size=80% polder-bench \"$1/disk\" \
                 && truncate -s 6G \"$1/disk/image\" \
                 && mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 \"$1/disk/image\" \
                 && mount -o loop \"$1/disk/image\" \"$1/memory\" && chown \"$2\" \"$1/memory\" && shift 2 && exec \"$@\"";
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "--propagation", "private", "sh", "-c", mount, "sh"]).arg(directory).arg(owner);
    inside.arg(command.get_program()).args(command.get_args());
    inside
}

/// Where a measurement works: in memory, if that is there, and the directory itself otherwise.
fn ground(directory: &Path) -> std::path::PathBuf {
    let memory = directory.join("memory");
    if memory.is_dir() { memory } else { directory.to_owned() }
}

/// What was measured, when and on what kind of machine.
fn heading(what: &str, rounds: usize) -> String {
    let read = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let date = Command::new("date").arg("+%Y-%m-%d").output();
    let date = date.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let cpu_info = read("/proc/cpuinfo");
    let model = cpu_info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|pair| pair.1));
    format!(
        "# bench {what}\n\n{date}, {rounds} interleaved rounds, Linux {}, {cpus} CPUs ({})\n",
        read("/proc/sys/kernel/osrelease"),
        model.unwrap_or("unknown")
    )
}
