use super::*;
use expect_test::expect;

fn image(text: &str) -> String {
    match text.parse::<ImageName>() {
        Ok(name) => format!("{} | {}", name.repository(), name.reference()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn names_of_images_are_taken_apart() {
    assert_eq!(image("node"), "node | latest");
    assert_eq!(image("node:20-alpine"), "node | 20-alpine");
    assert_eq!(image("localhost:5000/a/b:t"), "localhost:5000/a/b | t");
    assert_eq!(
        image("registry.test/Upper"),
        "`registry.test/Upper` is not the name of an image: names of images are lower case"
    );
    let digest = format!("a/b:t@sha256:{}", "0".repeat(64));
    assert_eq!(image(&digest), format!("a/b | sha256:{}", "0".repeat(64)));
    let id = format!("sha256:{}", "a".repeat(64));
    assert_eq!(image(&id), format!("{id} | latest"));
}

#[test]
fn a_name_that_says_anything_else_is_none() {
    let texts = [
        "",
        " ",
        "/",
        "a//b",
        "../etc",
        "a/../b",
        "a/./b",
        "a?b=c",
        "a#b",
        "a b",
        "a\r\nHost: x",
        "a:t?x",
        "a:t/../..",
        "a@b",
        "a:",
        ":t",
        "-a",
        "a-",
        "Node",
        "a%2f..",
        "a\0b",
        "é",
        "a..b",
        "sha256:12",
    ];
    let said: Vec<_> = texts.iter().map(|text| image(text)).collect();
    expect![[r#"
        `` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `/` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a//b` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `../etc` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a/../b` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a/./b` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a?b=c` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a#b` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a b` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a� Host: x` is not the name of an image: what follows the last `:` is not a tag
        `a:t?x` is not the name of an image: what follows the last `:` is not a tag
        `a:t/../..` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a@b` is not the name of an image: what follows `@` is not a digest such as `sha256:…`
        `a:` is not the name of an image: what follows the last `:` is not a tag
        `:t` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `-a` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a-` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `Node` is not the name of an image: names of images are lower case
        `a%2f..` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a�b` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `é` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `a..b` is not the name of an image: a part of it is empty or holds something else than `a-z`, `0-9`, `.`, `_` and `-`
        `sha256:12` is not the name of an image: an id is `sha256:` and 64 digits of `0-9a-f`"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn names_of_objects_hold_nothing_else() {
    for text in ["polder-1_a.b", "0123abc"] {
        assert_eq!(text.parse::<ObjectName>().expect(text).as_str(), text);
    }
    for text in ["", ".", "..", "../x", "a/b", "a b", "a?b", "a\nb", "-a", "é", &"a".repeat(256)] {
        assert!(text.parse::<ObjectName>().is_err(), "{text:?}");
    }
}
