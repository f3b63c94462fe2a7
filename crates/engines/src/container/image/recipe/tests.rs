use super::*;

fn judged(text: &str) -> Option<usize> {
    match reaches_nothing(text) {
        Ok(()) => None,
        Err(ImageError::Reaches { line, .. }) => Some(line),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_recipe_needs_a_beginning() {
    assert!(has_from("# comment\n\nfrom busybox\nRUN true"));
    assert!(has_from("ARG X=1\nFROM a"));
    for text in ["", "RUN true", "# FROM a", "FROMAGE a", "RUN echo \\\nFROM a"] {
        assert!(!has_from(text), "{text:?}");
    }
}

#[test]
fn what_the_daemon_would_fetch_is_refused() {
    for text in [
        "FROM a\nADD https://x/y /z",
        "FROM a\nadd http://x/y /z",
        "FROM a\nADD --chown=1:1 ftp://x/y /z",
        "FROM a\nADD git@x:y /z",
        "FROM a\nADD [\"https://x/y\", \"/z\"]",
        "FROM a\nADD $URL /z",
        "FROM a\nADD \\\n  https://x/y /z",
        "FROM a\nADD \\\n# comment\n\n  https://x/y /z",
        "FROM a\nA\\\nDD https://x/y /z",
        "FROM a\nADD https:/\\\n/x/y /z",
        "FROM a\nONBUILD ADD https://x/y /z",
        "FROM a\nRUN --network=host true",
        "FROM a\nRUN --mount=type=cache,target=/x --network=host true",
        "FROM a\nRUN --security=insecure true",
    ] {
        assert_eq!(judged(text), Some(2), "{text:?}");
    }
    assert_eq!(judged("# escape=`\nFROM a\nADD `\nhttps://x/y /z"), Some(3));
}

#[test]
fn what_stays_inside_is_not() {
    for text in [
        "FROM a\nADD x /y",
        "FROM a\nCOPY . /x\nRUN echo https://x",
        "FROM a\n# ADD https://x /y",
        "FROM a\nENV U=https://x",
    ] {
        assert_eq!(judged(text), None, "{text:?}");
    }
}
