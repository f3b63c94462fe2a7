//! `polder workspace apply`.

use super::record::Recorded;
use super::{Verb, ask, json, named, paint, part, print, print_json, shown, tell_others, which};
use crate::args::WorkspaceApplyArgs;
use crate::exit::{Failure, say};
use polder_workspace::{Applied, Choice, GitChange, Relative, Review, Settled, Verdict, Workspace};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Something was left out that stands in the way of "everything is in place".
const LEFT_OUT: u8 = 1;

pub(crate) fn apply(args: &WorkspaceApplyArgs) -> Result<u8, Failure> {
    let parts = which(&args.part.which, Verb::Changes)?.parts()?;
    let workspace = part(&args.part, Verb::Changes)?;
    if args.resume || args.abort {
        return settle(&workspace, args);
    }
    let mut choice = Choice {
        paths: args.path.clone(),
        exact: BTreeSet::new(),
        hunks: hunks(&args.hunk)?,
        include_held: args.include_held.clone(),
        force: args.force.clone(),
        digest: args.digest.clone(),
    };
    // From before the first question: nobody runs in the workspace while somebody reads what is in it.
    let lock = workspace.lock_for_run()?;
    let review = workspace.review()?;
    if let Some(wanted) = &choice.digest {
        // Before the first question: the answers are about what was reviewed, or there are none.
        workspace.require(&review, wanted)?;
    } else if changed_since_diff(&workspace, &review)? {
        let name = workspace.name();
        say(&format!(
            "the workspace `{name}` changed since the last `polder workspace diff`; --digest makes an apply refuse that"
        ));
    }
    named(&review, &args.path)?;
    if args.patch {
        match ask::ask(&review, choice)? {
            Some(chosen) => choice = chosen,
            None => {
                print("nothing was chosen")?;
                return Ok(0);
            }
        }
    }
    let mut watch = Recorded::new("apply", &workspace, &[&args.include_held, &args.force])?;
    let applied = workspace.apply_reviewed(&lock, review, &choice, &mut watch)?;
    if args.json {
        print_json(&as_json(&workspace, &applied))?;
    } else {
        print(&as_text(&applied))?;
        tell_others(&parts, &workspace, "apply")?;
    }
    let left_out = |verdict: &Verdict| matches!(verdict, Verdict::Conflict(_) | Verdict::Refused(_));
    let complete = applied.forged.is_empty() && !applied.items.iter().any(|(_, verdict)| left_out(verdict));
    Ok(if complete { 0 } else { LEFT_OUT })
}

/// Whether a diff was looked at, and another one would be shown now.
fn changed_since_diff(workspace: &Workspace, review: &Review) -> Result<bool, Failure> {
    let unread = |error| Failure::new(format!("cannot compare with the last diff: {error}"));
    let Some(last) = workspace.last_digest().map_err(unread)? else { return Ok(false) };
    Ok(*review.digest().map_err(unread)? != last)
}

fn settle(workspace: &Workspace, args: &WorkspaceApplyArgs) -> Result<u8, Failure> {
    let mut watch = Recorded::new(if args.resume { "resume" } else { "abort" }, workspace, &[])?;
    let settled = if args.resume { workspace.resume(&mut watch)? } else { workspace.abort(&mut watch)? };
    let (told, left) = match settled {
        Settled::Applied { left } => ("applied", left),
        Settled::NotApplied { left } => ("not applied", left),
        Settled::Nothing => ("nothing was interrupted", Vec::new()),
    };
    if args.json {
        let left: Vec<_> = left.iter().map(json::path).collect();
        print_json(&json!({"workspace": workspace.name().as_str(), "state": told, "left": left}))?;
    } else {
        print(told)?;
        for path in &left {
            print(&format!("left alone {}: it changed meanwhile, or cannot be reached", shown(path)))?;
        }
    }
    Ok(if left.is_empty() { 0 } else { LEFT_OUT })
}

/// `FILE:N`, several for one file.
fn hunks(words: &[String]) -> Result<BTreeMap<Relative, BTreeSet<usize>>, Failure> {
    let mut chosen: BTreeMap<Relative, BTreeSet<usize>> = BTreeMap::new();
    for word in words {
        let wrong =
            || Failure::new(format!("`--hunk {word}` is not FILE:N; `polder workspace diff` numbers the hunks"));
        let (file, number) = word.rsplit_once(':').ok_or_else(wrong)?;
        let number: usize = number.parse().map_err(|_| wrong())?;
        let file = Relative::new(Path::new(file))?;
        chosen.entry(file).or_default().insert(number);
    }
    Ok(chosen)
}

fn as_text(applied: &Applied) -> String {
    let mut lines = Vec::new();
    for (item, verdict) in &applied.items {
        let (word, why) = json::verdict(verdict);
        if *verdict == Verdict::NotChosen || item.git.is_some() {
            continue;
        }
        let what = match &item.change.what {
            polder_workspace::What::Renamed { from } => format!("{} to {}", shown(from), shown(&item.change.path)),
            _ => shown(&item.change.path),
        };
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let bits = match (item.stripped, verdict) {
            (Some(bits), Verdict::Taken) => format!(" (without the bits {bits:04o})"),
            _ => String::new(),
        };
        lines.push(format!("{word} {what}{why}{bits}"));
        if let (Some(note), Verdict::Taken) = (item.note, verdict) {
            lines.push(format!("  note: {note}"));
        }
    }
    for (change, verdict) in &applied.git {
        let (word, why) = json::verdict(verdict);
        let (repository, summary) = (paint::repository(change), change.summary());
        let path = if change.repository.as_os_str().is_empty() { "'**'" } else { repository.as_str() };
        lines.push(match verdict {
            Verdict::NotChosen => {
                format!("left {repository}: {summary} stay in the workspace; --path {path} takes them with their files")
            }
            _ => format!("{word} {repository}: {}", why.map_or(summary.clone(), |why| format!("{summary}: {why}"))),
        });
        if let (Some(one), Verdict::Held(_)) = (change.contained.first(), verdict) {
            lines.push(format!("  --include-held {} takes the file and the commits", shown(&one.path)));
        }
        lines.extend(change.held_keys.iter().map(|(key, why)| format!("  left out the key `{key}`: {why}")));
    }
    lines.extend(applied.forged.iter().map(|forged| format!("refused {}: {}", shown(&forged.path), forged.why)));
    if lines.is_empty() {
        lines.push("nothing to apply".to_owned());
    }
    if applied.items.iter().any(|(_, verdict)| matches!(verdict, Verdict::Held(_))) {
        lines.push("held back is what the host would execute later; --include-held PATH takes it".to_owned());
    }
    if applied.items.iter().any(|(_, verdict)| matches!(verdict, Verdict::Conflict(_))) {
        lines.push("a conflict leaves the host's version; --force PATH overwrites it".to_owned());
    }
    lines.join("\n")
}

fn as_json(workspace: &Workspace, applied: &Applied) -> serde_json::Value {
    let items: Vec<_> = applied
        .items
        .iter()
        .filter(|(item, _)| item.git.is_none())
        .map(|(item, verdict)| {
            let (word, why) = json::verdict(verdict);
            let mut told = json::item(item);
            told["verdict"] = json!(word);
            told["why"] = json!(why);
            told
        })
        .collect();
    let told = |(change, verdict): &(GitChange, Verdict)| {
        let (word, why) = json::verdict(verdict);
        let mut told = json::git(change);
        told["verdict"] = json!(word);
        told["why"] = json!(why);
        told
    };
    let git: Vec<_> = applied.git.iter().map(told).collect();
    let refused = json::forged(&applied.forged);
    json!({"workspace": workspace.name().as_str(), "changes": items, "git": git, "refused": refused})
}
