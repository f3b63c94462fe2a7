use super::*;

fn texts(text: &str) -> Vec<String> {
    let shown = |part: Part| match part {
        Part::Text(text) => format!("t:{text}"),
        Part::Value(_, written) => format!("v:{written}"),
    };
    parse(text).unwrap().parts.into_iter().map(shown).collect()
}

#[test]
fn expressions_are_found_between_braces() {
    assert_eq!(texts("a {{ inputs.x }} b{{inputs.y}}"), ["t:a ", "v:inputs.x", "t: b", "v:inputs.y"]);
    assert_eq!(texts("${{ env.X }}"), ["v:env.X"]);
    assert_eq!(texts("{{- inputs.x -}}"), ["v:inputs.x"]);
    assert_eq!(texts("{{ inputs['}}'] }}"), ["v:inputs['}}']"]);
    assert_eq!(texts("no {braces} ${HOME} here"), ["t:no {braces} ${HOME} here"]);
}

#[test]
fn braces_of_other_languages_can_be_written() {
    assert_eq!(texts("go list -f '{{ \"{{.Dir}}\" }}'"), ["t:go list -f '{{.Dir}}'"]);
    assert_eq!(texts("{% raw %}{{.Names}}{% x %}{% endraw %} end"), ["t:{{.Names}}{% x %} end"]);
}

#[test]
fn what_is_not_understood_is_an_error() {
    for (text, wanted) in [
        ("{{ x", "not closed"),
        ("{{.Dir}}", "out of place"),
        ("{{ a b }}", "out of place"),
        ("{% if x %}y{% endif %}", "`{% if %}` is not understood"),
        ("{% raw %}x", "not closed by `{% endraw %}`"),
        ("{{ }}", "ends too early"),
    ] {
        let fault = parse(text).unwrap_err();
        assert!(fault.contains(wanted), "{text}: {fault}");
    }
}
