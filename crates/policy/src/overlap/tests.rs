use super::*;

fn check(a: &str, b: &str) -> bool {
    let pattern = |text: &str| PathPattern(text.to_owned());
    let root = HostPath::new("/repo").unwrap();
    let (one, other) = (patterns(&pattern(a), &pattern(b), &root), patterns(&pattern(b), &pattern(a), &root));
    assert_eq!(one, other, "{a} {b}");
    one
}

#[test]
fn patterns_that_share_a_path() {
    assert!(check(".git/hooks", ".git/hooks"));
    assert!(check(".git/hooks", ".git"));
    assert!(check("/repo/.git", ".git/config"));
    assert!(check("**/.env", "a/b"));
    assert!(check("*.pem", "key.pem"));
    assert!(check("key[.]pem", "*.pem"));
    assert!(!check(".git/hooks", ".git/config"));
    assert!(!check("*.pem", "key.txt"));
    assert!(!check("/home/u/.aws", ".aws"));
}

#[test]
fn globs() {
    for (pattern, name, matches) in [
        ("*", "", true),
        ("A*", "ABC", true),
        ("A*C", "ABC", true),
        ("A*C", "AC", true),
        ("A*B*C", "AxByC", true),
        ("A*B*C", "AC", false),
        ("*_TOKEN", "GH_TOKEN", true),
        ("AB*BA", "ABA", false),
        ("A", "AB", false),
        ("A", "A", true),
    ] {
        assert_eq!(glob(pattern, name), matches, "{pattern} {name}");
    }
}
