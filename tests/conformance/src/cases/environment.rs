//! Which variables enter.

use crate::scene::{Scene, daemons};
use std::ffi::OsString;

fn with(scene: &Scene, more: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let mut environment = scene.environment();
    environment.extend(more.iter().map(|(name, value)| ((*name).into(), (*value).into())));
    environment
}

pub(super) fn only_listed_variables_enter(scene: &Scene) {
    let sandbox = scene.sandbox().environment(with(
        scene,
        &[("SECRET_TOKEN", "s3cret"), ("CI", "true"), ("NODE_ENV", "test"), ("LD_PRELOAD", ""), ("PATHS", "x")],
    ));
    // `env` itself, without a shell that would add its own.
    let finished = scene.run(&sandbox, &["env"]);
    let seen = String::from_utf8(finished.stdout).expect("text");
    // What polder says to GNU tar where the command is uid 0 is not the host's.
    let lines = seen.lines().filter(|line| *line != "TAR_OPTIONS=--no-same-owner");
    let mut names: Vec<&str> = lines.filter_map(|line| line.split('=').next()).collect();
    // By these polder hands in who the user is for git, and nothing of the host's own.
    names.retain(|name| !name.starts_with("GIT_CONFIG_"));
    names.sort_unstable();
    assert_eq!(names, ["CI", "HOME", "LANG", "NODE_ENV", "PATH", "USER"], "{seen}");
}

pub(super) fn variables_are_passed_and_set(scene: &Scene) {
    let sandbox = scene.sandbox().environment(with(scene, &[("PASSED", "from host"), ("NOT", "x")]));
    let sandbox = sandbox.env("PASSED").env("SET=a=b c\nd").env("EMPTY=").env("MISSING");
    let finished =
        scene.run(&sandbox, &["sh", "-c", "echo \"$PASSED|$SET|${EMPTY-unset}|${MISSING-unset}|${NOT-unset}\""]);
    assert_eq!(String::from_utf8_lossy(&finished.stdout), "from host|a=b c\nd||unset|unset\n");
}

pub(super) fn variables_that_load_code_pass_by_exact_name_only(scene: &Scene) {
    let environment = with(scene, &[("LD_LIBRARY_PATH", "/x"), ("PYTHONPATH", "/y"), ("MINE", "1")]);
    let sandbox = scene.configured("{env_passthrough: ['*', PYTHONPATH]}").environment(environment);
    let seen = scene.says(&sandbox, "echo ${LD_LIBRARY_PATH-unset} ${PYTHONPATH-unset} ${MINE-unset}");
    assert_eq!(seen, "unset /y 1\n");
}

pub(super) fn path_is_cut_to_what_exists(scene: &Scene) {
    let path = format!("{}/bin:/nowhere:relative:/usr/bin::/bin", scene.home().display());
    let mut environment = vec![("PATH".into(), path.into()), ("HOME".into(), scene.home().into())];
    environment.extend(daemons());
    let finished = scene.run(&scene.sandbox().environment(environment), &["/usr/bin/env"]);
    let seen = String::from_utf8_lossy(&finished.stdout).into_owned();
    // A relative entry stands on the workspace, where the command starts; the host's own files know no other place.
    let relative = format!("PATH={}:/usr/bin:/bin", scene.inside().join("relative").display());
    let is_cut = |line: &str| line == relative || (!scene.has_made_world() && line == "PATH=/usr/bin:/bin");
    assert!(seen.lines().any(is_cut), "{seen}");
    // Without any PATH, programs are found all the same.
    let mut environment = vec![("HOME".into(), scene.home().into())];
    environment.extend(daemons());
    assert!(scene.run(&scene.sandbox().environment(environment), &["true"]).outcome.success());
}

pub(super) fn the_environment_of_the_first_process_tells_nothing(scene: &Scene) {
    // The sandbox was started by this process, which knows more than the command may.
    let script = "cat /proc/[0-9]*/environ /proc/*/task/*/environ 2>/dev/null | tr '\\0' '\\n'";
    let aide = crate::aide::command(scene.engine(), &scene.work(), &["sh", "-c", script]);
    let mut command = std::process::Command::new(aide.get_program());
    command.args(aide.get_args()).env_clear().envs(scene.environment()).env("POLDER_TEST_SECRET", "s3cret");
    let output = command.output().expect("an aide");
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(seen.contains("PATH=") && !seen.contains("s3cret"), "{output:?}");
}
