//! One step, understood: its texts parsed, every name in them known, before anything starts.

use crate::expression::{self, Expression, Key};
use crate::graph::Graph;
use crate::scope::{PULL_REQUEST, ROOTS, Scope, ValueError};
use crate::shell::{self, Script};
use crate::template::{self, Part, Template};
use polder_facts::{Origin, Sourced};
use polder_policy::{Dialect, Fault, Faults, Step};
use std::collections::{BTreeMap, BTreeSet};

/// The type of a step that runs.
const COMMAND: &str = "command";
/// The shell that every sandbox has.
const SHELL: &str = "/bin/sh";
/// The longest text that the kernel passes as one argument or variable is 128 KiB, with its name and its end.
const TEXT_BYTES_MAX: usize = 128 * 1024 - 1024;

/// A step whose texts are understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Its name.
    pub name: String,
    /// Where it is defined.
    pub origin: Origin,
    program: Program,
    env: Vec<(Sourced<String>, Template)>,
    stdin: Option<Sourced<Template>>,
    condition: Option<Sourced<Expression>>,
    sandbox: Option<Sourced<Template>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Program {
    Shell { script: Script, template: Template, origin: Origin },
    Arguments { words: Vec<Template>, origin: Origin },
}

/// A step with the values of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The step's own variables, with where they are written.
    pub env: Vec<Sourced<(String, String)>>,
    /// The variables that carry values into a shell's text.
    pub values: BTreeMap<String, String>,
    /// What it reads.
    pub stdin: Option<String>,
}

/// Understands every step of the graph; all faults at once.
pub fn works(steps: &[Step], graph: &Graph) -> Result<Vec<Work>, Faults> {
    let (works, faults) = understood(steps, graph);
    all_right(works, foreign(steps, graph).into_iter().chain(faults).collect())
}

/// Whether polder understands every step that it can run. Steps of another tool are right where they are.
pub fn check(steps: &[Step], graph: &Graph) -> Result<(), Faults> {
    all_right((), understood(steps, graph).1)
}

fn all_right<T>(value: T, mut faults: Vec<Fault>) -> Result<T, Faults> {
    faults.sort_by(|a, b| a.origin.cmp(&b.origin));
    faults.dedup();
    if faults.is_empty() { Ok(value) } else { Err(Faults(faults)) }
}

fn understood(steps: &[Step], graph: &Graph) -> (Vec<Work>, Vec<Fault>) {
    let (mut works, mut faults) = (Vec::new(), Vec::new());
    for (place, node) in graph.nodes.iter().enumerate() {
        let step = &steps[node.step];
        if step.kind.value != COMMAND {
            continue;
        }
        match work(step) {
            Ok(work) => {
                faults.extend(work.unknown_names(&graph.before(place)));
                works.push(work);
            }
            Err(more) => faults.extend(more),
        }
    }
    (works, faults)
}

/// Steps of another tool, each by name, with what to do.
fn foreign(steps: &[Step], graph: &Graph) -> Vec<Fault> {
    let ours = runnable(steps);
    let hint = if ours.is_empty() {
        "run it with the tool that the file belongs to".to_owned()
    } else {
        format!("run it with the tool that the file belongs to, and name what polder shall run: {}", ours.join(", "))
    };
    let taken = graph.nodes.iter().map(|node| &steps[node.step]).filter(|step| step.kind.value != COMMAND);
    taken
        .map(|step| Fault {
            origin: step.kind.origin.clone(),
            message: format!(
                "the step `{}` is of the type `{}`, and polder runs `{COMMAND}` only",
                step.name, step.kind.value
            ),
            hint: Some(hint.clone()),
        })
        .collect()
}

/// The steps that polder can run with everything that they wait for, in the order of the files.
fn runnable(steps: &[Step]) -> Vec<&str> {
    let waits_for = |step: &Step, names: &BTreeSet<&str>| {
        let before = step.depends_on.iter().flat_map(|dependency| dependency.value.split('|'));
        before.into_iter().any(|name| names.contains(name.trim()))
    };
    let mut lost: BTreeSet<&str> =
        steps.iter().filter(|step| step.kind.value != COMMAND).map(|step| step.name.as_str()).collect();
    loop {
        let more: Vec<_> = steps
            .iter()
            .filter(|step| !lost.contains(step.name.as_str()) && waits_for(step, &lost))
            .map(|step| step.name.as_str())
            .collect();
        if more.is_empty() {
            return steps.iter().map(|step| step.name.as_str()).filter(|name| !lost.contains(name)).collect();
        }
        lost.extend(more);
    }
}

fn work(step: &Step) -> Result<Work, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut keep = |result: Result<Template, String>, origin: &Origin| match result {
        Ok(template) => template,
        Err(message) => {
            faults.push(Fault { origin: origin.clone(), message, hint: None });
            Template { parts: Vec::new() }
        }
    };
    let mut sourced = |text: &Option<Sourced<String>>| {
        text.as_ref().map(|text| Sourced::new(keep(template::parse(&text.value), &text.origin), text.origin.clone()))
    };
    let (stdin, sandbox, exec) = (sourced(&step.stdin), sourced(&step.sandbox), sourced(&step.exec));
    let env = step.env.iter().map(|variable| {
        let (name, value) = &variable.value;
        let template = keep(template::parse(value), &variable.origin);
        let template = if is_visor(&variable.origin) { with_shell_names(template) } else { template };
        (Sourced::new(name.clone(), variable.origin.clone()), template)
    });
    let env = env.collect();
    let program = match (exec, &step.command) {
        (Some(Sourced { value: template, origin }), _) => {
            let script = shell::script(&template).unwrap_or_else(|message| {
                faults.push(Fault { origin: origin.clone(), message, hint: None });
                Script { text: String::new(), variables: BTreeMap::new() }
            });
            if script.text.len() > TEXT_BYTES_MAX {
                let message = format!("`exec` is {} bytes, and the most is {TEXT_BYTES_MAX}", script.text.len());
                faults.push(Fault { origin: origin.clone(), message, hint: Some("put it into a file".to_owned()) });
            }
            Program::Shell { script, template, origin }
        }
        (None, Some(command)) => {
            let words: Vec<_> = command.value.iter().map(|word| keep(template::parse(word), &command.origin)).collect();
            if words.first().is_some_and(|program| program.values().next().is_some()) {
                let message = "the program of a `command` cannot be a template".to_owned();
                faults.push(Fault { origin: command.origin.clone(), message, hint: None });
            }
            Program::Arguments { words, origin: command.origin.clone() }
        }
        // Reported by the policy.
        (None, None) => Program::Arguments { words: Vec::new(), origin: step.origin.clone() },
    };
    let condition = step.condition.as_ref().and_then(|condition| {
        let inner = condition.value.trim();
        let inner = inner.strip_prefix("${{").or_else(|| inner.strip_prefix("{{")).unwrap_or(inner);
        match expression::parse(inner.strip_suffix("}}").unwrap_or(inner).trim()) {
            Ok(expression) => Some(Sourced::new(expression, condition.origin.clone())),
            Err(why) => {
                let message = format!("`if: {}`: {why}", condition.value);
                faults.push(Fault { origin: condition.origin.clone(), message, hint: None });
                None
            }
        }
    });
    let work = Work {
        name: step.name.clone(),
        origin: step.origin.clone(),
        program,
        env,
        stdin,
        condition,
        sandbox: sandbox.filter(|name| name.value.values().next().is_some()),
    };
    if faults.is_empty() { Ok(work) } else { Err(faults) }
}

fn is_visor(origin: &Origin) -> bool {
    matches!(origin, Origin::File { path, .. } if Dialect::of(path) == Dialect::Visor)
}

/// `$NAME` and `${NAME}` in the variables of a `.visor.yaml`; one that has no value stays as it is written.
fn with_shell_names(template: Template) -> Template {
    let mut parts = Vec::new();
    for part in template.parts {
        let Part::Text(text) = part else {
            parts.push(part);
            continue;
        };
        let mut rest = text.as_str();
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            let braced = from.starts_with("${");
            let inner = &from[if braced { 2 } else { 1 }..];
            let end = inner
                .find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'))
                .unwrap_or(inner.len());
            let closed = !braced || inner[end..].starts_with('}');
            let named = closed && inner.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
            parts.push(Part::Text(before.to_owned()));
            if named {
                let used = 1 + usize::from(braced) * 2 + end;
                let path = Expression::Path(vec![Key::Name("env".to_owned()), Key::Name(inner[..end].to_owned())]);
                let written = &from[..used];
                let default = expression::Filter::Default(written.into());
                parts.push(Part::Value(Expression::Filtered(Box::new(path), default), written.to_owned()));
                rest = &from[used..];
            } else {
                parts.push(Part::Text("$".to_owned()));
                rest = &from[1..];
            }
        }
        parts.push(Part::Text(rest.to_owned()));
    }
    Template { parts }
}

/// How a command finds out what names of another tool stand for.
const FILES: &str = "ask git in `exec`, as in `git diff --name-only \"$BASE\"...`";

/// What to write instead of a name that templates of another tool know.
fn instead(root: &str) -> Option<&'static str> {
    match root {
        "files" | "fileCount" | "filesSummary" | "diff" => Some(FILES),
        "memory" => Some("a step hands its values on by what it writes: `outputs.STEP`"),
        "output" => Some("what a step wrote is `outputs.STEP`, in a step that waits for it"),
        "event" | "github" => {
            Some("pass a variable, as in `env_passthrough: [GITHUB_REF]`, and name it: `env.GITHUB_REF`")
        }
        "secrets" => Some("a secret is a variable: `credentials`, or `env_passthrough` and `env.NAME`"),
        "vars" | "params" => Some("give it with `--input NAME=VALUE`, and name it: `inputs.NAME`"),
        "needs" => Some("what a step wrote is `outputs.STEP`, and how it ended `steps.STEP.status`"),
        "branch" => Some("the branch of a pull request is `pr.branch`; else ask git in `exec`"),
        _ => None,
    }
}

/// An expression of a step, where it stands, and whether nothing is an answer there.
struct Named<'a> {
    expression: &'a Expression,
    origin: &'a Origin,
    may_lack: bool,
}

impl Work {
    fn expressions(&self) -> Vec<Named<'_>> {
        let mut all = Vec::new();
        match &self.program {
            Program::Shell { template, origin, .. } => all.extend(named(template, origin)),
            Program::Arguments { words, origin } => words.iter().for_each(|word| all.extend(named(word, origin))),
        }
        self.env.iter().for_each(|(name, template)| all.extend(named(template, &name.origin)));
        self.stdin.iter().for_each(|stdin| all.extend(named(&stdin.value, &stdin.origin)));
        self.sandbox.iter().for_each(|sandbox| all.extend(named(&sandbox.value, &sandbox.origin)));
        all.extend(self.condition.iter().map(|condition| Named {
            expression: &condition.value,
            origin: &condition.origin,
            may_lack: true,
        }));
        all
    }

    /// Names that stand for nothing, or for a step that may not have ended.
    fn unknown_names(&self, before: &BTreeSet<&str>) -> Vec<Fault> {
        let mut faults = Vec::new();
        for Named { expression, origin, .. } in self.expressions() {
            for (path, _) in expression.paths() {
                let fault = |message: String, hint: Option<String>| Fault { origin: origin.clone(), message, hint };
                match path {
                    [Key::Name(root), Key::Name(step), ..]
                        if (root.starts_with("outputs") || root == "steps") && !before.contains(step.as_str()) =>
                    {
                        let message =
                            format!("`{root}.{step}` is named, and `{}` does not wait for `{step}`", self.name);
                        faults.push(fault(message, Some(format!("add `{step}` to its `depends_on`"))));
                    }
                    [Key::Name(root), ..] if !ROOTS.split(", ").any(|known| known == root) => {
                        let hint = instead(root).map_or_else(|| format!("known are {ROOTS}"), str::to_owned);
                        faults.push(fault(format!("`{root}` is not known in a template"), Some(hint)));
                    }
                    [Key::Name(root), Key::Name(field), ..]
                        if root == "pr" && !PULL_REQUEST.split(", ").any(|known| known == field) =>
                    {
                        let hint =
                            if field == "files" { FILES.to_owned() } else { format!("known are {PULL_REQUEST}") };
                        faults.push(fault(format!("a pull request has no `{field}` in a template"), Some(hint)));
                    }
                    [Key::Name(root), Key::Name(_), Key::Name(field), ..]
                        if root == "steps" && !matches!(field.as_str(), "status" | "exit_code") =>
                    {
                        let hint = "known are status, exit_code; what it wrote is in `outputs`".to_owned();
                        faults.push(fault(format!("a step has no `{field}` in a template"), Some(hint)));
                    }
                    [Key::Name(root)] if root != "pr" => {
                        faults.push(fault(format!("`{root}` needs a name behind it, as in `{root}.x`"), None));
                    }
                    _ => {}
                }
            }
        }
        // The name of a sandbox is needed before anything has run.
        for (expression, _) in self.sandbox.iter().flat_map(|sandbox| sandbox.value.values()) {
            for (path, _) in expression.paths() {
                if let Some(Key::Name(root)) = path.first()
                    && (root.starts_with("outputs") || matches!(root.as_str(), "steps" | "env"))
                {
                    let message = format!("the `sandbox` of `{}` must be known before anything runs", self.name);
                    faults.push(Fault { origin: self.origin.clone(), message, hint: Some("use `inputs`".to_owned()) });
                }
            }
        }
        faults
    }

    /// The steps whose output it names.
    pub fn outputs(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for named in self.expressions() {
            for (path, _) in named.expression.paths() {
                if let [Key::Name(root), Key::Name(step), ..] = path
                    && root.starts_with("outputs")
                {
                    names.insert(step.clone());
                }
            }
        }
        names
    }

    /// What is known before anything runs and has no value: inputs that nobody gave, variables that do not pass, a pull
    /// request that is not there.
    pub fn lacking(&self, scope: &Scope) -> Vec<Fault> {
        let mut faults = Vec::new();
        for Named { expression, origin, may_lack } in self.expressions() {
            for (path, defaulted) in expression.paths() {
                let [Key::Name(root), rest @ ..] = path else { continue };
                let name = rest.first().map(|key| match key {
                    Key::Name(name) => name.clone(),
                    Key::Index(index) => index.to_string(),
                });
                let name = name.unwrap_or_default();
                let (message, hint) = match root.as_str() {
                    _ if defaulted || may_lack => continue,
                    "inputs" | "args" if !scope.inputs.contains_key(&name) => {
                        (format!("the input `{name}` has no value"), format!("give it with --input {name}=…"))
                    }
                    "env" if !scope.env.contains_key(&name) => (
                        format!("the variable `{name}` does not enter the sandbox of `{}`", self.name),
                        "add it to `env_passthrough`, or set it".to_owned(),
                    ),
                    "pr" if scope.pr.is_none() => {
                        ("there is no pull request here".to_owned(), "`| default: \"…\"` stands in for it".to_owned())
                    }
                    _ => continue,
                };
                faults.push(Fault { origin: origin.clone(), message, hint: Some(hint) });
            }
        }
        faults
    }

    /// The sandbox that a template names.
    pub fn sandbox(&self, scope: &Scope) -> Result<Option<Sourced<String>>, ValueError> {
        let rendered = self
            .sandbox
            .as_ref()
            .map(|sandbox| sandbox.value.text(scope).map(|name| Sourced::new(name, sandbox.origin.clone())));
        rendered.transpose()
    }

    /// Whether it wants to be asked also when what it waits for failed.
    pub fn undaunted(&self) -> bool {
        self.condition.as_ref().is_some_and(|condition| condition.value.asks_for_failures())
    }

    /// Whether its condition holds.
    pub fn holds(&self, scope: &Scope) -> Result<bool, ValueError> {
        self.condition.as_ref().map_or(Ok(true), |condition| scope.holds(&condition.value))
    }

    /// The step as it would be, with nothing where a value is not known yet: what is judged before anything runs.
    pub fn outline(&self) -> Rendered {
        let command = match &self.program {
            Program::Shell { script, .. } => vec![SHELL.to_owned(), "-c".to_owned(), script.text.clone()],
            Program::Arguments { words, .. } => words.iter().map(literal).collect(),
        };
        let values = match &self.program {
            Program::Shell { script, .. } => {
                script.variables.keys().map(|name| (name.clone(), String::new())).collect()
            }
            Program::Arguments { .. } => BTreeMap::new(),
        };
        let env = self
            .env
            .iter()
            .map(|(name, template)| Sourced::new((name.value.clone(), literal(template)), name.origin.clone()));
        Rendered { command, env: env.collect(), values, stdin: None }
    }

    /// The step with the values of its time.
    pub fn render(&self, scope: &Scope) -> Result<Rendered, ValueError> {
        let mut values = BTreeMap::new();
        let command = match &self.program {
            Program::Shell { script, template, .. } => {
                for (name, part) in &script.variables {
                    if let Part::Value(expression, written) = &template.parts[*part] {
                        let value = template::value(expression, written, scope)?;
                        values.insert(name.clone(), passable(value, written)?);
                    }
                }
                vec![SHELL.to_owned(), "-c".to_owned(), script.text.clone()]
            }
            Program::Arguments { words, .. } => {
                words.iter().map(|word| passable(word.text(scope)?, "an argument")).collect::<Result<_, _>>()?
            }
        };
        let mut env = Vec::new();
        for (name, template) in &self.env {
            let value = passable(template.text(scope)?, &name.value)?;
            env.push(Sourced::new((name.value.clone(), value), name.origin.clone()));
        }
        let stdin = self.stdin.as_ref().map(|stdin| stdin.value.text(scope)).transpose()?;
        Ok(Rendered { command, env, values, stdin })
    }
}

fn named<'a>(template: &'a Template, origin: &'a Origin) -> impl Iterator<Item = Named<'a>> {
    template.values().map(move |(expression, _)| Named { expression, origin, may_lack: false })
}

fn literal(template: &Template) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) => text.clone(),
        Part::Value(..) => String::new(),
    };
    template.parts.iter().map(text).collect()
}

/// A value that a variable or an argument can carry.
fn passable(value: String, what: &str) -> Result<String, ValueError> {
    if value.contains('\0') {
        return Err(ValueError(format!(
            "`{what}` has a NUL byte, which no variable and no argument can carry; use `stdin`"
        )));
    }
    if value.len() > TEXT_BYTES_MAX {
        let bytes = value.len();
        return Err(ValueError(format!(
            "`{what}` is {bytes} bytes, and the kernel passes at most {TEXT_BYTES_MAX}; use `stdin`"
        )));
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
