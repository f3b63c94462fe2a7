use super::*;
use crate::template;
use proptest::prelude::*;

fn script_of(text: &str) -> Result<String, String> {
    script(&template::parse(text).unwrap()).map(|script| script.text.replace(PREFIX, "V"))
}

#[test]
fn a_value_is_named_as_its_place_needs_it() {
    for (text, wanted) in [
        ("echo {{ env.X }}", "echo \"${V1}\""),
        ("echo \"a {{ env.X }} b\"", "echo \"a ${V1} b\""),
        ("echo 'a {{ env.X }} b'", "echo 'a '\"${V1}\"' b'"),
        ("x={{ env.X }}; y={{ env.Y }}{{ env.X }}", "x=\"${V1}\"; y=\"${V2}\"\"${V1}\""),
        ("echo \"$(cat {{ env.X }})\"", "echo \"$(cat \"${V1}\")\""),
        ("echo \\\" {{ env.X }}", "echo \\\" \"${V1}\""),
        ("echo a#b '#' # it's {{ env.X }}\necho {{ env.X }}", "echo a#b '#' # it's ${V1}\necho \"${V1}\""),
        ("cat <<E\n'{{ env.X }}\nE\necho {{ env.X }}", "cat <<E\n'${V1}\nE\necho \"${V1}\""),
        (
            "cat <<-E | tr a b\n\t{{ env.X }}\n\tE\necho '{{ env.X }}'",
            "cat <<-E | tr a b\n\t${V1}\n\tE\necho ''\"${V1}\"''",
        ),
        (
            "[ {{ env.X }} = a ] && [[ a == b ]] && echo {{ env.X }}",
            "[ \"${V1}\" = a ] && [[ a == b ]] && echo \"${V1}\"",
        ),
        ("[[ -n $(cat {{ env.X }}) ]]; a[1]={{ env.X }}", "[[ -n $(cat \"${V1}\") ]]; a[1]=\"${V1}\""),
        ("cat <<A <<B\na\nA\n{{ env.X }}\nB\n{{ env.X }}", "cat <<A <<B\na\nA\n${V1}\nB\n\"${V1}\""),
    ] {
        assert_eq!(script_of(text).as_deref(), Ok(wanted), "{text}");
    }
}

#[test]
fn a_place_where_a_shell_would_parse_it_is_refused() {
    for text in [
        "echo $(( {{ env.X }} + 1 ))",
        "echo $(( (1) + ({{ env.X }}) ))",
        "if (( {{ env.X }} > 1 )); then :; fi",
        "echo `cat {{ env.X }}`",
        "echo ${y:-{{ env.X }}}",
        "cat <<'E'\n{{ env.X }}\nE\n",
        "echo $'{{ env.X }}'",
        "[[ {{ env.X }} -eq 1 ]]",
        "if [[ \"{{ env.X }}\" -eq 1 ]]; then :; fi",
        "a[{{ env.X }}]=1",
        "a['{{ env.X }}']=1",
    ] {
        assert!(script_of(text).is_err(), "{text}: {:?}", script_of(text));
    }
}

/// What a real shell does with a script and a value: its output, or nothing where it is no script.
fn run(text: &str, value: &str) -> Option<String> {
    let script = script(&template::parse(text).ok()?).ok()?;
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &script.text]).env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    for name in script.variables.keys() {
        command.env(name, value);
    }
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_shell_prints_the_value_and_runs_nothing_of_it() {
    let hostile = "a'b\"c `echo RAN` $(echo RAN) ; echo RAN\n-n ${HOME} \\ * #";
    for text in [
        "printf %s {{ env.X }}",
        "printf %s \"{{ env.X }}\"",
        "printf %s '{{ env.X }}'",
        "printf %s \"$(printf %s {{ env.X }})\"",
        "v={{ env.X }}; printf %s \"$v\"",
        "printf %s {{ env.X }} # it's",
    ] {
        assert_eq!(run(text, hostile).as_deref(), Some(hostile), "{text}");
    }
    // Pasted into the text, the same value is a program: the control.
    let pasted = std::process::Command::new("/bin/sh").args(["-c", "printf %s a; echo RAN"]).output().unwrap();
    assert!(String::from_utf8_lossy(&pasted.stdout).contains("RAN"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Whatever stands around an expression, the text of the script is the same for every value, and a value's own
    /// words are never in it.
    #[test]
    fn no_value_is_ever_a_part_of_the_text(before in "[a-z'\"\\\\`$(){}<\n #;-]{0,20}", after in "[a-z'\" ;)]{0,10}") {
        let text = format!("{before}{{{{ env.X }}}}{after}");
        if let Ok(template) = template::parse(&text)
            && let Ok(script) = script(&template)
        {
            prop_assert!(script.text.contains(PREFIX));
            prop_assert_eq!(script.text.matches("env.X").count(), 0);
        }
    }
}
