//! Standard streams that are closed, short or somebody else's.
#![forbid(unsafe_code)]

use polder_e2e::Place;

#[test]
fn input_and_output_pass_through_a_pipe() {
    let place = Place::new();
    let said = place.sh("head -c 5000000 /dev/zero | $POLDER run -- sh -c 'cat; echo end >&2' | wc -c");
    assert_eq!((said.out.as_str(), said.err.as_str()), ("5000000\n", "end\n"), "{said:?}");
}

#[test]
fn closed_streams_are_empty_ones() {
    let place = Place::new();
    let run = "$POLDER run -- sh -c 'cat; echo out; echo err >&2; echo $(ls /proc/self/fd) >seen; exit 5'";
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "<&- >&-"] {
        let said = place.sh(&format!("{run} {closed}; echo code $? >code"));
        assert_eq!(place.read("work/code"), "code 5\n", "{closed}: {said:?}");
        assert_eq!(place.read("work/seen"), "0 1 2 3\n", "{closed}");
        assert_eq!(said.out.contains("out"), !closed.contains(" >&-") && closed != ">&-", "{closed}: {said:?}");
    }
    // The same with events, which polder itself writes.
    let said = place.sh("$POLDER run --json -- sh -c 'echo out; exit 5' >&-; echo code $?");
    assert_eq!(said.out, "code 5\n", "{said:?}");
}

#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let place = Place::new();
    let said = place.sh("{ $POLDER run -- yes; echo code $? >code; } | head -n 1");
    assert_eq!(said.out, "y\n");
    assert_eq!(place.read("work/code"), "code 141\n", "the command gets SIGPIPE, as without polder: {said:?}");
    assert!(!said.err.contains("panicked") && !said.err.contains("Broken pipe"), "{}", said.err);
    for verb in ["config schema", "--help", "doctor", "completions bash", "run --dry-run -- true"] {
        let said = place.sh(&format!("{{ $POLDER {verb}; echo code $? >code; }} | true"));
        assert_eq!(place.read("work/code"), "code 0\n", "{verb}: {said:?}");
        assert_eq!(said.err, "", "{verb}");
    }
    let said = place.sh("{ $POLDER run --json -- yes; echo code $? >code; } | head -n 1");
    assert_eq!(place.read("work/code"), "code 141\n", "nobody reads the events, so the command ends: {said:?}");
}

#[test]
fn a_reader_of_limited_output_that_goes_away_ends_the_command() {
    // The output comes through polder here; without it, `yes` would end. It must not run for ever instead.
    let place = Place::new();
    let said = place.sh("{ timeout 20 $POLDER run --output 1T -- yes; echo code $? >code; } | head -n 1");
    assert_eq!(said.out, "y\n");
    assert_ne!(place.read("work/code"), "code 124\n", "it ran until somebody else ended it");
}

#[test]
fn stdout_belongs_to_the_command() {
    let place = Place::new();
    let said =
        place.says(&["run", "--accept", "memory", "--timeout", "100ms", "--", "sh", "-c", "echo mine; sleep 60"]);
    assert_eq!((said.code, said.out.as_str()), (124, "mine\n"), "{said:?}");
}

#[test]
fn the_commands_own_flags_are_left_alone() {
    let place = Place::new();
    let said = place.says(&["run", "--", "echo", "--json", "--help", "-C", "x", "--"]);
    assert_eq!(said.out, "--json --help -C x --\n");
    // Also without `--`, once the command has begun.
    assert_eq!(place.says(&["run", "echo", "--json", "-n"]).out, "--json -n\n");
}
