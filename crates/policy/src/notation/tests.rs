use super::*;
use crate::tree::Value;
use expect_test::expect;
use proptest::prelude::*;

fn tree(name: &str, text: &str) -> Node {
    read_tree(Path::new(name), text.as_bytes()).unwrap()
}

fn fault(name: &str, bytes: impl AsRef<[u8]>) -> String {
    read_tree(Path::new(name), bytes.as_ref()).unwrap_err().to_string()
}

#[test]
fn the_three_notations_give_the_same_tree_with_lines() {
    let yaml = tree("p.yaml", "a: 1\nb:\n  c: [x, true]\n");
    let json = tree("p.json", "{\"a\": 1,\n\"b\": {\n  \"c\": [\"x\", true]}}\n");
    let toml = tree("p.toml", "a = 1\n[b]\nc = [\"x\", true]\n");
    assert_eq!(yaml.to_json(), json.to_json());
    assert_eq!(yaml.to_json(), toml.to_json());
    for tree in [yaml, json, toml] {
        let c = tree.get("b").and_then(|b| b.entry("c")).unwrap();
        assert_eq!((c.line, c.node.line), (3, 3));
        assert_eq!(tree.entry("b").unwrap().line, 2);
    }
}

#[test]
fn scalars_follow_the_core_schema() {
    let kinds = tree("p.yaml", "[yes, no, on, 0x10, 0o17, 1e3, .5, -.inf, inf, nan, ~, '1', 012, 1_000, 2G]");
    let words: Vec<_> = kinds.items().iter().map(|node| format!("{:?}", node.value)).collect();
    expect![[r#"
        Text("yes") Text("no") Text("on") Int(16) Int(15) Float(1000.0) Float(0.5) Float(-inf) Text("inf") Text("nan") Null Text("1") Int(12) Text("1_000") Text("2G")"#]]
    .assert_eq(&words.join(" "));
}

#[test]
fn anchors_aliases_and_merge_keys_work() {
    let tree = tree("p.yaml", "base: &b {x: 1, y: 2}\na: {<<: *b, y: 3}\nb: {<<: [{x: 7}, *b]}\n");
    assert_eq!(tree.get("a").unwrap().to_json(), serde_json::json!({ "x": 1, "y": 3 }));
    assert_eq!(tree.get("b").unwrap().to_json(), serde_json::json!({ "x": 7, "y": 2 }));
}

#[test]
fn json_escapes_are_read() {
    let tree = tree("p.json", r#"{"a": "\u00e9\/\t\"", "b": -1.5e3, "c": ""}"#);
    assert_eq!(tree.to_json(), serde_json::json!({ "a": "é/\t\"", "b": -1500.0, "c": "" }));
    assert_eq!(fault("p.json", "{\"a\":\n 99999999999999999999}"), "p.json:2: the number does not fit in 64 bits");
}

proptest! {
    #[test]
    fn json_means_what_a_json_parser_says(value in json_value()) {
        let text = serde_json::to_string_pretty(&value).unwrap().replace("  ", "\t");
        prop_assert_eq!(tree("p.json", &text).to_json(), value);
    }
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<String>().prop_map(|text| text.replace("  ", "").into()),
    ];
    leaf.prop_recursive(4, 30, 5, |inner| {
        let key = "[a-z😀\"\\\\\n]{0,4}";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
            proptest::collection::btree_map(key, inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

#[test]
fn a_bom_and_an_empty_file_are_fine() {
    assert_eq!(tree("p.yaml", "\u{feff}a: 1").get("a").unwrap().value, Value::Int(1));
    assert_eq!(tree("p.yaml", "").value, Value::Map(Vec::new()));
    assert_eq!(tree("p.yaml", "# nothing\n").value, Value::Map(Vec::new()));
}

#[test]
fn what_cannot_be_read_says_where() {
    expect!["p.yaml:2: the key `a` stands here twice"].assert_eq(&fault("p.yaml", "a: 1\na: 2\n"));
    expect!["p.yaml:2: a second document begins; only one is read"].assert_eq(&fault("p.yaml", "a: 1\n---\nb: 2\n"));
    expect!["p.yaml:2: the file is not UTF-8 at byte 6"].assert_eq(&fault("p.yaml", b"a: 1\nb\xff: 2"));
    expect!["p.yaml:1: the tag `!x` has no meaning here"].assert_eq(&fault("p.yaml", "a: !x 1"));
    expect!["p.yaml:1: a key must be a text"].assert_eq(&fault("p.yaml", "{[1]: 2}"));
    expect!["p.yaml:1: `<<` takes a map or a list of maps"].assert_eq(&fault("p.yaml", "{<<: 1}"));
    expect!["p.yaml:1: the alias stands inside its own anchor"].assert_eq(&fault("p.yaml", "&a [*a]"));
    expect!["p.json:1: not JSON: key must be a string at line 1 column 2"].assert_eq(&fault("p.json", "{a: 1}"));
    expect!["p.json:2: the key `a` stands here twice"].assert_eq(&fault("p.json", "{\"a\": 1,\n \"a\": 2}"));
    expect!["p.toml:2: not TOML: duplicate key"].assert_eq(&fault("p.toml", "a = 1\na = 2\n"));
}

#[test]
fn a_small_file_cannot_become_a_large_tree() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..9 {
        let list = vec![format!("*a{}", i - 1); 10].join(", ");
        bomb.push_str(&format!("a{i}: &a{i} [{list}]\n"));
    }
    assert!(fault("p.yaml", bomb).ends_with("more than 100000 values"));
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(read_tree(Path::new("p.yaml"), deep(64).as_bytes()).is_ok());
    assert!(fault("p.yaml", deep(65)).ends_with("nested more than 64 deep"));
    assert!(fault("p.json", deep(65)).ends_with("nested more than 64 deep"));
    fault("p.toml", format!("a = {}", deep(100)));
    assert!(fault("p.yaml", vec![b' '; FILE_BYTES_MAX as usize + 1]).contains("more than 1048576 bytes"));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for name in ["p.yaml", "p.toml", "p.json"] {
            let _ = read_tree(Path::new(name), &bytes);
        }
    }

    #[test]
    fn no_text_of_special_letters_makes_it_panic(text in "[\\[\\]{}:,&*!|>'\"%@`#?<~a0 \\n\\t\\-=.]{0,120}") {
        for name in ["p.yaml", "p.toml", "p.json"] {
            let _ = read_tree(Path::new(name), text.as_bytes());
        }
    }
}
