//! The one table of keys. The parser's check and the JSON schema are both made from it, so they cannot disagree.

use crate::dialect::Dialect;
use Reach::{Inside, Outside, Own, Parts, Unread, Weaker};

/// One key of a map.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) doc: &'static str,
    pub(crate) of: Of,
    pub(crate) required: bool,
    pub(crate) reach: Reach,
}

/// How far a key reaches in a project's file that the user has not trusted. No key comes without it:
/// a test asks for a value of every key that shows its decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It narrows, or stays inside the sandbox: every value counts.
    Inside,
    /// It reaches outside: only what the user's own layers say as well counts.
    Outside,
    /// A value counts unless it is weaker than what the user's own layers say.
    Weaker,
    /// It holds other keys, or names files that do, and those are judged.
    Parts,
    /// No project's file can have it, trusted or not.
    Own,
    /// Only another tool reads it.
    Unread,
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

const fn key(name: &'static str, reach: Reach, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Both, required: false, reach }
}

const fn own(name: &'static str, reach: Reach, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Own, required: false, reach }
}

const fn visor(name: &'static str, reach: Reach, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Visor, required: false, reach }
}

const fn required(name: &'static str, reach: Reach, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, of: Of::Both, required: true, reach }
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
        key("sandboxes", Parts, SANDBOXES, "the sandboxes, by name"),
        visor("sandbox", Weaker, Shape::Text, "the sandbox of every step that names none"),
        own("sandbox", Weaker, SANDBOX_OR_PROFILES, "the sandbox of every step that names none; or a list of profiles"),
        key("sandbox_defaults", Parts, Shape::Map(&DEFAULTS), "what every sandbox begins with"),
        own("profiles", Outside, TEXTS, "the profiles of every sandbox, by name"),
        key("steps", Parts, STEPS, "the steps, by name"),
        key("checks", Parts, STEPS, "another word for `steps`"),
        own(
            "services",
            Parts,
            Shape::MapOf(&Shape::Map(&SERVICE)),
            "commands that run beside the steps that name them",
        ),
        visor("workspace", Unread, Shape::Opaque, "how the runner of this file keeps trees apart; not read by polder"),
        key("max_parallelism", Weaker, Shape::Count, "how many steps run at once"),
        key("extends", Parts, TEXT_OR_TEXTS, "files that this one builds on, relative to it; this one wins"),
        own("enforce", Own, Shape::Map(&SANDBOX), "what no later layer can widen; in a system file only"),
        own(
            "audit",
            Own,
            Shape::Word(AUDIT_MODES),
            "which runs are recorded, and what happens to one that cannot be; never in a project",
        ),
        own(
            "allow_unsandboxed",
            Own,
            Shape::Bool,
            "whether a run without a sandbox may be asked for; never in a project",
        ),
        own(
            "allow_permissive",
            Own,
            Shape::Bool,
            "whether `polder learn --permissive` may let a command read beyond its policy; never in a project",
        ),
    ]],
};

const SANDBOX_OR_PROFILES: Shape = Shape::Either(&[Shape::Text, Shape::ListOf(&Shape::Map(&PROFILE))]);

static SANDBOX_KEYS: [Key; 28] = [
    key("engine", Weaker, Shape::Text, "the engine, or `auto`"),
    key("network", Weaker, NETWORK_SHAPE, "what may be reached"),
    key("read_only", Weaker, Shape::Bool, "whether the workspace can only be read"),
    key(
        "workdir",
        Inside,
        Shape::Text,
        "where the workspace appears inside: `host` for its own path (the default), or an absolute path \
         (in a .visor.yaml the default is /workspace)",
    ),
    own("observe", Weaker, Shape::Word(OBSERVE_MODES), "how closely a run is watched for what it is denied"),
    own(
        "scope",
        Inside,
        Shape::Word(SCOPES),
        "how long what an engine makes for the sandbox lives: for a session, or for one run",
    ),
    own("profiles", Outside, TEXTS, "what families of tools need that the user has below the home, by name"),
    own("path", Inside, TEXTS, "directories in front of `PATH` inside, as far as they are there"),
    own("git_identity", Weaker, Shape::Bool, "whether git inside has the user's name and address; true when absent"),
    key("env_passthrough", Outside, TEXTS, "patterns for variables that enter"),
    key("env", Inside, Shape::MapOf(&Shape::Scalar), "variables with a value"),
    key("bind_paths", Outside, Shape::ListOf(&Shape::Map(&BIND)), "host paths beside the workspace"),
    key("limits", Parts, LIMITS_SHAPE, "upper bounds"),
    key("workspace", Weaker, WORKSPACE_SHAPE, "how the tree is protected from the run"),
    key("protect", Inside, TEXTS, "paths that cannot be written"),
    key("deny_read", Inside, TEXTS, "paths that cannot be read"),
    key("credentials", Outside, Shape::ListOf(&Shape::Map(&CREDENTIAL)), "secrets for some hosts"),
    key("cache", Parts, Shape::Map(&CACHE), "directories kept between runs"),
    key("require", Inside, Shape::ListOf(&Shape::Guarantee), "guarantees that must be enforced in full"),
    key("accept", Outside, Shape::ListOf(&Shape::Guarantee), "guarantees whose gaps are accepted"),
    key("image", Inside, Shape::Text, "an image by name"),
    key("dockerfile", Inside, Shape::Text, "a recipe for an image, in a file"),
    key("dockerfile_inline", Inside, Shape::Text, "a recipe for an image"),
    key("compose", Outside, Shape::Text, "a compose file"),
    key("service", Outside, Shape::Text, "the service in the compose file"),
    key("resources", Parts, Shape::Map(&RESOURCES), "memory and cpu, in the words of an image's engine"),
    key("visor_path", Inside, Shape::Text, "a directory inside in which this program is, read-only, as `polder`"),
    key("options", Outside, Shape::Opaque, "what only this engine understands"),
];

/// A sandbox.
pub(crate) static SANDBOX: Table = Table { name: "sandbox", keys: &[&SANDBOX_KEYS] };

/// A sandbox that carries its name, as in `[[sandbox]]`.
pub(crate) static PROFILE: Table = Table {
    name: "profile",
    keys: &[
        &[
            required("name", Inside, Shape::Text, "the name of the sandbox"),
            key("type", Weaker, Shape::Text, "another word for `engine`"),
        ],
        &SANDBOX_KEYS,
    ],
};

/// A profile that polder brings: rules of a sandbox under a name. `profiles/README.md` has the form.
pub(crate) static SHIPPED_PROFILE: Table = Table {
    name: "shipped_profile",
    keys: &[&[
        required("name", Own, Shape::Text, "the name, which is that of the file"),
        required("description", Own, Shape::Text, "what it is for, in one line"),
        required("programs", Own, TEXTS, "the programs that it is for"),
        key("bind_paths", Outside, Shape::ListOf(&Shape::Map(&BIND)), "host paths beside the workspace"),
        key("env_passthrough", Outside, TEXTS, "patterns for variables that enter"),
        key("env", Inside, Shape::MapOf(&Shape::Scalar), "variables with a value"),
        key("path", Inside, TEXTS, "directories in front of `PATH` inside, as far as they are there"),
    ]],
};

static DEFAULTS: Table = Table {
    name: "sandbox_defaults",
    keys: &[&[key("env_passthrough", Outside, TEXTS, "replaces the built-in list of variables, even when empty")]],
};

static NETWORK: Table = Table {
    name: "network",
    keys: &[&[
        key("mode", Weaker, Shape::Word(NETWORK_MODES), "how much; `restricted` when a list is given"),
        key("allow", Outside, TEXTS, "peers that may be reached, as HOST[:PORT]"),
        key("deny", Inside, TEXTS, "peers that may not"),
    ]],
};

static BIND: Table = Table {
    name: "bind",
    keys: &[&[
        required("host", Outside, Shape::Text, "the path on the host"),
        key("container", Outside, Shape::Text, "the path inside; the same when absent"),
        key("read_only", Outside, Shape::Bool, "true when absent"),
        own(
            "optional",
            Outside,
            Shape::Bool,
            "whether the run goes on where the host has nothing at the path; false when absent",
        ),
    ]],
};

static LIMITS: Table = Table {
    name: "limits",
    keys: &[&[
        key("memory", Weaker, Shape::Size, "memory of all processes together"),
        key("cpus", Weaker, Shape::Number, "CPU seconds per second"),
        key("pids", Weaker, Shape::Count, "processes and threads together"),
        key("disk", Weaker, Shape::Size, "bytes in the private file systems, and in a layer that keeps changes apart"),
        key("files", Weaker, Shape::Count, "open files of one process"),
        key("output", Weaker, Shape::Size, "bytes on stdout and stderr together"),
        key("timeout", Weaker, Shape::Span, "time from start to end"),
    ]],
};

static RESOURCES: Table = Table {
    name: "resources",
    keys: &[&[
        key("memory", Weaker, Shape::Size, "the same as `limits.memory`"),
        key("cpu", Weaker, Shape::Number, "the same as `limits.cpus`"),
    ]],
};

const WORKSPACE_SHAPE: Shape = Shape::Either(&[Shape::Word(WORKSPACE_MODES), Shape::Map(&WORKSPACE)]);

static WORKSPACE: Table = Table {
    name: "workspace",
    keys: &[&[
        key("mode", Weaker, Shape::Word(WORKSPACE_MODES), "the way"),
        key("name", Inside, Shape::Text, "a name under which several runs share it"),
        key("from", Inside, Shape::Text, "the workspace whose changes a new one begins with"),
        key("keep", Inside, Shape::Bool, "whether the changes stay for review when the run has ended"),
        key("untracked", Inside, Shape::Bool, "whether a worktree begins with files that git does not know yet"),
        key(
            "projects",
            Outside,
            Shape::MapOf(&Shape::Text),
            "repositories beside the tree, by the names of their directories inside",
        ),
        key("main_project_name", Inside, Shape::Text, "what the tree is called beside them; its own name when absent"),
    ]],
};

static CREDENTIAL: Table = Table {
    name: "credential",
    keys: &[&[
        required("name", Outside, Shape::Text, "its name in reports"),
        required(
            "source",
            Outside,
            Shape::Text,
            "where the secret is: `env:NAME`, or `app:github` for a token of a GitHub App",
        ),
        required("hosts", Outside, TEXTS, "the hosts that may see it"),
        key(
            "via",
            Outside,
            Shape::Word(VIAS),
            "`broker` when absent; `environment` gives it to the command, as variables",
        ),
    ]],
};

static CACHE: Table = Table {
    name: "cache",
    keys: &[&[
        required("paths", Inside, TEXTS, "where the directories appear inside"),
        key("prefix", Inside, Shape::Text, "what separates one cache from another"),
        key("fallback_prefix", Inside, Shape::Text, "where to copy from when the cache is new"),
        key("ttl", Weaker, Shape::Span, "how long an unused one is kept; 7d when absent"),
        key("max_scopes", Weaker, Shape::Count, "how many are kept; 10 when absent"),
    ]],
};

/// A step that runs a command.
pub(crate) static STEP: Table = Table {
    name: "step",
    keys: &[&[
        own("type", Inside, Shape::Word(&["command"]), "`command`"),
        visor("type", Inside, Shape::Text, "`command`"),
        key("exec", Inside, Shape::Text, "a shell text"),
        key("command", Inside, TEXTS, "a program and its arguments"),
        key("sandbox", Weaker, Shape::Text, "its sandbox; `none` is the explicit opt-out"),
        key("depends_on", Inside, TEXT_OR_TEXTS, "steps that run before; `a|b` is any of them"),
        key("env", Inside, Shape::MapOf(&Shape::Scalar), "variables with a value"),
        own("timeout", Weaker, Shape::Span, "time from start to end"),
        visor("timeout", Weaker, Shape::Either(&[Shape::Span, Shape::Count]), "time; a bare number is milliseconds"),
        key("read_only", Weaker, Shape::Bool, "whether the workspace can only be read"),
        key("network", Weaker, NETWORK_SHAPE, "what may be reached"),
        key("limits", Parts, LIMITS_SHAPE, "upper bounds"),
        key("continue_on_failure", Inside, Shape::Bool, "whether later steps run when this one fails"),
        key("if", Inside, Shape::Text, "an expression; the step is skipped unless it holds"),
        key("stdin", Inside, Shape::Text, "what the step reads; nothing when absent"),
        own("services", Inside, TEXT_OR_TEXTS, "services that run beside it, on a loopback that they share with it"),
        visor("group", Unread, Shape::Unread, "where the runner of this file shows the result; not read by polder"),
        visor("tags", Unread, Shape::Unread, "by which the runner of this file chooses steps; not read by polder"),
        visor(
            "on",
            Unread,
            Shape::Unread,
            "on which events the runner of this file begins the step; not read by polder",
        ),
        visor(
            "criticality",
            Unread,
            Shape::Unread,
            "how much the runner of this file asks of the step; not read by polder",
        ),
        visor("schema", Unread, Shape::UnreadName, "how the runner of this file shows the result; not read by polder"),
        visor("template", Unread, Shape::Unread, "how the runner of this file shows the result; not read by polder"),
    ]],
};

/// A command that runs beside a step.
static SERVICE: Table = Table {
    name: "services",
    keys: &[&[
        key("exec", Inside, Shape::Text, "a shell text"),
        key("command", Inside, TEXTS, "a program and its arguments"),
        key("sandbox", Weaker, Shape::Text, "its sandbox; the one of every step that names none when absent"),
        key("depends_on", Inside, TEXT_OR_TEXTS, "services that are ready before it starts"),
        key("env", Inside, Shape::MapOf(&Shape::Scalar), "variables with a value"),
        key("read_only", Weaker, Shape::Bool, "whether the workspace can only be read"),
        key("limits", Parts, LIMITS_SHAPE, "upper bounds"),
        required("ready", Inside, Shape::Map(&READY), "how it is known that it can be used"),
    ]],
};

static READY: Table = Table {
    name: "ready",
    keys: &[&[
        key("port", Inside, Shape::Count, "the TCP port on which it listens"),
        key("exec", Inside, Shape::Text, "a shell text that succeeds, in the service's own sandbox"),
        key("timeout", Inside, Shape::Span, "how long to wait; 30s when absent"),
    ]],
};

/// A `SandboxSpec`, which is always JSON.
pub(crate) static SPEC: Table = Table {
    name: "spec",
    keys: &[&[
        required("sessionId", Inside, Shape::Text, "the session"),
        key("workspaceId", Inside, Shape::Text, "the workspace it belongs to"),
        key("agentId", Inside, Shape::Text, "the agent"),
        required("mounts", Outside, Shape::ListOf(&Shape::Map(&MOUNT)), "host paths inside"),
        key("networkEgress", Weaker, Shape::Bool, "whether there is a network; false when absent"),
        required("workdir", Inside, Shape::Text, "the working directory inside"),
        required("mode", Weaker, Shape::Word(SPEC_MODES), "who may write"),
    ]],
};

static MOUNT: Table = Table {
    name: "mount",
    keys: &[&[
        required("hostPath", Outside, Shape::Text, "the path on the host"),
        required("guestPath", Outside, Shape::Text, "the path inside"),
        key("writable", Outside, Shape::Bool, "false when absent"),
    ]],
};

#[cfg(test)]
mod tests;
