use super::{Answer, Candidate, answer};
use crate::args::Cli;
use crate::complete::values::Known;
use clap::CommandFactory;

fn asked(line: &str) -> Answer {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let mut table = Cli::command();
    table.build();
    answer(&table, &words, &Known::of(&words))
}

fn words(line: &str) -> Vec<String> {
    match asked(line) {
        Answer::Words(found) => found.into_iter().map(|candidate| candidate.word).collect(),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn verbs_and_flags_complete_by_their_beginning() {
    assert_eq!(words("work"), ["workspace"]);
    assert_eq!(words("workspace d"), ["diff", "discard"]);
    assert_eq!(words("run --time"), ["--timeout"]);
    assert!(words("").contains(&"doctor".to_owned()) && !words("").contains(&"complete".to_owned()));
    assert!(words("trust ").contains(&"--revoke".to_owned()), "where nothing else goes on, flags do");
}

#[test]
fn values_complete_after_any_spelling_of_a_flag() {
    assert!(words("run --engine ").contains(&"auto".to_owned()));
    assert_eq!(words("run -e au"), ["auto"]);
    assert_eq!(words("run --engine=au"), ["--engine=auto"]);
    assert_eq!(words("run --network f"), ["full"]);
    assert_eq!(words("run --require second"), ["second-layer"]);
    assert_eq!(words("run --restart on"), ["on-failure"]);
    assert_eq!(words("completions fi"), ["fish"]);
    assert_eq!(words("run --memory "), [""; 0], "there is no list of sizes, and a file is none");
}

#[test]
fn shell_completes_files_and_commands() {
    assert_eq!(asked("run -C "), Answer::Files);
    assert_eq!(asked("run --bind /o"), Answer::Files);
    assert_eq!(asked("run -- ma"), Answer::Command(3));
    assert_eq!(asked("run --cow -- make --eng"), Answer::Command(4));
    assert_eq!(asked("run make te"), Answer::Command(2));
    assert_eq!(asked("run --engine auto -e"), Answer::Words(Vec::new()));
}

#[test]
fn candidate_that_a_shell_would_obey_is_left_out() {
    let line = |word: &str| Candidate::new(word, "").line();
    assert_eq!(line("fast-1.2_x"), Some("fast-1.2_x\t\n".to_owned()));
    for hostile in ["$(id)", "a b", "a;b", "`x`", "a\u{1b}[31m", "a\nb", "a\u{202e}b", "*", "a'b", "", "~x"] {
        assert_eq!(line(hostile), None, "{hostile:?}");
    }
}
