//! A run without network must not be able to give the next run one.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Sandbox;
use std::net::TcpListener;

pub(crate) const ATTACK: Attack = Attack {
    id: "T025b",
    name: "a_written_configuration_does_not_open_the_network",
    holds: "a configuration that the command wrote does not give the next run the host's network",
    bait: |stage| {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        stage.tell("port", listener.local_addr()?.port());
        stage.hold(listener);
        Ok(())
    },
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.exit_code() != 0 {
            return Err(format!("no answer from inside: {:?}", finished.outcome.ending));
        }
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{} && echo reached", stage.word("port"));
        let open = Sandbox::in_directory(&stage.workspace).environment(stage.environment.clone()).network("full");
        let seen = open.plan(["bash", "-c", &script]).and_then(polder::Planned::run);
        assert!(seen.is_ok_and(|seen| seen.stdout == b"reached\n"), "with the host's network the port can be reached");
        for name in ["polder.yaml", ".visor.yaml"] {
            let other = if name == "polder.yaml" { ".visor.yaml" } else { "polder.yaml" };
            let aside = stage.root.join("aside");
            // What the engine did not let the command write is not there to be moved away.
            let there = stage.workspace.join(other).exists();
            if there {
                std::fs::rename(stage.workspace.join(other), &aside).map_err(|error| error.to_string())?;
            }
            let next = Sandbox::in_directory(&stage.workspace)
                .environment(stage.environment.clone())
                .with_configuration()
                .timeout("5s")
                .plan(["bash", "-c", &script])
                .and_then(polder::Planned::run);
            if there {
                std::fs::rename(&aside, stage.workspace.join(other)).map_err(|error| error.to_string())?;
            }
            if next.is_ok_and(|next| next.stdout == b"reached\n") {
                return Err(format!("the next run had the host's network by a `{name}` that the command wrote"));
            }
        }
        Ok(())
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let text = "sandboxes: {a: {network: true}}\nsandbox: a\n";
    let write = |name: &str| Answer::of(name, std::fs::write(field.workspace(name), text), DENIED);
    Answer::all(field, [write("polder.yaml"), write(".visor.yaml")])
}
