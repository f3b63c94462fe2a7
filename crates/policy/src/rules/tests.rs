use super::*;

const HOME: &str = "/home/u";

#[test]
fn names() {
    for good in ["a", "A1", "a..b", "0.x_y-z"] {
        assert!(name(good).is_ok(), "{good}");
    }
    for bad in ["", "-a", ".a", "a b", "a/b", "ä", "a\n"] {
        assert!(name(bad).is_err(), "{bad}");
    }
}

#[test]
fn host_paths_expand_the_home_and_nothing_else() {
    let path = |text| host_path(text, Path::new("/repo"), Path::new(HOME)).map(|path| path.to_string());
    assert_eq!(path("~"), Ok("/home/u".to_owned()));
    assert_eq!(path("~/x"), Ok("/home/u/x".to_owned()));
    assert_eq!(path("~//etc"), Ok("/home/u/etc".to_owned()));
    assert_eq!(path("x/./y/"), Ok("/repo/x/y".to_owned()));
    assert_eq!(path("/a..b"), Ok("/a..b".to_owned()));
    for bad in ["", "..", "a/../b", "~/..", "~root", "~root/x", "/x\0"] {
        assert!(path(bad).is_err(), "{bad}");
    }
}

#[test]
fn caches_stand_below_the_home_inside_or_at_an_absolute_path() {
    let path = |text| cache_path(text).map(|path| path.to_string());
    assert_eq!(path("/c/./d/"), Ok("/c/d".to_owned()));
    assert_eq!(path("~/.cargo//registry/"), Ok("~/.cargo/registry".to_owned()));
    assert_eq!(path("~//etc"), Ok("~/etc".to_owned()));
    for bad in ["", "rel", "~", "~/", "~root", "~root/x", "~/..", "~/a/../b", "/a/..", "/x\0", "~/x\0"] {
        assert!(path(bad).is_err(), "{bad}");
    }
}

#[test]
fn patterns_for_paths() {
    let pattern = |text| path_pattern(text, Path::new(HOME)).map(|pattern| pattern.0);
    assert_eq!(pattern("./a/"), Ok("a".to_owned()));
    assert_eq!(pattern("~/.aws"), Ok("/home/u/.aws".to_owned()));
    assert_eq!(pattern("**/.env"), Ok("**/.env".to_owned()));
    for bad in ["", " ", ".", "./", "/", "../x", "a/../b", "~x", "a\0"] {
        assert!(pattern(bad).is_err(), "{bad}");
    }
}

#[test]
fn patterns_for_variables() {
    assert_eq!(env_pattern("!A_*"), Ok(EnvPattern { glob: "A_*".to_owned(), negated: true }));
    assert!(env_pattern("*").is_ok());
    for bad in ["", "!", "!!A", "1A", "A-B", "A=1", "A B"] {
        assert!(env_pattern(bad).is_err(), "{bad}");
    }
}

#[test]
fn peers() {
    for good in ["x", "x.org", "*.x.org", "x.org:443", "10.0.0.1", "10.0.0.1:80", "::1", "[::1]:80", "bücher.de"] {
        assert!(peer(good).is_ok(), "{good}");
    }
    for bad in
        ["", "*", "x.*", "a*b.org", "https://x", "x/y", "x:0", "x:99999", "x:", "a..b", "x y", "[::1]80", "*.*.x"]
    {
        assert!(peer(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_secret_is_never_repeated() {
    assert!(secret_source("env:GITHUB_TOKEN").is_ok());
    let error = secret_source("ghp_abcdef").unwrap_err();
    assert!(!error.contains("ghp_"), "{error}");
}
