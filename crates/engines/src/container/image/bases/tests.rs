use super::*;

/// What a recipe names, as `written=meaning`.
fn named(text: &str) -> Vec<String> {
    let said = |base: Base| format!("{}={}", base.written, base.name.unwrap_or_else(|| "?".to_owned()));
    bases(text).into_iter().map(said).collect()
}

#[test]
fn stages_of_the_recipe_and_nothing_are_no_images() {
    let text = "FROM a AS Build\nRUN true\nfrom scratch\nCOPY --from=build /x /x\nCOPY --from=0 /x /x\n\
                FROM build AS last\nFROM --platform=linux/arm64 b:1\nFROM a as again";
    assert_eq!(named(text), ["a=a", "b:1=b:1"]);
    assert_eq!(bases(text)[1].platform.as_deref(), Some("linux/arm64"));
}

#[test]
fn files_of_other_images_count() {
    let text = "FROM a\nCOPY --chown=1 --from=other:2 /x /y\nRUN --mount=type=bind,from=third,target=/x true\n\
                COPY x --from=y\nCOPY --from=7 /x /y";
    assert_eq!(named(text), ["a=a", "other:2=other:2", "third=third", "7=7"]);
}

#[test]
fn variables_mean_what_was_said_before_the_first_stage() {
    let text =
        "ARG NAME=a\nARG TAG=\"1\" WHOLE=${NAME}:$TAG\nFROM $WHOLE\nARG NAME=b\nFROM ${NAME}\nFROM ${OTHER:-c}/x";
    assert_eq!(named(text), ["$WHOLE=a:1", "${NAME}=a", "${OTHER:-c}/x=c/x"]);
}

#[test]
fn what_is_not_certain_is_kept_as_it_is_written() {
    for written in ["$NONE", "${NONE}", "${A:+b}", "a\\$b", "${A", "\"a", "$", "x$EMPTY"] {
        let text = format!("ARG A=1\nARG EMPTY=\nFROM {written}");
        assert_eq!(named(&text), [format!("{written}=?")], "{written}");
    }
    assert_eq!(named("ARG A=1\nFROM a\nCOPY --from=$A /x /y"), ["a=a", "$A=?"]);
}
