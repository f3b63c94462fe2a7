use super::*;
use crate::graph::tests::step;
use expect_test::expect;

fn here(text: &str) -> Option<Sourced<String>> {
    Some(Sourced::new(text.to_owned(), Origin::File { path: "/repo/polder.yaml".into(), line: 7 }))
}

fn faults(steps: &[Step]) -> String {
    let graph = Graph::of(steps, &[]).unwrap();
    works(steps, &graph).unwrap_err().to_string().replace("/repo/", "")
}

fn scope() -> Scope {
    Scope {
        inputs: [("a".to_owned(), "1; rm".to_owned())].into(),
        env: BTreeMap::new(),
        pr: None,
        outputs: BTreeMap::new(),
        statuses: BTreeMap::new(),
    }
}

fn one(step: Step) -> Work {
    let steps = [step];
    works(&steps, &Graph::of(&steps, &[]).unwrap()).unwrap().remove(0)
}

#[test]
fn a_step_of_another_type_is_refused_by_name_with_what_to_use() {
    let foreign = Step { kind: here("ai").unwrap(), exec: None, ..step("review", &[]) };
    expect!["polder.yaml:7: the step `review` is of the type `ai`, and polder runs `command` only; run it with the tool that the file belongs to, and name what polder shall run: lint"]
        .assert_eq(&faults(&[foreign.clone(), step("lint", &[])]));
    // What waits for it, directly or not, cannot be named either.
    let waiting = [foreign.clone(), step("lint", &[]), step("a", &["lint|review"]), step("b", &["a"])];
    assert!(faults(&waiting).ends_with("name what polder shall run: lint"), "{}", faults(&waiting));
    let alone = faults(&[foreign, step("a", &["review"])]);
    assert!(alone.ends_with("; run it with the tool that the file belongs to"), "{alone}");
}

#[test]
fn names_that_stand_for_nothing_are_faults_before_anything_runs() {
    let other = Step { exec: here("echo {{ outputs.lint }}"), ..step("use", &[]) };
    expect![
        "polder.yaml:7: `outputs.lint` is named, and `use` does not wait for `lint`; add `lint` to its `depends_on`"
    ]
    .assert_eq(&faults(&[step("lint", &[]), other]));
    let unknown = Step { exec: here("echo {{ nonsense.x }}"), ..step("x", &[]) };
    expect!["polder.yaml:7: `nonsense` is not known in a template; known are outputs, outputs_raw, outputs_history, steps, inputs, args, env, pr"]
        .assert_eq(&faults(&[unknown]));
    // What another tool knows has what stands for it here.
    for (name, wanted) in [
        ("files", "`files` is not known in a template; ask git in `exec`"),
        ("fileCount", "ask git in `exec`"),
        ("memory.x", "by what it writes: `outputs.STEP`"),
        ("secrets.X", "a secret is a variable"),
        ("pr.files", "a pull request has no `files` in a template; ask git in `exec`"),
        (
            "pr.labels",
            "a pull request has no `labels` in a template; known are number, title, body, author, branch, base",
        ),
        ("steps.a.output", "a step has no `output` in a template; known are status, exit_code"),
    ] {
        let step_x = Step { exec: here(&format!("echo {{{{ {name} }}}}")), ..step("x", &["a"]) };
        let said = faults(&[step("a", &[]), step_x]);
        assert!(said.contains(wanted), "{name}: {said}");
    }
    let bare = Step { condition: here("inputs"), ..step("x", &[]) };
    assert!(faults(&[bare]).contains("needs a name behind it"));
    let late = Step { sandbox: here("{{ outputs.a }}"), ..step("x", &["a"]) };
    assert!(faults(&[step("a", &[]), late]).contains("must be known before anything runs"));
    let program = Step {
        exec: None,
        command: Some(Sourced::new(vec!["{{ inputs.a }}".to_owned()], Origin::Api)),
        ..step("x", &[])
    };
    assert!(faults(&[program]).contains("cannot be a template"));
}

#[test]
fn values_enter_as_variables_and_arguments_and_never_as_text() {
    let work = one(Step { exec: here("echo {{ inputs.a }}"), ..step("x", &[]) });
    let rendered = work.render(&scope()).unwrap();
    assert_eq!(rendered.command, ["/bin/sh", "-c", "echo \"${POLDER_VALUE_1}\""]);
    assert_eq!(rendered.values["POLDER_VALUE_1"], "1; rm");
    assert_eq!(work.outline().command, rendered.command, "what is judged is what runs");
    let words = vec!["echo".to_owned(), "<{{ inputs.a }}>".to_owned()];
    let work = one(Step { exec: None, command: Some(Sourced::new(words, Origin::Api)), ..step("x", &[]) });
    assert_eq!(work.render(&scope()).unwrap().command, ["echo", "<1; rm>"]);
}

#[test]
fn what_has_no_value_is_said_before_anything_runs() {
    let work = one(Step {
        exec: here("echo {{ inputs.b }} {{ env.X }} {{ pr.title }} {{ inputs.c | default: 'd' }}"),
        ..step("x", &[])
    });
    let lacking: Vec<_> = work.lacking(&scope()).into_iter().map(|fault| fault.message).collect();
    assert_eq!(
        lacking,
        [
            "the input `b` has no value",
            "the variable `X` does not enter the sandbox of `x`",
            "there is no pull request here"
        ]
    );
    let work = one(Step { condition: here("inputs.b == 'x'"), ..step("x", &[]) });
    assert!(work.lacking(&scope()).is_empty(), "a condition may ask for what is not there");
    assert_eq!(work.holds(&scope()), Ok(false));
}

#[test]
fn a_value_that_no_variable_can_carry_is_an_error_that_names_the_way() {
    let work = one(Step { exec: here("echo {{ inputs.a }}"), ..step("x", &[]) });
    for value in ["a\0b".to_owned(), "x".repeat(TEXT_BYTES_MAX + 1)] {
        let scope = Scope { inputs: [("a".to_owned(), value)].into(), ..scope() };
        assert!(work.render(&scope).unwrap_err().0.contains("use `stdin`"));
    }
}

#[test]
fn names_in_the_variables_of_a_visor_file_are_the_filtered_ones() {
    let at = |path: &str| Origin::File { path: path.into(), line: 1 };
    let env = |path: &str| vec![Sourced::new(("A".to_owned(), "$X-${X}-${{ env.X }}-$Y-$x-${X".to_owned()), at(path))];
    let scope = Scope { env: [("X".to_owned(), "1".to_owned())].into(), ..scope() };
    let value = |path| one(Step { env: env(path), ..step("x", &[]) }).render(&scope).unwrap().env[0].value.1.clone();
    assert_eq!(value("/repo/.visor.yaml"), "1-1-1-$Y-$x-${X");
    assert_eq!(value("/repo/polder.yaml"), "$X-${X}-1-$Y-$x-${X");
}
