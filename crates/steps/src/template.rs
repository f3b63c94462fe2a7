//! Texts with `{{ expressions }}` in them.

use crate::expression::{self, Expression};
use crate::scope::{Scope, ValueError, shown};

/// A parsed text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(crate) parts: Vec<Part>,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// As it was written.
    Text(String),
    /// An expression, with how it was written.
    Value(Expression, String),
}

/// Takes a text apart. A literal text in braces, as in `{{ "{{" }}`, and what stands in `{% raw %}…{% endraw %}` is text.
pub(crate) fn parse(text: &str) -> Result<Template, String> {
    let mut parts: Vec<Part> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        let inner = &rest[at + 2..];
        if rest[at..].starts_with("{%") {
            push(&mut parts, &rest[..at]);
            rest = raw(&mut parts, inner)?;
            continue;
        }
        // `${{ x }}` is how CI systems write `{{ x }}`.
        push(&mut parts, rest[..at].strip_suffix('$').unwrap_or(&rest[..at]));
        let end = end(inner).ok_or_else(|| format!("`{{{{` is not closed: {}", begin(inner)))?;
        // `{{- x -}}` takes white space away in the other tool; here it is only read.
        let written = inner[..end].trim().trim_start_matches('-').trim_end_matches('-').trim();
        match expression::parse(written).map_err(|why| format!("`{{{{ {written} }}}}`: {why}"))? {
            Expression::Literal(serde_json::Value::String(literal)) => push(&mut parts, &literal),
            value => parts.push(Part::Value(value, written.to_owned())),
        }
        rest = &inner[end + 2..];
    }
    push(&mut parts, rest);
    Ok(Template { parts })
}

fn push(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(last)) => last.push_str(text),
        Some(Part::Value(..)) | None => parts.push(Part::Text(text.to_owned())),
    }
}

/// Where the braces close, looking past quoted texts.
fn end(inner: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in inner.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '}') if inner[at..].starts_with("}}") => return Some(at),
            (None, _) => {}
        }
    }
    None
}

fn raw<'a>(parts: &mut Vec<Part>, inner: &'a str) -> Result<&'a str, String> {
    let tag = |text: &'a str| -> Option<(&'a str, &'a str)> {
        let (tag, rest) = text.split_once("%}")?;
        Some((tag.trim().trim_matches('-').trim(), rest))
    };
    let (name, mut rest) = tag(inner).ok_or_else(|| format!("`{{%` is not closed: {}", begin(inner)))?;
    if name != "raw" {
        let word = name.split_whitespace().next().unwrap_or_default();
        return Err(format!(
            "`{{% {word} %}}` is not understood: use the step's `if`, or a shell's own `if` and `for`"
        ));
    }
    loop {
        let at = rest.find("{%").ok_or("`{% raw %}` is not closed by `{% endraw %}`")?;
        push(parts, &rest[..at]);
        match tag(&rest[at + 2..]) {
            Some(("endraw", after)) => return Ok(after),
            _ => {
                push(parts, "{%");
                rest = &rest[at + 2..];
            }
        }
    }
}

fn begin(text: &str) -> String {
    text.chars().take(20).collect()
}

impl Template {
    /// Every expression in it.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&Expression, &str)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(expression, written) => Some((expression, written.as_str())),
        })
    }

    /// The text with its values in it, for places where a text is only a text: a variable, an argument, an input.
    pub(crate) fn text(&self, scope: &Scope) -> Result<String, ValueError> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Value(expression, written) => text.push_str(&value(expression, written, scope)?),
            }
        }
        Ok(text)
    }
}

/// An expression's value as text; an error names how it was written.
pub(crate) fn value(expression: &Expression, written: &str, scope: &Scope) -> Result<String, ValueError> {
    let named = |error: ValueError| ValueError(format!("`{{{{ {written} }}}}`: {error}"));
    scope.value(expression).and_then(|value| shown(&value)).map_err(named)
}

#[cfg(test)]
mod tests;
