//! Another sandbox inside this one would come with capabilities.

use crate::answer::Answer;
use crate::attack::Attack;
use std::process::{Command, Stdio};

pub(crate) const ATTACK: Attack = Attack {
    id: "T036c",
    name: "a_sandbox_tool_gains_nothing_inside",
    holds: "unshare(1) cannot make a user namespace inside",
    attempt: |_| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "true"]).stdin(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Answer::Reached("unshare --user --mount".to_owned()),
            Ok(status) => Answer::Blocked(format!("unshare ended with {status}")),
            Err(error) => Answer::Lacking(format!("unshare(1): {error}")),
        }
    },
    ..Attack::PLAIN
};
