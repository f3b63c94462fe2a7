//! A template as the program of a shell: every value enters as a variable, and the text only names it.
//!
//! A value that was pasted into the text would be parsed with it, and a pull request's title would be a program. The
//! shell does not parse what a variable expands to, so no value can ever be more than the word that stands for it. The
//! quotes around it follow from where it stands; a place where the shell would parse it all the same, or where it would
//! stay a name, is refused when the configuration is read.

use crate::template::{Part, Template};
use std::collections::BTreeMap;

/// What the names of the variables begin with.
pub(crate) const PREFIX: &str = "POLDER_VALUE_";

/// A shell text that names its values, and which expression each name stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    pub(crate) text: String,
    /// Part of the template by the variable that carries it.
    pub(crate) variables: BTreeMap<String, usize>,
}

/// Where in a shell's text something stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Plain,
    Single,
    Double,
    /// `$( … )` or `( … )`.
    Command,
    /// `$(( … ))` and `(( … ))`: the shell evaluates what a variable holds.
    Arithmetic,
    /// `[[ … ]]`, where bash evaluates what stands beside `-eq` and its kin, and takes `==` for a pattern.
    Test,
    /// `name[ … ]`, which bash evaluates.
    Subscript,
    /// A parenthesis in there.
    Group,
    /// `${ … }`.
    Parameter,
    Backtick,
    /// `$'…'`, which not every shell knows.
    Dollar,
    Comment,
    Document(Document),
}

/// A here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Document {
    word: String,
    /// Its word was quoted, so nothing in it is expanded.
    literal: bool,
    /// `<<-` lets tabs stand before the word.
    indented: bool,
    line: String,
}

/// Turns a template into a script, or says where a value cannot stand.
pub(crate) fn script(template: &Template) -> Result<Script, String> {
    let mut reader = Reader { stack: vec![Place::Plain], waiting: Vec::new(), word_start: true };
    let mut text = String::new();
    let mut variables: BTreeMap<String, usize> = BTreeMap::new();
    let mut written_as: BTreeMap<&str, String> = BTreeMap::new();
    for (index, part) in template.parts.iter().enumerate() {
        match part {
            Part::Text(piece) => {
                reader.read(piece);
                text.push_str(piece);
            }
            Part::Value(_, written) => {
                let name = written_as.entry(written).or_insert_with(|| {
                    let name = format!("{PREFIX}{}", variables.len() + 1);
                    variables.insert(name.clone(), index);
                    name
                });
                let naming = reader.naming(name).map_err(|why| format!("`{{{{ {written} }}}}` {why}"))?;
                text.push_str(&naming);
                reader.value();
            }
        }
    }
    Ok(Script { text, variables })
}

struct Reader {
    stack: Vec<Place>,
    /// Here-documents that begin behind the next line break.
    waiting: Vec<Document>,
    /// Whether a `#` would begin a comment.
    word_start: bool,
}

impl Reader {
    fn place(&mut self) -> &mut Place {
        self.stack.last_mut().expect("invariant: the plain place is never left")
    }

    fn leave(&mut self) {
        if self.stack.len() > 1 {
            self.stack.pop();
        }
    }

    /// How a variable is named where the reader stands.
    fn naming(&mut self, name: &str) -> Result<String, String> {
        // Quotes do not help there: what they hold is evaluated all the same.
        let near = self.stack.iter().rev().take_while(|place| **place != Place::Command);
        if near.into_iter().any(|place| matches!(place, Place::Test | Place::Subscript)) {
            return Err(
                "stands in `[[ ]]` or in a subscript, where bash evaluates what a value says; write `[ ]`, or \
                        check it first and use a variable of your own"
                    .to_owned(),
            );
        }
        match self.place() {
            Place::Plain | Place::Command | Place::Test | Place::Subscript => Ok(format!("\"${{{name}}}\"")),
            Place::Double | Place::Comment => Ok(format!("${{{name}}}")),
            Place::Single => Ok(format!("'\"${{{name}}}\"'")),
            Place::Document(Document { literal: false, .. }) => Ok(format!("${{{name}}}")),
            Place::Document(_) => Err("stands in a here-document with a quoted word, where nothing is expanded; \
                                       take the quotes away, or use `env`"
                .to_owned()),
            Place::Arithmetic | Place::Group => {
                Err("stands in `(( ))`, where a shell evaluates what a value says; check it first and \
                                      use a variable of your own"
                    .to_owned())
            }
            Place::Parameter => Err("stands in `${ }`; give the step an `env` and name that variable".to_owned()),
            Place::Backtick => Err("stands in backticks; write `$( )`".to_owned()),
            Place::Dollar => Err("stands in `$'…'`; use plain quotes".to_owned()),
        }
    }

    /// A value was named here.
    fn value(&mut self) {
        self.word_start = false;
        if let Place::Document(document) = self.place() {
            document.line.push('\0');
        }
    }

    fn read(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let used = self.step(c, rest);
            rest = &rest[used.clamp(c.len_utf8(), rest.len())..];
        }
    }

    /// Reads what stands at the beginning of `rest`; says how many bytes that was.
    fn step(&mut self, c: char, rest: &str) -> usize {
        let word_start =
            std::mem::replace(&mut self.word_start, c.is_whitespace() || matches!(c, ';' | '&' | '|' | '('));
        let escaped = || rest.chars().take(2).map(char::len_utf8).sum();
        match (self.place().clone(), c) {
            (Place::Document(document), c) => {
                self.document(document, c);
                c.len_utf8()
            }
            (Place::Comment, '\n') => {
                self.leave();
                self.line_ends();
                1
            }
            (Place::Comment, _) => c.len_utf8(),
            (Place::Single, '\'') | (Place::Dollar, '\'') | (Place::Double, '"') | (Place::Parameter, '}') => {
                self.leave();
                1
            }
            (Place::Single, _) => c.len_utf8(),
            (_, '\\') => escaped(),
            (Place::Dollar, _) => c.len_utf8(),
            (Place::Backtick, '`') => {
                self.leave();
                1
            }
            (_, '`') => self.enter(Place::Backtick, 1),
            (_, '$') if rest.starts_with("$((") => self.enter(Place::Arithmetic, 3),
            (_, '$') if rest.starts_with("$(") => self.enter(Place::Command, 2),
            (_, '$') if rest.starts_with("${") => self.enter(Place::Parameter, 2),
            (Place::Arithmetic, ')') if rest.starts_with("))") => {
                self.leave();
                2
            }
            (Place::Group, ')') => {
                self.leave();
                1
            }
            (Place::Arithmetic | Place::Group, '(') => self.enter(Place::Group, 1),
            (Place::Arithmetic | Place::Group, _) => c.len_utf8(),
            (Place::Double, _) => c.len_utf8(),
            (_, '$') if rest.starts_with("$'") => self.enter(Place::Dollar, 2),
            (_, '\'') => self.enter(Place::Single, 1),
            (_, '"') => self.enter(Place::Double, 1),
            (Place::Parameter, _) => c.len_utf8(),
            (Place::Test, ']') if rest.starts_with("]]") => {
                self.leave();
                2
            }
            (Place::Subscript, ']') => {
                self.leave();
                1
            }
            (Place::Plain | Place::Command, '[') if word_start && rest.starts_with("[[") => self.enter(Place::Test, 2),
            (Place::Plain | Place::Command, '[') if !word_start => self.enter(Place::Subscript, 1),
            (_, '(') if rest.starts_with("((") => self.enter(Place::Arithmetic, 2),
            (Place::Command, '(') => self.enter(Place::Command, 1),
            (Place::Command, ')') => {
                self.leave();
                1
            }
            (_, '#') if word_start => self.enter(Place::Comment, 1),
            (_, '<') if rest.starts_with("<<<") => 3,
            (_, '<') if rest.starts_with("<<") => self.announced(rest),
            (_, '\n') => {
                self.line_ends();
                1
            }
            (_, c) => c.len_utf8(),
        }
    }

    fn enter(&mut self, place: Place, used: usize) -> usize {
        self.stack.push(place);
        self.word_start = true;
        used
    }

    /// `<<WORD`, `<<-WORD`, `<<'WORD'`.
    fn announced(&mut self, rest: &str) -> usize {
        let after = &rest[2..];
        let indented = after.starts_with('-');
        let word = after.trim_start_matches('-').trim_start_matches([' ', '\t']);
        let end = word
            .find(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '>' | '<' | ')'))
            .unwrap_or(word.len());
        let plain: String = word[..end].chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
        let literal = plain.len() < end;
        self.waiting.push(Document { word: plain, literal, indented, line: String::new() });
        rest.len() - word.len() + end
    }

    fn line_ends(&mut self) {
        self.word_start = true;
        // The first one is read first, so it lies on top.
        let waiting = std::mem::take(&mut self.waiting);
        self.stack.extend(waiting.into_iter().rev().map(Place::Document));
    }

    fn document(&mut self, mut document: Document, c: char) {
        self.leave();
        if c == '\n' {
            let line = if document.indented { document.line.trim_start_matches('\t') } else { &document.line };
            if line == document.word {
                self.word_start = true;
                return;
            }
            document.line.clear();
        } else {
            document.line.push(c);
        }
        self.stack.push(Place::Document(document));
    }
}

#[cfg(test)]
mod tests;
