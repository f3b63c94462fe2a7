use super::*;

fn fault(text: &str) -> String {
    parse(text).unwrap_err()
}

#[test]
fn paths_literals_and_operators_are_understood() {
    for text in [
        "outputs.lint.count",
        "outputs['my step'][0].x",
        "outputs.my-step.a-b",
        "inputs.level == 'strict' && !(env.CI === \"true\" || pr.number > 3)",
        "contains(pr.title, 'x') and not always()",
        "outputs.a | default: 'x' | json",
        "outputs.files | join: ', '",
        "1.5 <= 2",
    ] {
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
    }
}

#[test]
fn what_is_not_in_the_grammar_is_an_error() {
    for text in [
        "",
        "outputs.",
        "outputs[",
        "a b",
        "x + 1",
        "'open",
        "f(1)",
        "always(1)",
        "x |",
        "x | no_such",
        "x | json: 1",
        "a = b",
        "process.exit(1)",
        "`id`",
        "x; y",
        "\"a\\n\"",
        "-1",
        "{}",
        "=> x",
        "outputs..a",
    ] {
        assert!(parse(text).is_err(), "{text}: {:?}", parse(text));
    }
    assert!(fault("hasMinPermission('x')").contains("known are always, success"));
    assert!(fault(&"(".repeat(100)).contains("levels deep"));
    assert!(fault("outputs.a | base64").contains("known are json, default"));
}
