//! What the attacks on the next run share: a plan that has to be made in time.

use crate::stage::Stage;
use polder::Sandbox;
use std::sync::mpsc;
use std::time::Duration;

/// More than any plan takes.
const PLAN_TIME_MAX: Duration = Duration::from_secs(20);

/// Plans the next run in this workspace, as the command line does, and says whether that ends.
pub(super) fn plans_in_time(stage: &Stage) -> Result<(), String> {
    let (done, wait) = mpsc::channel();
    let sandbox = Sandbox::in_directory(&stage.workspace).environment(stage.environment.clone()).with_configuration();
    std::thread::spawn(move || {
        // A refusal is as good as a plan; only silence is not.
        let _ = sandbox.plan(["true"]);
        let _ = done.send(());
    });
    wait.recv_timeout(PLAN_TIME_MAX).map_err(|_| "the next run waits for ever".to_owned())
}
