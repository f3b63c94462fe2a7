//! `polder workspace diff`.

use super::paint::{self, Paint};
use super::{json, print, shown, which};
use crate::args::WorkspaceDiffArgs;
use crate::exit::Failure;
use polder_workspace::{Item, Review};
use serde_json::json;

pub(crate) fn diff(args: &WorkspaceDiffArgs) -> Result<u8, Failure> {
    let workspace = which(&args.which)?;
    let review = workspace.review()?;
    let items = review.only(&args.path)?;
    if args.json {
        let changes: Vec<_> = items
            .iter()
            .map(|item| {
                let mut told = json::item(item);
                if !args.stat {
                    told["text"] = json::text(&review.text(item));
                }
                told
            })
            .collect();
        let (name, root) = (workspace.name().as_str(), workspace.root().to_string_lossy());
        let refused = json::forged(&review.forged);
        print(&json!({"workspace": name, "root": root, "changes": changes, "refused": refused}).to_string())?;
        return Ok(0);
    }
    let paint = Paint::for_stdout();
    for item in &items {
        if args.stat {
            print(&stat(&review, item))?;
        } else {
            print(&paint::item(item, &review.text(item), paint))?;
        }
    }
    for forged in &review.forged {
        print(&format!("refused {}\n  never applied: {}", shown(&forged.path), forged.why))?;
    }
    print(&summary(&items, review.forged.len()))?;
    Ok(0)
}

fn stat(review: &Review, item: &Item) -> String {
    let lines = match paint::counted(&review.text(item)) {
        Some((added, removed)) => format!("  +{added} -{removed}"),
        None => String::new(),
    };
    let notes: String = paint::notes(item).iter().map(|note| format!("\n  {note}")).collect();
    format!("{}{lines}{notes}", paint::heading(&item.change))
}

fn summary(items: &[&Item], forged: usize) -> String {
    let count = |wanted: fn(&Item) -> bool| items.iter().filter(|item| wanted(item)).count();
    let mut parts = vec![match items.len() {
        0 => "no changes".to_owned(),
        1 => "1 change".to_owned(),
        more => format!("{more} changes"),
    }];
    for (name, number) in [
        ("held back", count(|item| item.held.is_some())),
        ("in conflict", count(|item| item.conflict.is_some())),
        ("never applied", count(|item| item.refused.is_some()) + forged),
    ] {
        if number > 0 {
            parts.push(format!("{number} {name}"));
        }
    }
    parts.join(", ")
}
