//! `polder workspace apply -p`: one question per hunk, or per change that has none.

use super::paint::{self, Commits};
use super::{print, shown};
use crate::exit::Failure;
use crate::render::paint::Paint;
use polder_workspace::{Choice, Review, Text, Verdict};
use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};

const HELP: &str = "y - apply this
n - leave this out
a - apply this and everything that follows in this file
d - leave out this and everything that follows in this file
q - leave out this and everything that follows
? - this help";

enum Answer {
    Yes,
    No,
    All,
    None,
    Quit,
}

/// The choice, narrowed by what was answered; nothing if nothing was chosen.
pub(crate) fn ask(review: &Review, choice: Choice) -> Result<Option<Choice>, Failure> {
    let paint = Paint::of(&io::stdout());
    let mut chosen = Choice { paths: Vec::new(), ..choice.clone() };
    let (items, git) = (review.files(&choice.paths)?, review.git_changes(&choice.paths)?);
    let stands = review.stands(&choice)?;
    let mut is_over = false;
    'items: for item in items {
        let text = review.text(item);
        if let Some(Verdict::Held(_) | Verdict::Conflict(_) | Verdict::Refused(_)) = stands.get(&item.change.path) {
            // Nothing that is answered here would take it. It counts as asked for, so that apply says what does.
            print(&paint::item(item, &Text::None, paint))?;
            chosen.exact.insert(item.change.path.clone());
            continue;
        }
        let Text::Hunks(hunks) = &text else {
            print(&paint::item(item, &text, paint))?;
            match answer("apply this change")? {
                Answer::Yes | Answer::All => drop(chosen.exact.insert(item.change.path.clone())),
                Answer::No | Answer::None => {}
                Answer::Quit => {
                    is_over = true;
                    break 'items;
                }
            }
            continue;
        };
        print(&paint::item(item, &Text::None, paint))?;
        let mut taken = BTreeSet::new();
        let mut rest = None;
        for (index, hunk) in hunks.iter().enumerate() {
            print(&paint::hunk(hunk, index + 1, paint))?;
            match answer(&format!("apply hunk {} of {} of {}", index + 1, hunks.len(), shown(&item.change.path)))? {
                Answer::Yes => drop(taken.insert(index + 1)),
                Answer::No => {}
                Answer::All => {
                    taken.extend(index + 1..=hunks.len());
                    break;
                }
                Answer::None => break,
                Answer::Quit => {
                    rest = Some(Answer::Quit);
                    break;
                }
            }
        }
        if hunks.is_empty() || taken.len() == hunks.len() {
            chosen.exact.insert(item.change.path.clone());
        } else if !taken.is_empty() {
            chosen.hunks.insert(item.change.path.clone(), taken);
        }
        if rest.is_some() {
            is_over = true;
            break;
        }
    }
    for change in git.into_iter().filter(|_| !is_over) {
        print(&paint::git(change, Commits::Shown, paint))?;
        let mut paths = review.git_paths(change).cloned();
        let stands = review.git_paths(change).next().and_then(|path| stands.get(path));
        if matches!(stands, Some(Verdict::Held(_) | Verdict::Conflict(_) | Verdict::Refused(_))) {
            chosen.exact.extend(paths);
            continue;
        }
        match answer("apply git's state")? {
            Answer::Yes | Answer::All => chosen.exact.extend(paths.by_ref()),
            Answer::No | Answer::None => {}
            Answer::Quit => break,
        }
    }
    Ok((!chosen.exact.is_empty() || !chosen.hunks.is_empty()).then_some(chosen))
}

fn answer(question: &str) -> Result<Answer, Failure> {
    loop {
        let mut err = io::stderr();
        write!(err, "{question} [y,n,q,a,d,?]? ")?;
        err.flush()?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            // Nobody is there any more; what was not said is not done.
            return Ok(Answer::Quit);
        }
        match line.trim() {
            "y" => return Ok(Answer::Yes),
            "n" => return Ok(Answer::No),
            "a" => return Ok(Answer::All),
            "d" => return Ok(Answer::None),
            "q" => return Ok(Answer::Quit),
            _ => writeln!(err, "{HELP}")?,
        }
    }
}
