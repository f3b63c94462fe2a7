//! The command writes the file from which the next run takes its rules.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Decides};
use crate::field::Field;
use polder::Sandbox;

pub(crate) const ATTACK: Attack = Attack {
    id: "T025a",
    name: "a_written_configuration_does_not_weaken_the_next_run",
    holds: "a configuration that the command wrote gives the next run no more files, variables or rights",
    bait: |stage| {
        stage.repository()?;
        stage.file("home/.ssh/id", "secret")?;
        stage.environment.insert("HOST_SECRET".into(), "secret".into());
        Ok(())
    },
    attempt,
    decides: Decides::JudgeAlone,
    judge: |stage, finished| {
        if finished.outcome.exit_code() != 0 {
            return Err(format!("no answer from inside: {:?}", finished.outcome.ending));
        }
        for name in ["unprotect", "bind", "env", "accept", "none"] {
            std::fs::copy(stage.workspace.join(name), stage.workspace.join("polder.yaml"))
                .map_err(|e| e.to_string())?;
            let script = "echo x > .git/hooks/pre-commit; cat /h/.ssh/id; echo $HOST_SECRET";
            let next = Sandbox::in_directory(&stage.workspace)
                .environment(stage.environment.clone())
                .with_configuration()
                .timeout("5s")
                .plan(["sh", "-c", script])
                .and_then(polder::Planned::run);
            stage.must_not_exist("ws/.git/hooks/pre-commit").map_err(|error| format!("{name}: {error}"))?;
            if next.is_ok_and(|next| String::from_utf8_lossy(&next.stdout).contains("secret")) {
                return Err(format!("{name}: the next run printed a secret"));
            }
        }
        Ok(())
    },
    ..Attack::PLAIN
};

fn attempt(field: &Field) -> Answer {
    let home = field.home("").display().to_string();
    let texts = [
        ("unprotect", "sandboxes: {a: {protect: []}}\nsandbox: a\n".to_owned()),
        ("bind", format!("sandboxes: {{a: {{bind_paths: [{{host: {home}, container: /h}}]}}}}\nsandbox: a\n")),
        ("env", "sandboxes: {a: {env_passthrough: [HOST_SECRET]}}\nsandbox: a\n".to_owned()),
        ("accept", "sandboxes: {a: {accept: [protect, fs, syscalls, privileges]}}\nsandbox: a\n".to_owned()),
        ("none", "sandboxes: {a: {engine: none}}\nsandbox: a\n".to_owned()),
    ];
    Answer::all(field, texts.map(|(name, text)| Answer::of(name, std::fs::write(field.workspace(name), text), DENIED)))
}
