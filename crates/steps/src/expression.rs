//! The expressions of templates and conditions: paths, literals, comparisons, a few functions and filters.
//!
//! What is not in the grammar is an error, never a text that happens to be left as it is.

use serde_json::Value;
use std::iter::Peekable;
use std::str::Chars;

/// Deeper than this is nobody's condition.
const DEPTH_MAX: usize = 32;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Literal(Value),
    /// `outputs.lint.count`, `inputs["a b"]`, `pr.files[0]`.
    Path(Vec<Key>),
    Not(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    Call(Function, Vec<Self>),
    Filtered(Box<Self>, Filter),
}

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Name(String),
    Index(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Always,
    Success,
    Failure,
    Contains,
    StartsWith,
    EndsWith,
}

const FUNCTIONS: [(&str, Function, usize); 6] = [
    ("always", Function::Always, 0),
    ("success", Function::Success, 0),
    ("failure", Function::Failure, 0),
    ("contains", Function::Contains, 2),
    ("startsWith", Function::StartsWith, 2),
    ("endsWith", Function::EndsWith, 2),
];

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Filter {
    /// The value as JSON.
    Json,
    /// This instead of nothing.
    Default(Value),
    /// Without white space at both ends.
    Strip,
    Upcase,
    Downcase,
    /// How long a text or list is.
    Size,
    First,
    Last,
    /// A list as one text.
    Join(String),
}

/// The names of the filters, for messages.
const FILTERS: &str = "json, default, strip, upcase, downcase, size, first, last, join";

/// Parses a whole text as one expression.
pub(crate) fn parse(text: &str) -> Result<Expression, String> {
    let mut parser = Parser { tokens: tokens(text)?.into_iter().peekable(), depth: 0 };
    let expression = parser.filtered()?;
    match parser.tokens.next() {
        None => Ok(expression),
        Some(token) => Err(format!("`{}` is out of place", token.shown())),
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Number(serde_json::Number),
    Name(String),
    Sign(&'static str),
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{text}\""),
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
            Self::Sign(sign) => (*sign).to_owned(),
        }
    }
}

/// Longest first, so that `===` is not `==` and `=`.
const SIGNS: [&str; 21] =
    ["===", "!==", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ".", ",", "|", ":", "-", "+"];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let used = match first {
            '"' | '\'' => {
                let inner = rest[1..].split(first).next().unwrap_or_default();
                if inner.len() + 2 > rest.len() {
                    return Err(format!("the text that begins with {first} does not end"));
                }
                if inner.contains('\\') {
                    return Err("a backslash means nothing in a text; use the other quotation mark".to_owned());
                }
                tokens.push(Token::Text(inner.to_owned()));
                inner.len() + 2
            }
            '0'..='9' => {
                let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
                let number = rest[..end].parse().map_err(|_| format!("`{}` is not a number", &rest[..end]))?;
                tokens.push(Token::Number(number));
                end
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let name = name(rest);
                tokens.push(Token::Name(name.to_owned()));
                name.len()
            }
            other => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                tokens.push(Token::Sign(sign.ok_or_else(|| format!("`{other}` is not understood"))?));
                sign.map_or(1, str::len)
            }
        };
        rest = rest[used..].trim_start();
    }
    Ok(tokens)
}

/// Letters, digits and `_`; a `-` between them, because names of steps have it and nothing is subtracted here.
fn name(text: &str) -> &str {
    let mut end = 0;
    let mut chars: Peekable<Chars<'_>> = text.chars().peekable();
    while let Some(c) = chars.next() {
        let joined = c == '-' && chars.peek().is_some_and(char::is_ascii_alphanumeric);
        if !(c.is_ascii_alphanumeric() || c == '_' || joined) {
            break;
        }
        end += c.len_utf8();
    }
    &text[..end]
}

struct Parser {
    tokens: Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
}

impl Parser {
    fn take(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.tokens.peek() {
            Some(Token::Sign(sign)) if signs.contains(sign) => {
                let sign = *sign;
                self.tokens.next();
                Some(sign)
            }
            _ => None,
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.peek(), Some(Token::Name(name)) if name == word);
        if found {
            self.tokens.next();
        }
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        self.take(&[sign]).map(|_| ()).ok_or_else(|| format!("`{sign}` is missing"))
    }

    fn filtered(&mut self) -> Result<Expression, String> {
        let mut expression = self.either()?;
        while self.take(&["|"]).is_some() {
            expression = Expression::Filtered(Box::new(expression), self.filter()?);
        }
        Ok(expression)
    }

    fn filter(&mut self) -> Result<Filter, String> {
        let Some(Token::Name(name)) = self.tokens.next() else {
            return Err(format!("a filter is missing behind `|`; known are {FILTERS}"));
        };
        let argument = if self.take(&[":"]).is_some() { Some(self.primary()?) } else { None };
        match (name.as_str(), argument) {
            ("json" | "to_json", None) => Ok(Filter::Json),
            ("default", Some(Expression::Literal(value))) => Ok(Filter::Default(value)),
            ("strip" | "trim", None) => Ok(Filter::Strip),
            ("upcase", None) => Ok(Filter::Upcase),
            ("downcase", None) => Ok(Filter::Downcase),
            ("size", None) => Ok(Filter::Size),
            ("first", None) => Ok(Filter::First),
            ("last", None) => Ok(Filter::Last),
            ("join", Some(Expression::Literal(Value::String(between)))) => Ok(Filter::Join(between)),
            ("join", None) => Ok(Filter::Join(" ".to_owned())),
            ("default", _) => Err("`default` needs a literal, as in `default: \"x\"`".to_owned()),
            (name, _) if FILTERS.split(", ").any(|known| known == name) => {
                Err(format!("the filter `{name}` does not take this"))
            }
            (name, _) => Err(format!("the filter `{name}` is not understood; known are {FILTERS}")),
        }
    }

    fn either(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("the expression is more than {DEPTH_MAX} levels deep"));
        }
        let mut left = self.both()?;
        while self.take(&["||"]).is_some() || self.word("or") {
            left = Expression::Binary(Operator::Or, Box::new(left), Box::new(self.both()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, String> {
        let mut left = self.compared()?;
        while self.take(&["&&"]).is_some() || self.word("and") {
            left = Expression::Binary(Operator::And, Box::new(left), Box::new(self.compared()?));
        }
        Ok(left)
    }

    fn compared(&mut self) -> Result<Expression, String> {
        let left = self.single()?;
        let operator = match self.take(&["===", "==", "!==", "!=", "<=", ">=", "<", ">"]) {
            Some("===" | "==") => Operator::Equal,
            Some("!==" | "!=") => Operator::Unequal,
            Some("<=") => Operator::LessOrEqual,
            Some(">=") => Operator::GreaterOrEqual,
            Some("<") => Operator::Less,
            Some(">") => Operator::Greater,
            Some(_) | None => return Ok(left),
        };
        Ok(Expression::Binary(operator, Box::new(left), Box::new(self.single()?)))
    }

    fn single(&mut self) -> Result<Expression, String> {
        let mut negations = 0;
        while self.take(&["!"]).is_some() || self.word("not") {
            negations += 1;
        }
        let mut expression = self.primary()?;
        for _ in 0..negations.min(DEPTH_MAX) {
            expression = Expression::Not(Box::new(expression));
        }
        Ok(expression)
    }

    fn primary(&mut self) -> Result<Expression, String> {
        match self.tokens.next() {
            Some(Token::Text(text)) => Ok(Expression::Literal(text.into())),
            Some(Token::Number(number)) => Ok(Expression::Literal(Value::Number(number))),
            Some(Token::Sign("(")) => {
                let inner = self.either()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Name(name)) => self.named(name),
            Some(other) => Err(format!("`{}` is out of place", other.shown())),
            None => Err("the expression ends too early".to_owned()),
        }
    }

    fn named(&mut self, name: String) -> Result<Expression, String> {
        match name.as_str() {
            "true" => return Ok(Expression::Literal(true.into())),
            "false" => return Ok(Expression::Literal(false.into())),
            "null" | "nil" | "undefined" => return Ok(Expression::Literal(Value::Null)),
            _ => {}
        }
        if self.take(&["("]).is_some() {
            return self.call(&name);
        }
        let mut path = vec![Key::Name(name)];
        loop {
            match self.take(&[".", "["]) {
                Some(".") => match self.tokens.next() {
                    Some(Token::Name(name)) => path.push(Key::Name(name)),
                    _ => return Err("a name is missing behind `.`".to_owned()),
                },
                Some(_) => {
                    path.push(match self.tokens.next() {
                        Some(Token::Text(name)) => Key::Name(name),
                        Some(Token::Number(number)) => {
                            let index = number.as_u64().and_then(|index| usize::try_from(index).ok());
                            Key::Index(index.ok_or_else(|| format!("`{number}` is not a place in a list"))?)
                        }
                        _ => return Err("a text or a number is missing behind `[`".to_owned()),
                    });
                    self.expect("]")?;
                }
                None => return Ok(Expression::Path(path)),
            }
        }
    }

    fn call(&mut self, name: &str) -> Result<Expression, String> {
        let known = FUNCTIONS.into_iter().find(|(known, _, _)| *known == name);
        let (_, function, wanted) = known.ok_or_else(|| {
            let names: Vec<_> = FUNCTIONS.iter().map(|(name, _, _)| *name).collect();
            format!("there is no function `{name}`; known are {}", names.join(", "))
        })?;
        let mut arguments = Vec::new();
        while self.take(&[")"]).is_none() {
            if !arguments.is_empty() {
                self.expect(",")?;
            }
            arguments.push(self.either()?);
        }
        if arguments.len() != wanted {
            return Err(format!("`{name}` takes {wanted} values, not {}", arguments.len()));
        }
        Ok(Expression::Call(function, arguments))
    }
}

impl Expression {
    /// Every path in it, with whether something stands in for it when it has no value.
    pub(crate) fn paths(&self) -> Vec<(&[Key], bool)> {
        match self {
            Self::Literal(_) => Vec::new(),
            Self::Path(path) => vec![(path, false)],
            Self::Not(inner) => inner.paths(),
            Self::Binary(_, left, right) => [left.paths(), right.paths()].concat(),
            Self::Call(_, arguments) => arguments.iter().flat_map(Self::paths).collect(),
            Self::Filtered(inner, Filter::Default(_)) => {
                inner.paths().into_iter().map(|(path, _)| (path, true)).collect()
            }
            Self::Filtered(inner, _) => inner.paths(),
        }
    }

    /// Whether it asks how its dependencies ended, so that it must be asked also when one failed.
    pub(crate) fn asks_for_failures(&self) -> bool {
        match self {
            Self::Literal(_) | Self::Path(_) => false,
            Self::Not(inner) | Self::Filtered(inner, _) => inner.asks_for_failures(),
            Self::Binary(_, left, right) => left.asks_for_failures() || right.asks_for_failures(),
            Self::Call(function, arguments) => {
                matches!(function, Function::Always | Function::Failure)
                    || arguments.iter().any(Self::asks_for_failures)
            }
        }
    }
}

#[cfg(test)]
mod tests;
