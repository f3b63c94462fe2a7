//! The values that expressions can name, and what an expression comes to.

use crate::expression::{Expression, Filter, Function, Key, Operator};
use crate::status::Status;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What the names of an expression stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Scope {
    /// What the caller gave: `inputs` and `args`.
    pub inputs: BTreeMap<String, String>,
    /// The variables that enter the sandbox of the step.
    pub env: BTreeMap<String, String>,
    /// The pull request, where there is one.
    pub pr: Option<Value>,
    /// What earlier steps wrote on their standard output.
    pub outputs: BTreeMap<String, Output>,
    /// How earlier steps ended.
    pub statuses: BTreeMap<String, Status>,
}

/// What a step wrote.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// This much.
    Text(String),
    /// More than is kept.
    TooLong,
    /// Bytes that are no text.
    NotText,
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError(pub String);

impl std::fmt::Display for ValueError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What the output of a step is as a value: JSON if all of it is an object or a list, else the text without its last line
/// breaks. Nothing is searched for inside a text: what a command prints must not turn into structure by accident.
pub fn output_value(text: &str) -> Value {
    let trimmed = text.trim();
    if trimmed.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str(trimmed)
    {
        return value;
    }
    text.trim_end_matches(['\n', '\r']).into()
}

/// The names that stand at the beginning of a path.
pub(crate) const ROOTS: &str = "outputs, outputs_raw, outputs_history, steps, inputs, args, env, pr";

/// What is known of a pull request.
pub(crate) const PULL_REQUEST: &str = "number, title, body, author, branch, base";

impl Scope {
    /// What the expression comes to; an absent value is null.
    pub(crate) fn value(&self, expression: &Expression) -> Result<Value, ValueError> {
        Ok(match expression {
            Expression::Literal(value) => value.clone(),
            Expression::Path(path) => self.path(path)?,
            Expression::Not(inner) => (!truth(&self.value(inner)?)).into(),
            Expression::Binary(operator, left, right) => self.binary(*operator, left, right)?,
            Expression::Call(function, arguments) => self.call(*function, arguments)?,
            Expression::Filtered(inner, filter) => filtered(self.value(inner)?, filter)?,
        })
    }

    /// Whether a condition holds.
    pub(crate) fn holds(&self, condition: &Expression) -> Result<bool, ValueError> {
        self.value(condition).map(|value| truth(&value))
    }

    fn path(&self, path: &[Key]) -> Result<Value, ValueError> {
        let (root, rest) = path.split_first().ok_or_else(|| ValueError("an empty path".to_owned()))?;
        let Key::Name(root) = root else { return Err(ValueError("a path begins with a name".to_owned())) };
        let map = |values: &BTreeMap<String, String>| {
            let Some((Key::Name(name), below)) = rest.split_first() else { return Value::Null };
            below.is_empty().then(|| values.get(name).cloned()).flatten().map_or(Value::Null, Value::String)
        };
        match root.as_str() {
            "inputs" | "args" => Ok(map(&self.inputs)),
            "env" => Ok(map(&self.env)),
            "pr" => Ok(self.pr.as_ref().map_or(Value::Null, |pr| below(pr, rest))),
            "outputs" | "outputs_raw" | "outputs_history" => self.output(root, rest),
            "steps" => Ok(self.status(rest)),
            other => Err(ValueError(format!("`{other}` is not known; known are {ROOTS}"))),
        }
    }

    fn output(&self, root: &str, path: &[Key]) -> Result<Value, ValueError> {
        let Some((Key::Name(step), rest)) = path.split_first() else {
            return Err(ValueError(format!("`{root}` needs the name of a step, as in `{root}.lint`")));
        };
        let text = match self.outputs.get(step) {
            Some(Output::Text(text)) => text,
            Some(Output::TooLong) => return Err(ValueError(format!("the output of `{step}` is too long to be kept"))),
            Some(Output::NotText) => return Err(ValueError(format!("the output of `{step}` is not UTF-8 text"))),
            None => return Ok(Value::Null),
        };
        Ok(match root {
            "outputs_raw" => below(&Value::String(text.clone()), rest),
            "outputs_history" => below(&Value::Array(vec![output_value(text)]), rest),
            _ => below(&output_value(text), rest),
        })
    }

    fn status(&self, path: &[Key]) -> Value {
        let [Key::Name(step), Key::Name(field)] = path else { return Value::Null };
        let Some(status) = self.statuses.get(step) else { return Value::Null };
        match field.as_str() {
            "status" => status.name().into(),
            "exit_code" => status.code().into(),
            _ => Value::Null,
        }
    }

    fn binary(&self, operator: Operator, left: &Expression, right: &Expression) -> Result<Value, ValueError> {
        let left = self.value(left)?;
        match operator {
            // As in both languages: the value of the side that decides.
            Operator::And => return if truth(&left) { self.value(right) } else { Ok(left) },
            Operator::Or => return if truth(&left) { Ok(left) } else { self.value(right) },
            _ => {}
        }
        let right = self.value(right)?;
        let order = order(&left, &right);
        let result = match operator {
            Operator::Equal => equal(&left, &right),
            Operator::Unequal => !equal(&left, &right),
            Operator::Less => order == Some(Ordering::Less),
            Operator::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
            Operator::And | Operator::Or => unreachable!("answered above"),
        };
        Ok(result.into())
    }

    fn call(&self, function: Function, arguments: &[Expression]) -> Result<Value, ValueError> {
        let values: Vec<Value> = arguments.iter().map(|argument| self.value(argument)).collect::<Result<_, _>>()?;
        let failed = || self.statuses.values().any(|status| !status.passed());
        let texts = || match &values[..] {
            [Value::String(a), Value::String(b)] => Some((a.as_str(), b.as_str())),
            _ => None,
        };
        Ok(match function {
            Function::Always => true.into(),
            Function::Success => (!failed()).into(),
            Function::Failure => failed().into(),
            Function::Contains => match &values[..] {
                [Value::Array(list), wanted] => list.iter().any(|value| equal(value, wanted)).into(),
                _ => texts().is_some_and(|(a, b)| a.contains(b)).into(),
            },
            Function::StartsWith => texts().is_some_and(|(a, b)| a.starts_with(b)).into(),
            Function::EndsWith => texts().is_some_and(|(a, b)| a.ends_with(b)).into(),
        })
    }
}

/// What lies at a path below a value.
fn below(value: &Value, path: &[Key]) -> Value {
    let step = |value: Value, key: &Key| -> Option<Value> {
        match (&value, key) {
            (Value::Array(list), Key::Name(name)) if matches!(name.as_str(), "length" | "size") => {
                Some(list.len().into())
            }
            (Value::Object(map), Key::Name(name)) => map.get(name).cloned(),
            (Value::Array(list), Key::Index(index)) => list.get(*index).cloned(),
            _ => None,
        }
    };
    path.iter().try_fold(value.clone(), step).unwrap_or(Value::Null)
}

fn truth(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Numbers by their value, whatever they are written as; everything else by what it is.
fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => left == right,
    }
}

fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn filtered(value: Value, filter: &Filter) -> Result<Value, ValueError> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(ValueError(format!("a filter for texts got {}", kind(other)))),
    };
    let list = |value: Value| match value {
        Value::Array(list) => Ok(list),
        other => Err(ValueError(format!("a filter for lists got {}", kind(&other)))),
    };
    Ok(match filter {
        Filter::Json => value.to_string().into(),
        Filter::Default(instead) => match &value {
            Value::Null => instead.clone(),
            Value::String(text) if text.is_empty() => instead.clone(),
            _ => value,
        },
        Filter::Strip => text(&value)?.trim().into(),
        Filter::Upcase => text(&value)?.to_uppercase().into(),
        Filter::Downcase => text(&value)?.to_lowercase().into(),
        Filter::Size => match &value {
            Value::Array(list) => list.len().into(),
            other => text(other)?.chars().count().into(),
        },
        Filter::First => list(value)?.first().cloned().unwrap_or(Value::Null),
        Filter::Last => list(value)?.last().cloned().unwrap_or(Value::Null),
        Filter::Join(between) => {
            let parts: Vec<_> = list(value)?.iter().map(shown).collect::<Result<_, _>>()?;
            parts.join(between).into()
        }
    })
}

/// A value as text: what a variable, an argument or standard input gets.
pub(crate) fn shown(value: &Value) -> Result<String, ValueError> {
    match value {
        Value::Null => Err(ValueError("there is no such value; `| default: \"…\"` stands in for it".to_owned())),
        Value::String(text) => Ok(text.clone()),
        other => Ok(other.to_string()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

#[cfg(test)]
mod tests;
