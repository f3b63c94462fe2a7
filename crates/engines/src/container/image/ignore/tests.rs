use super::*;
use proptest::prelude::*;

fn left_out(list: &str, path: &str) -> bool {
    Ignore::parse(list).expect("a list").leaves_out(path.as_bytes())
}

#[test]
fn patterns_mean_what_they_mean_to_docker() {
    for (list, out, kept) in [
        ("target", &["target", "target/debug/x"][..], &["a/target", "targets"][..]),
        ("/target/", &["target", "target/x"], &["a/target"]),
        ("*.log", &["a.log"], &["d/a.log", "a.logs"]),
        ("**/*.log", &["a.log", "d/a.log", "d/e/a.log", "a.log/x"], &["a.txt"]),
        ("*/temp*", &["a/temp", "a/tempx/y"], &["temp", "a/b/temp"]),
        ("**/node_modules", &["node_modules", "a/b/node_modules/c"], &["node_modules2"]),
        ("a/**/z", &["a/z", "a/b/z", "a/b/c/z"], &["z", "a/b"]),
        ("a/**", &["a/b", "a/b/c"], &["b"]),
        ("temp?", &["tempa"], &["temp", "tempab"]),
        ("[a-c]x", &["ax", "cx"], &["dx"]),
        ("[^a-c]x", &["dx"], &["ax"]),
        ("\\*", &["*"], &["a"]),
        ("# comment\n\n  spaced  ", &["spaced"], &["# comment"]),
        ("*.md\n!README.md", &["a.md"], &["README.md"]),
        ("secret\n!secret/public", &["secret", "secret/x"], &["secret/public", "secret/public/y"]),
        ("*\n!src", &["a"], &["src", "src/a"]),
        ("a/../b", &["b"], &["a"]),
    ] {
        for path in out {
            assert!(left_out(list, path), "{list:?} should leave out {path}");
        }
        for path in kept {
            assert!(!left_out(list, path), "{list:?} should keep {path}");
        }
    }
}

#[test]
fn what_is_no_pattern_is_an_error() {
    for (list, line) in [("a\n[", 2), ("[a-", 1), ("b\\", 1), ("!", 1)] {
        assert_eq!(Ignore::parse(list).expect_err(list).line, line);
    }
}

#[test]
fn a_hostile_pattern_takes_no_longer_than_its_size() {
    let list = "*a".repeat(2_000) + "/" + &"**/".repeat(300) + "x";
    assert!(!left_out(&list, &format!("{}/{}", "a".repeat(250), "b/".repeat(500))));
}

proptest! {
    #[test]
    fn no_list_makes_it_panic(list in ".{0,60}", path in "[a-c/*]{0,20}") {
        if let Ok(ignore) = Ignore::parse(&list) {
            let _ = ignore.leaves_out(path.as_bytes());
        }
    }

    /// A pattern without special characters is the path itself and what is below it.
    #[test]
    fn a_plain_pattern_is_a_path(path in "[a-z]{1,5}(/[a-z]{1,5}){0,3}") {
        prop_assert!(left_out(&path, &path));
        let below = format!("{path}/x");
        let beside = format!("{path}x");
        prop_assert!(left_out(&path, &below));
        prop_assert!(!left_out(&path, &beside));
    }
}
