//! More commands in a container that runs.

use super::client::{Client, Method, Sent, json};
use super::deadline::Deadline;
use super::error::ApiError;
use super::names::ObjectName;
use super::stream::Attached;
use super::target::Target;
use serde::{Deserialize, Serialize};

/// How such a command is doing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExecState {
    pub(crate) running: bool,
    /// Known when it does not run.
    pub(crate) exit_code: Option<i64>,
    /// Its process as the daemon sees it, or 0.
    #[serde(default)]
    pub(crate) pid: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MadeWire {
    id: String,
}

impl Client {
    /// Prepares a command from a description in the daemon's own form.
    pub(crate) fn create_exec(
        &self,
        container: &ObjectName,
        description: &impl Serialize,
        deadline: Deadline,
    ) -> Result<ObjectName, ApiError> {
        let target = Target::object("/containers", container, "/exec");
        let made: MadeWire = self.value(Method::Post, &target, json(description), deadline)?;
        let garbled =
            |_| ApiError::Garbled { doing: "POST /containers/…/exec".to_owned(), what: "an id that is none" };
        made.id.parse().map_err(garbled)
    }

    /// Starts it, with its streams. The deadline is for starting it.
    pub(crate) fn start_exec(&self, exec: &ObjectName, deadline: Deadline) -> Result<Attached, ApiError> {
        let body = br#"{"Detach":false,"Tty":false}"#.to_vec();
        self.attach(&Target::object("/exec", exec, "/start"), body, deadline)
    }

    /// Starts it without streams of ours.
    pub(crate) fn start_exec_detached(&self, exec: &ObjectName, deadline: Deadline) -> Result<(), ApiError> {
        let body = br#"{"Detach":true,"Tty":false}"#.to_vec();
        self.done(Method::Post, &Target::object("/exec", exec, "/start"), Sent::Json(body), deadline)
    }

    /// How it is doing.
    pub(crate) fn inspect_exec(&self, exec: &ObjectName, deadline: Deadline) -> Result<ExecState, ApiError> {
        self.ask(&Target::object("/exec", exec, "/json"), deadline)
    }
}
