//! `cargo xtask real`: the suites of real programs, outside and inside, as root and as an ordinary user.
//!
//! Everything lies in one directory, which is removed when the table is printed. A call that was interrupted leaves it, and
//! the next one goes on with the piece at which it stopped. A difference that `docs/compatibility.md` does not name fails.

mod results;
mod suites;

use crate::machine::{self, USER};
use crate::run::{self, Outcome, call, copy, root};
use results::{Results, read};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use suites::{SUITES, Suite};

/// Where everything lies; below `/tmp` it would be hidden inside.
const BASE: &str = "/var/tmp/polder-real";
/// The longest time for one piece of a suite, by timeout(1); a busy machine needs minutes for what takes seconds.
const PIECE_SECONDS_MAX: u32 = 300;

/// Who runs a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Root,
    OrdinaryUser,
}

impl Who {
    const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::OrdinaryUser => "user",
        }
    }
}

/// Where a suite runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Outside,
    Inside,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Inside => "inside",
        }
    }
}

/// `cargo xtask real [SUITE…] [root|user] [--keep]`.
pub(crate) fn real(args: &[String]) -> Outcome {
    if !machine::is_root() {
        return Err("only root can run the suites as root and as another user".to_owned());
    }
    let named = |name: &str| args.iter().any(|arg| arg == name);
    let known = |arg: &&String| {
        SUITES.iter().any(|suite| suite.name == **arg) || ["root", "user", "--keep"].contains(&arg.as_str())
    };
    if let Some(unknown) = args.iter().find(|arg| !known(arg)) {
        let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
        return Err(format!("there is no suite `{unknown}`: {}, root, user", names.join(", ")));
    }
    let whos = [Who::Root, Who::OrdinaryUser]
        .into_iter()
        .filter(|who| named(who.name()) || (!named("root") && !named("user")));
    let whos: Vec<Who> = whos.collect();
    let chosen: Vec<&Suite> = SUITES.iter().filter(|suite| named(suite.name)).collect();
    let chosen = if chosen.is_empty() { SUITES.iter().collect() } else { chosen };
    machine::make_user()?;
    let base = Path::new(BASE);
    fs::create_dir_all(base).map_err(|error| format!("cannot make {BASE}: {error}"))?;
    let built = match std::env::var_os("POLDER_TEST_BIN") {
        Some(named) => PathBuf::from(named),
        None => run::build()?,
    };
    // By rename: an earlier one may be running.
    let (polder, copied) = (base.join("polder"), copy(&built, &base.join("polder.new"))?);
    fs::rename(&copied, &polder).map_err(|error| error.to_string())?;
    let explained = fs::read_to_string(root().join("docs/compatibility.md")).unwrap_or_default();
    let mut rows = Vec::new();
    let mut differences = Vec::new();
    for suite in chosen {
        let sources = prepare(suite, base)?;
        for who in &whos {
            let tree = base.join(who.name()).join(suite.name);
            let pieces = pieces(suite, &sources, &tree, *who)?;
            let mut found: BTreeMap<&str, Results> = BTreeMap::new();
            for side in [Side::Outside, Side::Inside] {
                let mut all = Results::new();
                for piece in &pieces {
                    all.append(&mut piece_results(suite, piece, &tree, *who, side, &polder)?);
                }
                found.insert(side.name(), all);
            }
            let (outside, inside) = (&found["outside"], &found["inside"]);
            let only = results::inside_only(outside, inside);
            rows.push((suite.name, who.name(), results::passed(outside), results::passed(inside), only.len()));
            differences.extend(only.into_iter().map(|(test, how)| (suite.name, who.name(), test, how)));
        }
    }
    println!("{:<10}{:<6}{:>16}{:>15}{:>13}", "SUITE", "AS", "OUTSIDE PASSED", "INSIDE PASSED", "INSIDE ONLY");
    for (suite, who, outside, inside, only) in rows {
        println!("{suite:<10}{who:<6}{outside:>16}{inside:>15}{only:>13}");
    }
    let mut unexplained = 0;
    for (suite, who, test, how) in &differences {
        let known = results::is_explained(&explained, suite, test);
        unexplained += usize::from(!known);
        println!("{} {suite} as {who}: {test}: {how} inside", if known { "known" } else { "NEW  " });
    }
    if named("--keep") {
        println!("what the suites printed is in {BASE}/results");
    } else {
        fs::remove_dir_all(base).map_err(|error| format!("cannot remove {BASE}: {error}"))?;
    }
    if unexplained == 0 { Ok(0) } else { Err(format!("{unexplained} differences are not in docs/compatibility.md")) }
}

/// The sources of a suite, fetched and built once.
fn prepare(suite: &Suite, base: &Path) -> Result<PathBuf, String> {
    let (ready, making) = (base.join("sources").join(suite.name), base.join("making").join(suite.name));
    if ready.is_dir() {
        return Ok(ready);
    }
    println!("== {}: fetch and build", suite.name);
    if !suite.packages.is_empty() {
        let mut install = Command::new("apt-get");
        call(install.args(["install", "--yes", "--no-install-recommends"]).args(suite.packages).stdout(Stdio::null()))?;
    }
    let _ = fs::remove_dir_all(&making);
    fs::create_dir_all(&making).map_err(|error| error.to_string())?;
    call(Command::new("sh").args(["-euc", suite.prepare]).current_dir(&making).stdout(Stdio::null()))?;
    fs::create_dir_all(base.join("sources")).map_err(|error| error.to_string())?;
    fs::rename(&making, &ready).map_err(|error| error.to_string())?;
    Ok(ready)
}

/// A copy of the sources that belongs to who runs them, and the pieces of the suite in it.
fn pieces(suite: &Suite, sources: &Path, tree: &Path, who: Who) -> Result<Vec<String>, String> {
    if !tree.is_dir() {
        let parent = tree.parent().unwrap_or(tree);
        let copying = parent.join(format!("{}.copying", suite.name));
        let _ = fs::remove_dir_all(&copying);
        fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        call(Command::new("cp").arg("--archive").args([sources, &copying]))?;
        if who == Who::OrdinaryUser {
            call(Command::new("chown").args(["--recursive", &format!("{USER}:{USER}")]).args([parent]))?;
        }
        fs::rename(&copying, tree).map_err(|error| error.to_string())?;
        let made = Path::new(BASE).join("making").join(suite.name);
        call(Command::new("sh").args(["-euc", suite.adopt, "sh"]).arg(made).current_dir(tree))?;
    }
    let listed = Command::new("sh").args(["-euc", suite.pieces]).current_dir(tree).output();
    let listed = listed.map_err(|error| format!("cannot list the pieces of {}: {error}", suite.name))?;
    let pieces: Vec<String> = String::from_utf8_lossy(&listed.stdout).split_whitespace().map(str::to_owned).collect();
    if pieces.is_empty() { Err(format!("{} has no pieces", suite.name)) } else { Ok(pieces) }
}

/// The results of one piece; run now, unless an earlier call has done so.
fn piece_results(
    suite: &Suite,
    piece: &str,
    tree: &Path,
    who: Who,
    side: Side,
    polder: &Path,
) -> Result<Results, String> {
    let kept = Path::new(BASE).join("results").join(format!("{}.{}.{}", suite.name, who.name(), side.name()));
    fs::create_dir_all(&kept).map_err(|error| error.to_string())?;
    let (done, running) = (kept.join(piece), kept.join(format!("{piece}.running")));
    if !done.is_file() {
        println!("== {} as {} {}: {piece}", suite.name, who.name(), side.name());
        let open = |path: &Path| File::create(path).map_err(|error| error.to_string());
        let mut command = match who {
            Who::Root => Command::new("env"),
            Who::OrdinaryUser => machine::as_user(Path::new("env")),
        };
        command.current_dir(tree).args(["timeout", "--kill-after=10"]).arg(PIECE_SECONDS_MAX.to_string());
        if side == Side::Inside {
            command.arg(polder).args(["run", "--workdir", "host", "--"]);
        }
        command.args(["sh", "-c", suite.run, "sh", piece]).stdin(Stdio::null());
        // A suite that fails ends with a failure; only its results count.
        command
            .stdout(open(&running)?)
            .stderr(open(&kept.join(format!("{piece}.stderr")))?)
            .status()
            .map_err(|error| format!("cannot start {piece}: {error}"))?;
        fs::rename(&running, &done).map_err(|error| error.to_string())?;
    }
    let text = fs::read(&done).map_err(|error| error.to_string())?;
    Ok(read(suite.format, piece, &String::from_utf8_lossy(&text)))
}
