//! A command may make a repository where there was none. What git on the host would obey in it goes away while the
//! command still runs, however it was written.

use crate::answer::Answer;
use crate::attack::Attack;
use crate::field::Field;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const ATTACK: Attack = Attack {
    id: "T018r",
    name: "a_new_repository_keeps_nothing_that_git_obeys",
    holds: "hooks, pointers and keys that name a program leave a new repository while the command runs",
    attempt,
    judge: |stage, _| {
        let config = fs::read_to_string(stage.workspace.join(".git/config")).unwrap_or_default();
        if config.contains("fsmonitor") {
            return Err(format!("git would obey {config:?}"));
        }
        stage.must_not_exist("ws/.git/hooks/post-checkout")?;
        stage.must_not_exist("ws/.git/commondir")
    },
    ..Attack::PLAIN
};

/// How long something may stay; a machine is busy at times.
const ANSWER_MAX: Duration = Duration::from_secs(20);

const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
const EVIL: &str = "[core]\n\tfsmonitor = touch /tmp/x\n";

/// Makes a file that git would obey.
type MakeObeyed<'a> = &'a dyn Fn() -> std::io::Result<()>;

fn attempt(field: &Field) -> Answer {
    let git = field.workspace(".git");
    let made = || {
        for directory in ["objects", "refs/heads", "hooks"] {
            fs::create_dir_all(git.join(directory))?;
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(git.join("config"), PLAIN)
    };
    if let Err(error) = made() {
        return Answer::Broken(format!("cannot make a repository: {error}"));
    }
    let has = |name: &str, text: &str| fs::read_to_string(git.join(name)).is_ok_and(|found| found.contains(text));
    let ways: [(&str, &str, MakeObeyed<'_>); 5] = [
        ("config", "fsmonitor", &|| {
            OpenOptions::new().append(true).open(git.join("config"))?.write_all(EVIL.as_bytes())
        }),
        ("config", "fsmonitor", &|| {
            fs::write(git.join("config.lock"), format!("{PLAIN}{EVIL}"))?;
            fs::rename(git.join("config.lock"), git.join("config"))
        }),
        // By another hard link there is no event in the directory.
        ("config", "fsmonitor", &|| {
            let other = field.workspace("other");
            fs::hard_link(git.join("config"), &other)?;
            OpenOptions::new().append(true).open(other)?.write_all(EVIL.as_bytes())
        }),
        ("hooks/post-checkout", "true", &|| fs::write(git.join("hooks/post-checkout"), "#!/bin/sh\ntrue\n")),
        ("commondir", "elsewhere", &|| fs::write(git.join("commondir"), "../elsewhere\n")),
    ];
    let mut answers = Vec::new();
    for (index, (name, text, make)) in ways.into_iter().enumerate() {
        if let Err(error) = make() {
            return Answer::Broken(format!("{name}, way {index}: {error}"));
        }
        let until = Instant::now() + ANSWER_MAX;
        while !field.is_control() && has(name, text) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let stays = has(name, text);
        answers.push(match stays {
            true => Answer::Reached(format!("{name}, way {index}: it stays")),
            false => Answer::Blocked(format!("{name}, way {index}: it is gone")),
        });
        if stays && !field.is_control() {
            break;
        }
        if field.is_control() {
            let _ = fs::remove_file(Path::new(&field.workspace("other")));
        }
    }
    Answer::all(field, answers)
}
