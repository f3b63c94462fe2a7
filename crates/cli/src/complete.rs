//! How a command line can go on: what the scripts of `polder completions` ask at every press of the key.
//!
//! Nothing is run, created or trusted for it. Names come out of files that may be hostile and end up in a line that the
//! user is about to execute, so only those are offered that a shell and a terminal take for plain text.

mod values;

use crate::args::{Cli, CompleteArgs};
use crate::exit::Failure;
use crate::render::text::{pasteable, tolerate_closed};
use clap::{Arg, Command, CommandFactory, ValueHint};
use std::io::Write;
use values::Known;

/// The exit code by which the shell is asked to complete file names.
const FILES: u8 = 10;
/// The exit code by which the shell is asked to complete a command with its arguments; its place among the words,
/// counted from 1, is on stdout.
const COMMAND: u8 = 11;

pub(crate) fn complete(args: &CompleteArgs) -> Result<u8, Failure> {
    let words: Vec<String> = args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut table = Cli::command();
    table.build();
    let known = Known::of(&words);
    let (text, code) = match answer(&table, &words, &known) {
        Answer::Words(candidates) => (candidates.iter().filter_map(Candidate::line).collect(), 0),
        Answer::Files => (String::new(), FILES),
        Answer::Command(at) => (format!("{at}\n"), COMMAND),
    };
    tolerate_closed(std::io::stdout().lock().write_all(text.as_bytes()))?;
    Ok(code)
}

/// What a shell should do with the word at the cursor.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Words(Vec<Candidate>),
    Files,
    Command(usize),
}

/// One way in which the word can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Candidate {
    word: String,
    about: String,
}

impl Candidate {
    fn new(word: impl Into<String>, about: impl Into<String>) -> Self {
        Self { word: word.into(), about: about.into() }
    }

    /// The word, a tab, and what it means.
    fn line(&self) -> Option<String> {
        let Self { word, about } = self;
        pasteable(word).filter(|plain| !word.is_empty() && plain == word).map(|word| format!("{word}\t{about}\n"))
    }
}

/// What the words up to the cursor, the last of them, ask for.
fn answer(table: &Command, words: &[String], known: &Known) -> Answer {
    let Some((current, before)) = words.split_last() else { return Answer::Words(Vec::new()) };
    let mut command = table;
    // The verbs so far, the option that waits for its value, and how many positional arguments there are.
    let (mut verbs, mut waiting, mut positional) = (Vec::new(), None, 0);
    let mut escaped = false;
    for (index, word) in before.iter().enumerate() {
        if waiting.take().is_some() {
            continue;
        }
        if !escaped && word == "--" {
            escaped = true;
        } else if !escaped && word.starts_with("--") {
            waiting = long(command, word).filter(|arg| takes_value(arg));
        } else if !escaped && word.len() > 1 && word.starts_with('-') {
            waiting = short(command, word);
        } else if let Some(next) = command.find_subcommand(word).filter(|_| positional == 0 && !escaped) {
            verbs.push(next.get_name());
            command = next;
        } else if at(command, positional).is_some_and(is_command) {
            return Answer::Command(index + 1);
        } else {
            positional += 1;
        }
    }
    let scope = verbs.join(" ");
    if let Some(arg) = waiting {
        return value(arg, &scope, current, "", known);
    }
    if let Some((flag, typed)) = current.split_once('=').filter(|_| !escaped && current.starts_with("--")) {
        let arg = long(command, flag);
        return arg.map_or(Answer::Words(Vec::new()), |arg| value(arg, &scope, typed, &format!("{flag}="), known));
    }
    if !escaped && current.starts_with('-') {
        return Answer::Words(flags(command, current));
    }
    let mut found: Vec<Candidate> = command
        .get_subcommands()
        .filter(|verb| !escaped && !verb.is_hide_set() && verb.get_name().starts_with(current.as_str()))
        .map(|verb| Candidate::new(verb.get_name(), first_line(verb.get_about())))
        .collect();
    match at(command, positional) {
        Some(arg) if is_command(arg) => return Answer::Command(words.len()),
        Some(arg) => match value(arg, &scope, current, "", known) {
            Answer::Words(more) => found.extend(more),
            other => return other,
        },
        None => {}
    }
    if found.is_empty() && current.is_empty() && !escaped {
        found = flags(command, current);
    }
    Answer::Words(found)
}

/// How the value of an argument can go on.
fn value(arg: &Arg, scope: &str, typed: &str, prefix: &str, known: &Known) -> Answer {
    let enumerated = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    let enumerated: Vec<String> = enumerated.map(|value| value.get_name().to_owned()).collect();
    let names = if enumerated.is_empty() { known.of_argument(scope, arg.get_id().as_str()) } else { Some(enumerated) };
    match (names, arg.get_value_hint()) {
        (Some(names), _) => {
            // A name that begins with a dash would be taken for a flag.
            let fits = |name: &String| name.starts_with(typed) && !name.starts_with('-');
            let words = names.into_iter().filter(fits);
            Answer::Words(words.map(|name| Candidate::new(format!("{prefix}{name}"), "")).collect())
        }
        (None, ValueHint::AnyPath | ValueHint::DirPath | ValueHint::FilePath) => Answer::Files,
        (None, _) => Answer::Words(Vec::new()),
    }
}

fn flags(command: &Command, typed: &str) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let longs = shown.filter_map(|arg| Some((format!("--{}", arg.get_long()?), arg)));
    let fitting = longs.filter(|(flag, _)| flag.starts_with(typed));
    fitting.map(|(flag, arg)| Candidate::new(flag, first_line(arg.get_help()))).collect()
}

/// The argument of `--flag` or `--flag=value`; none when it has its value already.
fn long<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let flag = word.strip_prefix("--")?;
    command.get_arguments().find(|arg| arg.get_long() == Some(flag))
}

/// The argument whose value the next word is, after `-C` or `-tC`.
fn short<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let mut letters = word.chars().skip(1);
    let of = |letter: char| command.get_arguments().find(|arg| arg.get_short() == Some(letter));
    let first = letters.by_ref().find_map(|letter| of(letter).filter(|arg| takes_value(arg)))?;
    letters.next().is_none().then_some(first)
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.takes_values())
}

/// The positional argument at a place; the last one when it takes all that follow.
fn at(command: &Command, place: usize) -> Option<&Arg> {
    let mut all = command.get_positionals();
    let many = |arg: &&Arg| arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    all.nth(place).or_else(|| command.get_positionals().last().filter(many))
}

fn is_command(arg: &Arg) -> bool {
    arg.get_value_hint() == ValueHint::CommandWithArguments
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
