use super::{ConfigKey, ConfigMerge, ConfigText, merge_configs};

fn key(text: &str) -> ConfigKey {
    let (section, rest) = text.split_once('.').expect("a section");
    let (subsection, name) = match rest.rsplit_once('.') {
        Some((subsection, name)) => (Some(subsection.to_owned()), name),
        None => (None, rest),
    };
    ConfigKey { section: section.to_owned(), subsection, name: name.to_owned() }
}

fn value(text: &str, name: &str) -> Option<Vec<Option<String>>> {
    ConfigText::parse(text).expect("a configuration").values().remove(&key(name))
}

fn merge(base: &str, host: &str, copy: &str) -> ConfigMerge {
    let judge = |key: &ConfigKey, _: Option<&str>| match key.section.as_str() {
        "alias" => Err("a command"),
        _ => Ok(()),
    };
    let removable = |key: &ConfigKey| judge(key, None);
    merge_configs(base, host, copy, &judge, &removable).expect("configurations")
}

#[test]
fn config_values_are_read_as_git_reads_them() {
    let text = "\u{feff}# c\n[Core]\n\tBare = false ; no\n\tx\n[a \"b \\\"c\"] k = \" v \" w # z\n\
        \tm = one\\\n two\\tq\n[old.Sub]\nk=\n[core] y = a\"#\"b  \n";
    assert_eq!(value(text, "core.bare"), Some(vec![Some("false".to_owned())]));
    assert_eq!(value(text, "core.x"), Some(vec![None]));
    assert_eq!(value(text, "a.b \"c.k"), Some(vec![Some(" v  w".to_owned())]));
    assert_eq!(value(text, "a.b \"c.m"), Some(vec![Some("one two\tq".to_owned())]));
    assert_eq!(value(text, "old.sub.k"), Some(vec![Some(String::new())]));
    assert_eq!(value(text, "core.y"), Some(vec![Some("a#b".to_owned())]));
}

#[test]
fn config_that_git_would_refuse_is_a_fault() {
    let bad = ["x = 1", "[a", "[a \"b]", "[a]\nk = \"v", "[a]\n1 = 2", "[a]\nk = \\q", "[a]\nk v", "[]\n", "[a]]\n"];
    for text in bad {
        assert!(ConfigText::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn config_merge_takes_harmless_keys_and_holds_others() {
    let base = "[core]\n\tbare = false\n# mine\n[branch \"old\"]\n\tremote = o\n";
    let copy = "[core]\n\tbare = false\n[branch \"new\"]\n\tremote = o\n\tdescription = \"a \\\"b\\\"; c\"\n[alias]\n\tx = !y\n";
    let merged = merge(base, base, copy);
    let text = merged.text.expect("a new text");
    assert_eq!(
        text,
        "[core]\n\tbare = false\n# mine\n[branch \"new\"]\n\tdescription = \"a \\\"b\\\"; c\"\n\tremote = o\n"
    );
    assert_eq!(merged.held, [(key("alias.x"), "a command")]);
}

#[test]
fn config_merge_adds_to_the_section_that_is_there() {
    let base = "[a]\n\tx = 1\n\n[b] y = 2\n[a]\n\tz = 3";
    let merged = merge(base, base, "[a]\n\tx = 1\n\tNew = 5\n\tz = 3\n[b]\ny = 4\n");
    assert_eq!(merged.text.as_deref(), Some("[a]\n\tx = 1\n\n[b] \n\ty = 4\n[a]\n\tz = 3\n\tNew = 5\n"));
}

#[test]
fn config_merge_keeps_what_the_host_changed_meanwhile() {
    let merged = merge("[a]\nx = 1\ny = 1\n", "[a]\nx = 2\ny = 1\n", "[a]\nx = 3\ny = 3\n");
    assert_eq!(merged.held.len(), 1);
    assert_eq!(value(&merged.text.expect("a text"), "a.y"), Some(vec![Some("3".to_owned())]));
    assert_eq!(merge("[a]\nx = 1\n", "[a]\nx = 2\n", "[a]\nx = 1\n").text, None);
    assert_eq!(merge("[a]\nx = 1\n", "[a]\nx = 2\n", "[a]\nx = 2\n").held, []);
}

#[test]
fn config_merge_does_not_remove_what_it_may_not_set() {
    let base = "[alias]\n\tx = !y\n[a]\n\tk = 1\n";
    let merged = merge(base, base, "");
    assert_eq!(merged.text.as_deref(), Some("[alias]\n\tx = !y\n"));
    assert_eq!(merged.held, [(key("alias.x"), "a command")]);
}
