//! Building the static binary and running it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every verb gives back: an exit code, or what went wrong.
pub(crate) type Outcome = Result<u8, String>;

/// Where the workspace lies.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// Runs a command to its end; anything but success is an error that names it.
pub(crate) fn call(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown} ended with {status}")),
        Err(error) => Err(format!("cannot start {shown}: {error}")),
    }
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Builds polder as a static binary, optimised, and says where it is.
pub(crate) fn build() -> Result<PathBuf, String> {
    build_static(&["--package", "polder-cli"]).map(|release| release.join("polder"))
}

/// The same for an example of a package.
pub(crate) fn build_example(package: &str, name: &str) -> Result<PathBuf, String> {
    build_static(&["--package", package, "--example", name]).map(|release| release.join("examples").join(name))
}

/// The same program with the names of its functions. Only the last step of the build differs: the names have a part that
/// depends on how everything below was built.
pub(crate) fn build_with_names() -> Result<PathBuf, String> {
    let release = cargo_static("rustc", &["--package", "polder-cli", "--bin", "polder", "--", "-C", "strip=none"])?;
    Ok(release.join("polder"))
}

/// Builds a tool that is an example of a package, for this machine, and says where it is.
pub(crate) fn build_tool(package: &str, name: &str) -> Result<PathBuf, String> {
    call(Command::new("cargo").current_dir(root()).args(["build", "--package", package, "--example", name]))?;
    Ok(target_directory().join("debug/examples").join(name))
}

/// Builds something static, and says where such things are.
fn build_static(what: &[&str]) -> Result<PathBuf, String> {
    cargo_static("build", what)
}

fn cargo_static(verb: &str, what: &[&str]) -> Result<PathBuf, String> {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    install_target(&target)?;
    let mut cargo = Command::new("cargo");
    // Not quiet: minutes without a word look like a hang. Cargo shows a bar on a terminal and lines elsewhere, on stderr.
    cargo.current_dir(root()).args([verb, "--release", "--target", &target]).args(what);
    // The few lines of C in the build need no C library, so the system's own compiler does where there is none for musl.
    let compiler = format!("CC_{}", target.replace('-', "_"));
    if std::env::var_os(&compiler).is_none() && !is_on_path("musl-gcc") {
        cargo.env(compiler, "cc");
    }
    call(&mut cargo)?;
    Ok(target_directory().join(target).join("release"))
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// The target's standard library, if the tool chain has none: where rustup does not install by itself, it is asked to.
fn install_target(target: &str) -> Result<(), String> {
    let printed = Command::new("rustc")
        .current_dir(root())
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .map_err(|error| format!("cannot start rustc: {error}"))?;
    if Path::new(String::from_utf8_lossy(&printed.stdout).trim()).is_dir() {
        return Ok(());
    }
    call(Command::new("rustup").current_dir(root()).args(["target", "add", target]).stdout(std::io::stderr()))
}

/// `cargo xtask run -- COMMAND`: the main job.
pub(crate) fn polder(args: &[String]) -> Outcome {
    let binary = build()?;
    let status = Command::new(binary).arg("run").args(args).status().map_err(|error| error.to_string())?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(125))
}

/// Copies a file to where others can reach it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<PathBuf, String> {
    fs::copy(from, to).map_err(|error| format!("cannot copy {}: {error}", from.display()))?;
    Ok(to.to_owned())
}
