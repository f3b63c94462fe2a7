//! The one table of keys. The parser's check and the JSON schema are both made from it, so they cannot disagree.

use crate::dialect::Dialect;

/// One key of a map.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) doc: &'static str,
    pub(crate) of: Of,
    pub(crate) required: bool,
}

/// Whose files may have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Own,
    Visor,
    Both,
}

impl Key {
    /// Whether files of this dialect may have the key.
    pub(crate) const fn is_in(&self, dialect: Dialect) -> bool {
        match (self.of, dialect) {
            (Of::Both, _) | (Of::Own, Dialect::Own) | (Of::Visor, Dialect::Visor) => true,
            (Of::Own, Dialect::Visor) | (Of::Visor, Dialect::Own) => false,
        }
    }
}

/// A map with known keys.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name in the schema.
    pub(crate) name: &'static str,
    pub(crate) keys: &'static [&'static [Key]],
}

impl Table {
    /// The keys that files of this dialect may have.
    pub(crate) fn keys(&self, dialect: Dialect) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().copied().flatten().filter(move |key| key.is_in(dialect))
    }

    pub(crate) fn key(&self, name: &str, dialect: Dialect) -> Option<&'static Key> {
        self.keys(dialect).find(|key| key.name == name)
    }
}

/// What a value looks like. What it means is checked where it is read.
#[derive(Debug)]
pub(crate) enum Shape {
    Bool,
    Text,
    /// A whole number above zero.
    Count,
    /// A number above zero.
    Number,
    /// `512M`, or a number of bytes.
    Size,
    /// `10m`.
    Span,
    /// One of these texts.
    Word(&'static [&'static str]),
    Guarantee,
    Map(&'static Table),
    MapOf(&'static Shape),
    ListOf(&'static Shape),
    Either(&'static [Shape]),
    /// A text, a number, or true or false: what becomes the value of a variable.
    Scalar,
    /// A map that somebody else reads.
    Opaque,
    /// Whatever somebody else reads. Whoever has such a key is told that it changes nothing here.
    Unread,
    /// The same where a map would be more than a word: it would make the step fail.
    UnreadName,
    /// A step: strict, unless it is a step of another tool.
    Step,
}

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Both, required: false }
}

const fn own(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Own, required: false }
}

const fn visor(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Visor, required: false }
}

const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Both, required: true }
}

const TEXTS: Shape = Shape::ListOf(&Shape::Text);
const TEXT_OR_TEXTS: Shape = Shape::Either(&[Shape::Text, TEXTS]);
const SANDBOXES: Shape = Shape::MapOf(&Shape::Map(&SANDBOX));
const STEPS: Shape = Shape::MapOf(&Shape::Step);
const NETWORK_SHAPE: Shape = Shape::Either(&[Shape::Bool, Shape::Word(NETWORK_MODES), Shape::Map(&NETWORK)]);
const LIMITS_SHAPE: Shape = Shape::Map(&LIMITS);

pub(crate) const VIAS: &[&str] = &["broker", "environment"];
pub(crate) const AUDIT_MODES: &[&str] = &["required", "best_effort", "off"];
pub(crate) const NETWORK_MODES: &[&str] = &["none", "restricted", "full"];
pub(crate) const OBSERVE_MODES: &[&str] = &["off", "cheap", "exact"];
pub(crate) const SCOPES: &[&str] = &["session", "run"];
pub(crate) const WORKSPACE_MODES: &[&str] = &["direct", "cow", "worktree"];
pub(crate) const SPEC_MODES: &[&str] = &["chat", "review", "plan", "orchestrate"];

/// A configuration file.
pub(crate) static TOP: Table = Table {
    name: "file",
    keys: &[&[
        key("sandboxes", SANDBOXES, "the sandboxes, by name"),
        visor("sandbox", Shape::Text, "the sandbox of every step that names none"),
        own("sandbox", SANDBOX_OR_PROFILES, "the sandbox of every step that names none; or a list of profiles"),
        key("sandbox_defaults", Shape::Map(&DEFAULTS), "what every sandbox begins with"),
        key("steps", STEPS, "the steps, by name"),
        key("checks", STEPS, "another word for `steps`"),
        own("services", Shape::MapOf(&Shape::Map(&SERVICE)), "commands that run beside the steps that name them"),
        visor("workspace", Shape::Opaque, "how the runner of this file keeps trees apart; not read by polder"),
        key("max_parallelism", Shape::Count, "how many steps run at once"),
        key("extends", TEXT_OR_TEXTS, "files that this one builds on, relative to it; this one wins"),
        own("enforce", Shape::Map(&SANDBOX), "what no later layer can widen; in a system file only"),
        own(
            "audit",
            Shape::Word(AUDIT_MODES),
            "which runs are recorded, and what happens to one that cannot be; never in a project",
        ),
        own("allow_unsandboxed", Shape::Bool, "whether a run without a sandbox may be asked for; never in a project"),
        own(
            "allow_permissive",
            Shape::Bool,
            "whether `polder learn --permissive` may let a command read beyond its policy; never in a project",
        ),
    ]],
};

const SANDBOX_OR_PROFILES: Shape = Shape::Either(&[Shape::Text, Shape::ListOf(&Shape::Map(&PROFILE))]);

static SANDBOX_KEYS: [Key; 25] = [
    key("engine", Shape::Text, "the engine, or `auto`"),
    key("network", NETWORK_SHAPE, "what may be reached"),
    key("read_only", Shape::Bool, "whether the workspace can only be read"),
    key("workdir", Shape::Text, "where the workspace appears inside, or `host`"),
    own("observe", Shape::Word(OBSERVE_MODES), "how closely a run is watched for what it is denied"),
    own(
        "scope",
        Shape::Word(SCOPES),
        "how long what an engine makes for the sandbox lives: for a session, or for one run",
    ),
    key("env_passthrough", TEXTS, "patterns for variables that enter"),
    key("env", Shape::MapOf(&Shape::Scalar), "variables with a value"),
    key("bind_paths", Shape::ListOf(&Shape::Map(&BIND)), "host paths beside the workspace"),
    key("limits", LIMITS_SHAPE, "upper bounds"),
    key("workspace", WORKSPACE_SHAPE, "how the tree is protected from the run"),
    key("protect", TEXTS, "paths that cannot be written"),
    key("deny_read", TEXTS, "paths that cannot be read"),
    key("credentials", Shape::ListOf(&Shape::Map(&CREDENTIAL)), "secrets for some hosts"),
    key("cache", Shape::Map(&CACHE), "directories kept between runs"),
    key("require", Shape::ListOf(&Shape::Guarantee), "guarantees that must be enforced in full"),
    key("accept", Shape::ListOf(&Shape::Guarantee), "guarantees whose gaps are accepted"),
    key("image", Shape::Text, "an image by name"),
    key("dockerfile", Shape::Text, "a recipe for an image, in a file"),
    key("dockerfile_inline", Shape::Text, "a recipe for an image"),
    key("compose", Shape::Text, "a compose file"),
    key("service", Shape::Text, "the service in the compose file"),
    key("resources", Shape::Map(&RESOURCES), "memory and cpu, in the words of an image's engine"),
    key("visor_path", Shape::Text, "a directory inside in which this program is, read-only, as `polder`"),
    key("options", Shape::Opaque, "what only this engine understands"),
];

/// A sandbox.
pub(crate) static SANDBOX: Table = Table { name: "sandbox", keys: &[&SANDBOX_KEYS] };

/// A sandbox that carries its name, as in `[[sandbox]]`.
pub(crate) static PROFILE: Table = Table {
    name: "profile",
    keys: &[
        &[
            required("name", Shape::Text, "the name of the sandbox"),
            key("type", Shape::Text, "another word for `engine`"),
        ],
        &SANDBOX_KEYS,
    ],
};

static DEFAULTS: Table = Table {
    name: "sandbox_defaults",
    keys: &[&[key("env_passthrough", TEXTS, "replaces the built-in list of variables, even when empty")]],
};

static NETWORK: Table = Table {
    name: "network",
    keys: &[&[
        key("mode", Shape::Word(NETWORK_MODES), "how much; `restricted` when a list is given"),
        key("allow", TEXTS, "peers that may be reached, as HOST[:PORT]"),
        key("deny", TEXTS, "peers that may not"),
    ]],
};

static BIND: Table = Table {
    name: "bind",
    keys: &[&[
        required("host", Shape::Text, "the path on the host"),
        key("container", Shape::Text, "the path inside; the same when absent"),
        key("read_only", Shape::Bool, "true when absent"),
    ]],
};

static LIMITS: Table = Table {
    name: "limits",
    keys: &[&[
        key("memory", Shape::Size, "memory of all processes together"),
        key("cpus", Shape::Number, "CPU seconds per second"),
        key("pids", Shape::Count, "processes and threads together"),
        key("disk", Shape::Size, "bytes in the private file systems, and in a layer that keeps changes apart"),
        key("files", Shape::Count, "open files of one process"),
        key("output", Shape::Size, "bytes on stdout and stderr together"),
        key("timeout", Shape::Span, "time from start to end"),
    ]],
};

static RESOURCES: Table = Table {
    name: "resources",
    keys: &[&[
        key("memory", Shape::Size, "the same as `limits.memory`"),
        key("cpu", Shape::Number, "the same as `limits.cpus`"),
    ]],
};

const WORKSPACE_SHAPE: Shape = Shape::Either(&[Shape::Word(WORKSPACE_MODES), Shape::Map(&WORKSPACE)]);

static WORKSPACE: Table = Table {
    name: "workspace",
    keys: &[&[
        key("mode", Shape::Word(WORKSPACE_MODES), "the way"),
        key("name", Shape::Text, "a name under which several runs share it"),
        key("from", Shape::Text, "the workspace whose changes a new one begins with"),
        key("keep", Shape::Bool, "whether the changes stay for review when the run has ended"),
        key("untracked", Shape::Bool, "whether a worktree begins with files that git does not know yet"),
        key(
            "projects",
            Shape::MapOf(&Shape::Text),
            "repositories beside the tree, by the names of their directories inside",
        ),
        key("main_project_name", Shape::Text, "what the tree is called beside them; its own name when absent"),
    ]],
};

static CREDENTIAL: Table = Table {
    name: "credential",
    keys: &[&[
        required("name", Shape::Text, "its name in reports"),
        required("source", Shape::Text, "where the secret is: `env:NAME`, or `app:github` for a token of a GitHub App"),
        required("hosts", TEXTS, "the hosts that may see it"),
        key("via", Shape::Word(VIAS), "`broker` when absent; `environment` gives it to the command, as variables"),
    ]],
};

static CACHE: Table = Table {
    name: "cache",
    keys: &[&[
        required("paths", TEXTS, "where the directories appear inside"),
        key("prefix", Shape::Text, "what separates one cache from another"),
        key("fallback_prefix", Shape::Text, "where to copy from when the cache is new"),
        key("ttl", Shape::Span, "how long an unused one is kept; 7d when absent"),
        key("max_scopes", Shape::Count, "how many are kept; 10 when absent"),
    ]],
};

/// A step that runs a command.
pub(crate) static STEP: Table = Table {
    name: "step",
    keys: &[&[
        key("type", Shape::Text, "`command`"),
        key("exec", Shape::Text, "a shell text"),
        key("command", TEXTS, "a program and its arguments"),
        key("sandbox", Shape::Text, "its sandbox; `none` is the explicit opt-out"),
        key("depends_on", TEXT_OR_TEXTS, "steps that run before; `a|b` is any of them"),
        key("env", Shape::MapOf(&Shape::Scalar), "variables with a value"),
        own("timeout", Shape::Span, "time from start to end"),
        visor("timeout", Shape::Either(&[Shape::Span, Shape::Count]), "time; a bare number is milliseconds"),
        key("read_only", Shape::Bool, "whether the workspace can only be read"),
        key("network", NETWORK_SHAPE, "what may be reached"),
        key("limits", LIMITS_SHAPE, "upper bounds"),
        key("continue_on_failure", Shape::Bool, "whether later steps run when this one fails"),
        key("if", Shape::Text, "an expression; the step is skipped unless it holds"),
        key("stdin", Shape::Text, "what the step reads; nothing when absent"),
        own("services", TEXT_OR_TEXTS, "services that run beside it, on a loopback that they share with it"),
        visor("group", Shape::Unread, "where the runner of this file shows the result; not read by polder"),
        visor("tags", Shape::Unread, "by which the runner of this file chooses steps; not read by polder"),
        visor("on", Shape::Unread, "on which events the runner of this file begins the step; not read by polder"),
        visor("criticality", Shape::Unread, "how much the runner of this file asks of the step; not read by polder"),
        visor("schema", Shape::UnreadName, "how the runner of this file shows the result; not read by polder"),
        visor("template", Shape::Unread, "how the runner of this file shows the result; not read by polder"),
    ]],
};

/// A command that runs beside a step.
static SERVICE: Table = Table {
    name: "services",
    keys: &[&[
        key("exec", Shape::Text, "a shell text"),
        key("command", TEXTS, "a program and its arguments"),
        key("sandbox", Shape::Text, "its sandbox; the one of every step that names none when absent"),
        key("depends_on", TEXT_OR_TEXTS, "services that are ready before it starts"),
        key("env", Shape::MapOf(&Shape::Scalar), "variables with a value"),
        key("read_only", Shape::Bool, "whether the workspace can only be read"),
        key("limits", LIMITS_SHAPE, "upper bounds"),
        required("ready", Shape::Map(&READY), "how it is known that it can be used"),
    ]],
};

static READY: Table = Table {
    name: "ready",
    keys: &[&[
        key("port", Shape::Count, "the TCP port on which it listens"),
        key("exec", Shape::Text, "a shell text that succeeds, in the service's own sandbox"),
        key("timeout", Shape::Span, "how long to wait; 30s when absent"),
    ]],
};

/// A `SandboxSpec`, which is always JSON.
pub(crate) static SPEC: Table = Table {
    name: "spec",
    keys: &[&[
        required("sessionId", Shape::Text, "the session"),
        key("workspaceId", Shape::Text, "the workspace it belongs to"),
        key("agentId", Shape::Text, "the agent"),
        required("mounts", Shape::ListOf(&Shape::Map(&MOUNT)), "host paths inside"),
        key("networkEgress", Shape::Bool, "whether there is a network; false when absent"),
        required("workdir", Shape::Text, "the working directory inside"),
        required("mode", Shape::Word(SPEC_MODES), "who may write"),
    ]],
};

static MOUNT: Table = Table {
    name: "mount",
    keys: &[&[
        required("hostPath", Shape::Text, "the path on the host"),
        required("guestPath", Shape::Text, "the path inside"),
        key("writable", Shape::Bool, "false when absent"),
    ]],
};

#[cfg(test)]
mod tests;
