//! The workspace has the path inside that it has outside, so what programs write down of it holds on both sides.
#![forbid(unsafe_code)]

use polder_e2e::{Place, Said};

const ENGINES: [&str; 2] = ["native", "bubblewrap"];

fn run(place: &Place, engine: &str, script: &str) -> Said {
    place.says(&["run", "--engine", engine, "--", "sh", "-c", script])
}

fn fine(said: Said) -> String {
    assert_eq!(said.code, 0, "{said:?}");
    said.out
}

/// A workspace below the home directory, as most are.
fn project(place: &Place) -> String {
    let project = place.home().join("src/project");
    std::fs::create_dir_all(&project).expect("a directory");
    project.display().to_string()
}

#[test]
fn virtual_environment_made_on_one_side_works_on_the_other() {
    for engine in ENGINES {
        let place = Place::new();
        let (work, tool) = (place.work().display().to_string(), "#!$PWD/$1/bin/python\nimport sys\nprint(sys.prefix)");
        let make = |name: &str| {
            // As `pip install` writes scripts: with the path of the environment's own interpreter.
            format!(
                "set -- {name}; python3 -m venv --without-pip $1 && echo \"{tool}\" >$1/bin/tool && chmod +x $1/bin/tool"
            )
        };
        fine(place.sh(&make("outside")));
        assert_eq!(fine(run(&place, engine, "outside/bin/tool")), format!("{work}/outside\n"), "{engine}");
        fine(run(&place, engine, &make("inside")));
        assert_eq!(fine(place.sh("inside/bin/tool")), format!("{work}/inside\n"), "{engine}");
        // Elsewhere, the interpreter that the script names is missing.
        let moved = place.says(&["run", "--engine", engine, "--workdir", "/workspace", "--", "outside/bin/tool"]);
        assert_ne!(moved.code, 0, "the control: {moved:?}");
    }
}

#[test]
fn git_worktree_added_inside_is_one_outside() {
    for engine in ENGINES {
        let place = Place::new();
        let (work, git) = (place.work().display().to_string(), "git -c user.name=a -c user.email=a@b");
        fine(place.sh(&format!("git init -q -b main . && {git} commit -q --allow-empty -m first")));
        fine(run(&place, engine, "git worktree add -q side"));
        assert_eq!(place.read("work/side/.git"), format!("gitdir: {work}/.git/worktrees/side\n"), "{engine}");
        let listed =
            fine(place.sh("git worktree list --porcelain | grep ^worktree; git -C side branch --show-current"));
        assert_eq!(listed, format!("worktree {work}\nworktree {work}/side\nside\n"), "{engine}");
    }
}

#[test]
fn directory_below_the_home_keeps_its_name_and_the_home_is_private() {
    for engine in ENGINES {
        let place = Place::new();
        let project = project(&place);
        place.write("home/.ssh/key", "secret");
        place.write("home/src/other/file", "secret");
        let script = "basename \"$PWD\"; pwd -P; ls -A ~ ..; echo x >~/new; echo x >made; cd ~ && pwd";
        let said = place.says(&["run", "--engine", engine, "-C", &project, "--", "sh", "-c", script]);
        let home = place.home().display().to_string();
        let seen = format!("project\n{project}\n..:\nproject\n\n{home}:\nsrc\n{home}\n");
        assert_eq!((said.code, said.out), (0, seen), "{engine}: {}", said.err);
        assert!(place.has("home/src/project/made") && !place.has("home/new"), "{engine}");
    }
}

#[test]
fn directory_in_a_place_of_the_sandbox_is_refused_with_the_remedy() {
    let place = Place::new();
    let shm = format!("/dev/shm/polder-e2e-{}", std::process::id());
    std::fs::create_dir(&shm).expect("a directory");
    let refused = place.says(&["run", "-C", &shm, "--", "touch", "made"]);
    let moved = place.says(&["run", "-C", &shm, "--workdir", "/workspace", "--", "touch", "made"]);
    let made = std::fs::remove_file(format!("{shm}/made"));
    std::fs::remove_dir_all(&shm).expect("the directory");
    assert_eq!(refused.code, 125, "{refused:?}");
    assert!(refused.err.contains(&format!("`{shm}` inside belongs to the sandbox itself")), "{refused:?}");
    assert!(refused.err.contains("--workdir /workspace"), "{refused:?}");
    assert!(moved.code == 0 && made.is_ok(), "the remedy works: {moved:?}");
}
