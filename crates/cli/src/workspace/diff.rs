//! `polder workspace diff`.

use super::paint::{self, Commits};
use super::{Verb, json, named, part, print, shown, tell_others, which};
use crate::args::WorkspaceDiffArgs;
use crate::exit::{Failure, say};
use crate::render::pager::{Listing, Paging};
use crate::render::paint::Paint;
use polder_workspace::{GitChange, Item, Line, Review, ReviewDigest, Text, Workspace};
use serde_json::json;

pub(crate) fn diff(args: &WorkspaceDiffArgs) -> Result<u8, Failure> {
    let parts = which(&args.part.which, Verb::Looks)?.parts()?;
    let workspace = part(&args.part, Verb::Looks)?;
    let review = workspace.review()?;
    if workspace.is_interrupted() {
        let name = workspace.name();
        say(&format!(
            "an apply of `{name}` was interrupted, and what it did half may look like the host's work; \
             `polder workspace apply {name} --resume` or `--abort` first"
        ));
    }
    named(&review, &args.path)?;
    let (items, git) = (review.files(&args.path)?, review.git_changes(&args.path)?);
    let digest = digest(&workspace, &review);
    if args.json {
        return as_json(&workspace, &review, &items, &git, args.stat, digest.as_ref());
    }
    let paint = Paint::of(&std::io::stdout());
    let mut budget = Budget::new();
    let mut listing = Listing::begin(Paging::of(args.no_pager, args.json));
    for item in &items {
        if args.stat {
            listing.line(&stat(&review, item))?;
        } else {
            listing.line(&paint::item(item, &budget.text(&review, item), paint))?;
        }
    }
    for change in &git {
        listing.line(&paint::git(change, if args.stat { Commits::Counted } else { Commits::Shown }, paint))?;
    }
    for forged in &review.forged {
        listing.line(&format!("refused {}\n  never applied: {}", shown(&forged.path), forged.why))?;
    }
    listing.line(&summary(&items, &git, review.forged.len()))?;
    listing.end()?;
    if let Some(digest) = digest.filter(|_| !review.items.is_empty()) {
        say(&format!("digest {digest}"));
    }
    tell_others(&parts, &workspace, "diff")?;
    Ok(0)
}

/// The digest of the whole review, remembered for the next apply. A layer that is written meanwhile may have none.
fn digest(workspace: &Workspace, review: &Review) -> Option<ReviewDigest> {
    let digest = review.digest().map_err(|error| say(&format!("there is no digest: {error}"))).ok()?;
    if let Err(error) = workspace.remember_digest(digest) {
        say(&format!("this diff cannot be remembered, and an apply will not say what changed since: {error}"));
    }
    Some(digest.clone())
}

/// One change after the other: all of them at once could be more than the memory holds.
fn as_json(
    workspace: &Workspace,
    review: &Review,
    items: &[&Item],
    git: &[&GitChange],
    stat: bool,
    digest: Option<&ReviewDigest>,
) -> Result<u8, Failure> {
    let mut budget = Budget::new();
    let (name, root) = (json!(workspace.name().as_str()), json!(workspace.root().to_string_lossy()));
    let project = json!(workspace.project());
    let head = format!("{{\"workspace\":{name},\"project\":{project},\"root\":{root},\"changes\":[");
    print(&json::escaped(&head))?;
    for (index, item) in items.iter().enumerate() {
        let mut told = json::item(item);
        if !stat {
            told["text"] = json::text(&budget.text(review, item));
        }
        let comma = if index + 1 < items.len() { "," } else { "" };
        print(&json::escaped(&format!("{told}{comma}")))?;
    }
    let digest = json!(digest.map(ToString::to_string));
    let refused = json!(json::forged(&review.forged));
    let git = json!(git.iter().map(|change| json::git(change)).collect::<Vec<_>>());
    print(&json::escaped(&format!("],\"git\":{git},\"refused\":{refused},\"digest\":{digest}}}")))?;
    Ok(0)
}

/// What is shown line by line, of one file and of all. A layer can have one large file under any number of names.
struct Budget {
    bytes_left: usize,
}

impl Budget {
    const LINES_OF_ONE: usize = 50_000;
    const BYTES_OF_ALL: usize = 64 << 20;

    fn new() -> Self {
        Self { bytes_left: Self::BYTES_OF_ALL }
    }

    /// The change of an item's content, as far as there is room for it.
    fn text(&mut self, review: &Review, item: &Item) -> Text {
        if self.bytes_left == 0 {
            return Text::TooLarge;
        }
        self.admit(review.text(item))
    }

    fn admit(&mut self, text: Text) -> Text {
        let Text::Hunks(hunks) = &text else { return text };
        let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
        let bytes: usize = lines()
            .map(|line| match line {
                Line::Same(bytes) | Line::Removed(bytes) | Line::Added(bytes) => bytes.len(),
            })
            .sum();
        if lines().count() > Self::LINES_OF_ONE {
            return Text::TooLarge;
        }
        if bytes > self.bytes_left {
            self.bytes_left = 0;
            return Text::TooLarge;
        }
        self.bytes_left -= bytes;
        text
    }
}

fn stat(review: &Review, item: &Item) -> String {
    let lines = match paint::counted(&review.text(item)) {
        Some((added, removed)) => format!("  +{added} -{removed}"),
        None => String::new(),
    };
    let notes: String = paint::notes(item).iter().map(|note| format!("\n  {note}")).collect();
    format!("{}{lines}{notes}", paint::heading(&item.change))
}

fn summary(items: &[&Item], git: &[&GitChange], forged: usize) -> String {
    let count = |wanted: fn(&Item) -> bool| items.iter().filter(|item| wanted(item)).count();
    let of_git = |wanted: fn(&GitChange) -> bool| git.iter().filter(|change| wanted(change)).count();
    let is_held = |change: &GitChange| change.held.is_some() || !change.contained.is_empty();
    let mut parts = vec![match items.len() + git.len() {
        0 => "no changes".to_owned(),
        1 => "1 change".to_owned(),
        more => format!("{more} changes"),
    }];
    for (name, number) in [
        ("held back", count(|item| item.held.is_some()) + of_git(is_held)),
        ("in conflict", count(|item| item.conflict.is_some()) + of_git(|change| change.conflict.is_some())),
        ("never applied", count(|item| item.refused.is_some()) + of_git(|change| change.refused.is_some()) + forged),
    ] {
        if number > 0 {
            parts.push(format!("{number} {name}"));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::Budget;
    use polder_workspace::{Text, hunks};

    #[test]
    fn what_is_shown_has_an_end() {
        let text = |lines: usize, line: &str| Text::Hunks(hunks(b"", line.repeat(lines).as_bytes()));
        let mut budget = Budget::new();
        assert_eq!(budget.admit(text(Budget::LINES_OF_ONE + 1, "\n")), Text::TooLarge);
        assert_eq!(budget.admit(text(10, "line\n")), text(10, "line\n"));
        assert_eq!(budget.bytes_left, Budget::BYTES_OF_ALL - 50);
        budget.bytes_left = 49;
        assert_eq!(budget.admit(text(10, "line\n")), Text::TooLarge);
        assert_eq!(budget.bytes_left, 0, "and nothing more");
    }
}
