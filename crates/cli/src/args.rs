//! The command line as one table: flags, help, completions and man pages come from here.

mod plain;

use clap::{Args, Parser, Subcommand, ValueHint};
use polder::{CallerTerminal, Grant, Overrides, Restart, ServiceName};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// Run a command in the strongest sandbox that this machine offers.
#[derive(Debug, Parser)]
#[command(
    name = "polder",
    version,
    disable_help_subcommand = true,
    after_help = "Examples:
  polder run -- make test                 the current directory is writable, nothing else is; no network
  polder run --read-only -- ./check.sh    nothing is writable but /tmp and an empty home
  polder run --dry-run -- make test       what would happen, and what enforces it
  polder shell                            a shell in the sandbox
  polder doctor                           what this machine can enforce

Exit code: the command's own; 124 timed out; 125 polder could not do its part; 126 and 127 the command \
cannot be executed or does not exist; 128+n ended by signal n."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command in a sandbox.
    Run(RunArgs),
    /// Run the last command once more on a throw-away layer, and tell all that it is denied.
    Again(AgainArgs),
    /// Start a shell in a sandbox, with a terminal of its own.
    Shell(ShellArgs),
    /// Run the steps of the configuration, each in its sandbox.
    Steps(Box<StepsArgs>),
    /// Show what this machine can enforce, by trying it.
    Doctor(DoctorArgs),
    /// Tell what a run was denied, by which rule and layer, and what allows it.
    Explain(ExplainArgs),
    /// Say what is allowed at a path or for a peer, and which grant lets the rest.
    Why(Box<WhyArgs>),
    /// Run a command, see what it is denied, and write the smallest policy that lets it.
    Learn(Box<LearnArgs>),
    /// Name the flag by which a new run has a grant; a run that has begun takes none.
    Grant(GrantArgs),
    /// Look at what a command changed in a workspace of its own, and keep what is wanted.
    Workspace(WorkspaceArgs),
    /// Check, show or describe the configuration.
    Config(ConfigArgs),
    /// Trust this very content of the project's configuration file.
    Trust(TrustArgs),
    /// List or clear what is kept between runs.
    Cache(CacheArgs),
    /// Show, check or export the record of what ran.
    Audit(AuditArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
    /// Show the manual of polder or of a verb, or write all of its pages.
    Man(ManArgs),
    /// Print how the last of these words can go on; the scripts of `completions` ask.
    #[command(hide = true)]
    Complete(CompleteArgs),
}

/// What a command may do. The default is a line without flags.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PolicyArgs {
    /// The sandbox of the configuration to use.
    #[arg(short, long, value_name = "NAME", help_heading = "Policy")]
    pub(crate) sandbox: Option<String>,
    /// The engine that enforces it; `auto` takes the strongest that works here.
    #[arg(short, long, value_name = "ID", help_heading = "Policy")]
    pub(crate) engine: Option<String>,
    /// Work on this directory instead of the current one.
    #[arg(short = 'C', long, value_name = "DIR", help_heading = "Policy")]
    pub(crate) directory: Option<PathBuf>,
    /// A configuration file on top of those that are found.
    #[arg(long, value_name = "FILE", help_heading = "Policy")]
    pub(crate) config: Option<PathBuf>,
    /// Trust the project's configuration file for this call.
    #[arg(long, help_heading = "Policy")]
    pub(crate) trust: bool,
    /// What the command may reach: none, restricted or full.
    #[arg(long, value_name = "MODE", help_heading = "Policy")]
    pub(crate) network: Option<String>,
    /// Allow one thing: fs.read=PATH, fs.write=PATH, net=full, env=NAME, limits.NAME=VALUE.
    #[arg(long, value_name = "GRANT", help_heading = "Policy")]
    pub(crate) allow: Vec<Grant>,
    /// Let the command reach a host, and nothing else.
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Policy")]
    pub(crate) allow_host: Vec<String>,
    /// Show a host path inside, read-only unless `:rw` is added; `:optional` at the end lets it be missing.
    #[arg(long, value_name = "HOST[:GUEST][:rw]", value_hint = ValueHint::AnyPath, help_heading = "Policy")]
    pub(crate) bind: Vec<String>,
    /// Show the tools of a family that you have below your home, read-only: go, jvm, node, python, rust. Repeatable.
    #[arg(long, value_name = "NAME", help_heading = "Policy")]
    pub(crate) profile: Vec<String>,
    /// Pass a variable on, or set it.
    #[arg(long, value_name = "NAME[=VALUE]", help_heading = "Policy")]
    pub(crate) env: Vec<String>,
    /// Make the workspace read-only.
    #[arg(long, help_heading = "Policy")]
    pub(crate) read_only: bool,
    /// Where the workspace appears inside: an absolute path, or `host` for its own (the default).
    #[arg(long, value_name = "PATH", help_heading = "Policy")]
    pub(crate) workdir: Option<String>,
    /// What runs is not trusted with caches: they are restored read-only, and none is made.
    #[arg(long, help_heading = "Policy")]
    pub(crate) untrusted: bool,
    /// Keep changes apart from the real tree.
    #[arg(long, help_heading = "Policy")]
    pub(crate) cow: bool,
    /// Work on a private copy of what git knows of the tree, uncommitted changes included.
    #[arg(long, help_heading = "Policy", conflicts_with = "cow")]
    pub(crate) worktree: bool,
    /// The same, with files that git does not know yet; ignored ones stay out.
    #[arg(long, help_heading = "Policy", conflicts_with = "cow")]
    pub(crate) untracked: bool,
    /// Copy this repository beside the tree, into a directory of this name. Repeatable.
    #[arg(long, value_name = "NAME=PATH", help_heading = "Policy", conflicts_with = "cow")]
    pub(crate) project: Vec<String>,
    /// Share a named workspace between runs.
    #[arg(long, value_name = "NAME", help_heading = "Policy")]
    pub(crate) workspace: Option<String>,
    /// Begin a new workspace with the changes of this one, which stays as it is.
    #[arg(long, value_name = "NAME", help_heading = "Policy")]
    pub(crate) from: Option<String>,
    /// Keep changes apart from the real tree, and throw them away at the end.
    #[arg(long, help_heading = "Policy")]
    pub(crate) discard: bool,
    /// How closely to watch for what is denied: off, cheap or exact.
    #[arg(long, value_name = "MODE", help_heading = "Policy")]
    pub(crate) observe: Option<String>,
    /// Memory of all processes together, such as 512M.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) memory: Option<String>,
    /// CPU seconds per second, such as 1.5.
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) cpus: Option<String>,
    /// Processes and threads together.
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) pids: Option<String>,
    /// Bytes in the private file systems (/tmp, /dev/shm, home) together.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) disk: Option<String>,
    /// Open files of one process.
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) files: Option<String>,
    /// Bytes on stdout and stderr together.
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) output: Option<String>,
    /// Time from start to end, such as 10m.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, help_heading = "Limits")]
    pub(crate) timeout: Option<String>,
    /// Refuse to start unless this guarantee is enforced in full.
    #[arg(long, value_name = "GUARANTEE", help_heading = "Guarantees")]
    pub(crate) require: Vec<String>,
    /// Go on although this guarantee is not kept in full here. Weakens the sandbox.
    #[arg(long, value_name = "GUARANTEE", help_heading = "Guarantees")]
    pub(crate) accept: Vec<String>,
}

#[derive(Debug, Default, Args)]
#[command(after_help = "Examples:
  polder run -- npm test
  polder run --timeout 10m --memory 2G -- cargo build
  polder run --profile rust -- cargo test
  polder run --service memory --restart on-failure -- mcp-server-memory
  polder run --json -- make | jq -r 'select(.type==\"violation\")'")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// The command is this long-lived service: it keeps the directory $STATE_DIRECTORY from start to start.
    #[arg(long, value_name = "NAME", conflicts_with = "tty", help_heading = "Service")]
    pub(crate) service: Option<ServiceName>,
    /// Start the service again when it has ended; SIGUSR1 does so in any case.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = RestartArg::Never, requires = "service", help_heading = "Service")]
    pub(crate) restart: RestartArg,
    /// Print the plan and what enforces it, and run nothing.
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Print events as JSON lines; with --dry-run, the plan as JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Give the command a terminal of its own.
    #[arg(short, long, conflicts_with_all = ["json", "dry_run"], help_heading = "Output")]
    pub(crate) tty: bool,
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// After which ends a service starts again by itself.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
pub(crate) enum RestartArg {
    #[default]
    // Not for the help: a sentence for each would make that of the whole verb twice as long.
    Never,
    OnFailure,
    Always,
}

impl From<RestartArg> for Restart {
    fn from(arg: RestartArg) -> Self {
        match arg {
            RestartArg::Never => Self::Never,
            RestartArg::OnFailure => Self::OnFailure,
            RestartArg::Always => Self::Always,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ShellArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// The shell; bash if it is there, else sh.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Option<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  polder steps                            every step, in the order of what waits for what
  polder steps test                       this one, and what it waits for
  polder steps --input level=strict       what `{{ inputs.level }}` stands for
  polder steps --junit report.xml         also a report for CI
  polder steps --dry-run                  what would run where, and what refuses

Exit code: 0 all passed; 1 a step failed; 125 polder could not do its part; 128+n ended by signal n.")]
pub(crate) struct StepsArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// What an expression `inputs.NAME` stands for.
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Steps")]
    pub(crate) input: Vec<String>,
    /// How many steps run at once.
    #[arg(short = 'j', long, value_name = "COUNT", help_heading = "Steps")]
    pub(crate) max_parallelism: Option<std::num::NonZeroUsize>,
    /// Print what would run where, and run nothing.
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    /// Print events as JSON lines, each with its step.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a report in JUnit's format.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,
    /// The steps; all of them when none is named.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print without a pager, on a terminal too.
    #[arg(long)]
    pub(crate) no_pager: bool,
    /// Attack every engine that works here, each attack with its control.
    #[arg(long)]
    pub(crate) attack: bool,
    /// Only attacks whose name contains this.
    #[arg(long, value_name = "TEXT", requires = "attack")]
    pub(crate) only: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  polder again                                 what was denied, reads included
  polder again --allow fs.read=/opt/tool       whether it works with a grant

Kept is the last command of `polder run` in each directory that failed or was denied something, with its options, where no \
sandbox and no other user sees it; values of --env are not. What the command does outside of its workspace, in writable \
binds and on the network, it does again.")]
pub(crate) struct AgainArgs {
    /// How closely to watch: exact, unless another mode is named.
    #[arg(long, value_name = "MODE")]
    pub(crate) observe: Option<String>,
    /// Allow one thing more: fs.read=PATH, fs.write=PATH, net=full, env=NAME, limits.NAME=VALUE.
    #[arg(long, value_name = "GRANT")]
    pub(crate) allow: Vec<Grant>,
    /// A variable whose value was not kept.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Print events as JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Kept are runs in which something was denied or which did not end with 0: the newest hundred, without the text of \
their commands, where no sandbox can see them. A run that was watched with `cheap`, as by default, knows nothing of \
files that could not be read or removed, and not of all that could not be written; `polder again` runs the last one once more and sees them."
)]
pub(crate) struct ExplainArgs {
    /// The run, by its name or the beginning of it; the newest when no name is given.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// List the runs that are kept, the newest first.
    #[arg(long, conflicts_with = "run")]
    pub(crate) list: bool,
    /// Print the record, or the list, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print without a pager, on a terminal too.
    #[arg(long)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  polder why src/main.rs              a path as the command would see it, here below its working directory
  polder why /opt/tool
  polder why registry.example:443     a peer; github.com and https://… are peers, too

Nothing is run. In a sandbox the answer comes from /run/polder/policy.json, which any command there can read.")]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// A path inside, or a peer.
    #[arg(value_name = "PATH|HOST[:PORT]", value_hint = ValueHint::AnyPath)]
    pub(crate) target: String,
    /// Print the answer as JSON.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  polder learn -- make test                    writes polder.yaml, if the project has no configuration yet
  polder learn --rounds 5 -- make test         again with what was learnt, until nothing new is asked for
  polder learn --to ci.yaml -- make test       another file; `polder run --config ci.yaml` uses it
  polder learn --tighten -- make test          what the policy grants and the command does not ask for

Every rule stays enforced meanwhile, unless --permissive is given and permitted. Keys, tokens, sessions of browsers, histories of shells, the whole network and \
protected files are listed in the file and never granted by themselves. What earlier calls learnt for a file is \
remembered; removing the file begins anew. Every round runs the command.

Exit code: the command's own; with --tighten 1 if the command ends otherwise with what it asked for.")]
pub(crate) struct LearnArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Write this file instead of the project's polder.yaml.
    #[arg(long, value_name = "FILE", conflicts_with = "tighten", help_heading = "Learning")]
    pub(crate) to: Option<PathBuf>,
    /// Run the command so often at most, each time with what was learnt before, until it asks for nothing new.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=20), help_heading = "Learning")]
    pub(crate) rounds: u8,
    /// Say what the policy grants and the command does not ask for; write nothing.
    #[arg(long, help_heading = "Learning")]
    pub(crate) tighten: bool,
    /// Let the command read what the host has beside its policy, without keys, tokens and sockets, and learn in one round what it
    /// uses of that. Only where a user or system file says `allow_permissive: true`; always in the audit log.
    #[arg(long, conflicts_with = "tighten", help_heading = "Learning")]
    pub(crate) permissive: bool,
    /// Print what was learnt as JSON, after what the command prints.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What a run may do is fixed before its command starts, by every engine of this build. So this grants nothing: it names \
the flag for a new run, and ends with 125."
)]
pub(crate) struct GrantArgs {
    /// The run, as its events name it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// What to allow: fs.read=PATH, fs.write=PATH, net=full, env=NAME, limits.NAME=VALUE.
    #[arg(value_name = "GRANT")]
    pub(crate) grant: Grant,
    /// For so long, such as 10m.
    #[arg(long = "for", value_name = "SPAN")]
    pub(crate) span: Option<String>,
    /// For one use.
    #[arg(long, conflicts_with = "span")]
    pub(crate) once: bool,
    /// Print the answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  polder run --cow -- make fmt              changes go to a layer, the tree stays as it is
  polder workspace diff                     what the command changed
  polder workspace apply --path 'src/**'    keep a part of it
  polder workspace apply -p                 decide piece by piece
  polder workspace revert                   take the last apply back
  polder workspace discard                  forget the rest

Without a name, the newest workspace of the tree in which polder is called is meant.")]
pub(crate) struct WorkspaceArgs {
    #[command(subcommand)]
    pub(crate) verb: WorkspaceVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceVerb {
    /// List workspaces, the newest first.
    List(WorkspaceListArgs),
    /// Show what a workspace changes.
    Diff(WorkspaceDiffArgs),
    /// Put changes into the tree.
    Apply(Box<WorkspaceApplyArgs>),
    /// Remove a workspace; the tree stays as it is.
    Discard(WorkspaceDiscardArgs),
    /// Take the last apply back.
    Revert(WorkspaceRevertArgs),
}

/// Which workspace.
#[derive(Debug, Args)]
pub(crate) struct WhichArgs {
    /// The workspace; the newest of this tree when no name is given.
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Look from this directory instead of the current one.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// One of the trees of a workspace.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// Of several projects in one workspace, this one; that of this tree when no name is given.
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkspaceListArgs {
    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkspaceDiffArgs {
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Only paths that this pattern names; `*` stays within a directory, `**` does not.
    #[arg(long, value_name = "GLOB", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Vec<String>,
    /// Only how much changed, path by path.
    #[arg(long)]
    pub(crate) stat: bool,
    /// Print the changes as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print without a pager, on a terminal too.
    #[arg(long)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What the host would execute later by itself (git hooks and configuration, CI workflows, editor tasks, shell \
files, lifecycle scripts, agent instructions, …) is held back until it is named by --include-held. What the host changed \
since the run began is left alone until it is named by --force.

An apply is a transaction: it happens, or it does not. One that was killed is resumed or aborted.

Exit code: 0 everything that was asked for is in place, apart from what is held back; 1 something was left out because \
of a conflict or because it cannot be applied; 125 nothing was applied, and the reason is on stderr."
)]
pub(crate) struct WorkspaceApplyArgs {
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Only paths that this pattern names; `*` stays within a directory, `**` does not.
    #[arg(long, value_name = "GLOB", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Vec<String>,
    /// Only this hunk of a file, as `polder workspace diff` numbers it.
    #[arg(long, value_name = "FILE:N")]
    pub(crate) hunk: Vec<String>,
    /// Ask about every change, piece by piece.
    #[arg(short = 'p', long, conflicts_with_all = ["hunk", "json"])]
    pub(crate) patch: bool,
    /// Take this path although the host would execute it later.
    #[arg(long, value_name = "GLOB", value_hint = ValueHint::AnyPath)]
    pub(crate) include_held: Vec<String>,
    /// Take this path although the host changed it since the run began. Overwrites what the host has.
    #[arg(long, value_name = "GLOB", value_hint = ValueHint::AnyPath)]
    pub(crate) force: Vec<String>,
    /// Apply only what `polder workspace diff` printed this digest for; refuse everything else.
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<polder_workspace::ReviewDigest>,
    /// Go on with an apply that was interrupted.
    #[arg(long, conflicts_with_all = ["path", "hunk", "patch", "include_held", "force", "digest", "abort"])]
    pub(crate) resume: bool,
    /// Take an apply that was interrupted back.
    #[arg(long, conflicts_with_all = ["path", "hunk", "patch", "include_held", "force", "digest"])]
    pub(crate) abort: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkspaceDiscardArgs {
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// Print what was done as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorkspaceRevertArgs {
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Print what was done as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) verb: ConfigVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Report everything that is wrong with the configuration.
    Check(ConfigCheckArgs),
    /// Show the policy that a run would have, and where each value comes from.
    Show(Box<ConfigShowArgs>),
    /// Print the JSON schema of the configuration.
    Schema(ConfigSchemaArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheckArgs {
    /// Check this file instead of those that are found.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print the faults as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShowArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// Print the policy as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print without a pager, on a terminal too.
    #[arg(long)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigSchemaArgs {
    /// The schema of `.visor.yaml` instead of polder's own files.
    #[arg(long)]
    pub(crate) visor: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Work on this directory instead of the current one.
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Show what the file asks for, and whether it is trusted; change nothing.
    #[arg(long)]
    pub(crate) show: bool,
    /// Take the trust back.
    #[arg(long, conflicts_with = "show")]
    pub(crate) revoke: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) verb: CacheVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheVerb {
    /// List the caches of this repository.
    List(CacheWhichArgs),
    /// Remove the caches of this repository; what a run uses stays.
    Clear(CacheWhichArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CacheWhichArgs {
    /// Work on this directory instead of the current one.
    #[arg(short = 'C', long, value_name = "DIR", conflicts_with = "all")]
    pub(crate) directory: Option<PathBuf>,
    /// Those of every repository.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print what is there, or what was done, as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    pub(crate) verb: AuditVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditVerb {
    /// Show the newest records.
    Show(AuditShowArgs),
    /// Check that the log fits together, its anchor and a head that was kept; exit code 1 when it does not.
    Verify(AuditVerifyArgs),
    /// Print how many records there are and the hash of the last one, to be kept elsewhere.
    Head(AuditHeadArgs),
    /// Print every record as it is written, one JSON object a line.
    Export(AuditExportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AuditShowArgs {
    /// How many.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) last: usize,
    /// Print the records as JSON lines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print without a pager, on a terminal too.
    #[arg(long)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyArgs {
    /// What `polder audit head` printed earlier, or the hash alone; it must be in the log.
    #[arg(long, value_name = "COUNT:HASH")]
    pub(crate) head: Option<polder_audit::KnownHead>,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditHeadArgs {
    /// Print it as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AuditExportArgs {
    /// Only what came after this record.
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// Accepted everywhere; an export is JSON already.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  source <(polder completions bash)                    in ~/.bashrc
  source <(polder completions zsh)                     in ~/.zshrc, after compinit
  polder completions fish | source                     in ~/.config/fish/config.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The words after `polder`, up to the cursor.
    #[arg(value_name = "WORD", last = true)]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "On a terminal the page is shown by man; elsewhere its source is printed.

Examples:
  polder man run
  polder man --output ~/.local/share/man/man1          where man looks for a user's own pages")]
pub(crate) struct ManArgs {
    /// The verb, such as `workspace diff`; polder itself when none is named.
    #[arg(value_name = "VERB")]
    pub(crate) verb: Vec<String>,
    /// Write every page into this directory instead.
    #[arg(short, long, value_name = "DIR", conflicts_with = "verb")]
    pub(crate) output: Option<PathBuf>,
}

/// What a command line that will surely start a command says about the engine: `None` where it may not start any.
///
/// A guess before anything is parsed, so that the sandbox can begin to be made; it binds nobody.
pub(crate) fn will_run(line: &[OsString]) -> Option<Option<&str>> {
    let mut words = line.get(1..)?.iter().map(|word| word.to_str().unwrap_or_default());
    if words.next() != Some("run") {
        return None;
    }
    let mut engine = None;
    while let Some(word) = words.next() {
        match word {
            "--" => return Some(engine),
            "--dry-run" | "--help" | "-h" | "--tty" | "-t" => return None,
            "--engine" | "-e" => engine = words.next(),
            _ => engine = word.strip_prefix("--engine=").or(engine),
        }
    }
    // Without the two dashes it is too early to tell flags from the command's own.
    None
}

/// The verb and its arguments.
pub(crate) fn parse(line: &[OsString]) -> Result<Verb, clap::Error> {
    if line.get(1).is_some_and(|verb| verb == "run")
        && let Some(args) = plain::read(&line[2..])
    {
        return Ok(Verb::Run(args));
    }
    Cli::try_parse_from(line).map(|Cli { verb }| verb)
}

impl PolicyArgs {
    /// The flags as the policy layer knows them.
    pub(crate) fn overrides(&self) -> Overrides {
        let Self {
            sandbox,
            engine,
            directory: _,
            config: _,
            trust: _,
            network,
            allow,
            allow_host,
            profile,
            bind,
            env,
            read_only,
            workdir,
            untrusted,
            cow,
            worktree,
            untracked,
            project,
            workspace,
            from,
            discard,
            observe,
            memory,
            cpus,
            pids,
            disk,
            files,
            output,
            timeout,
            require,
            accept,
        } = self.clone();
        Overrides {
            sandbox,
            engine,
            network,
            allow,
            allow_host,
            profile,
            bind,
            env,
            read_only: read_only.then_some(true),
            cow: cow.then_some(true),
            worktree: worktree.then_some(true),
            untracked: untracked.then_some(true),
            project,
            workspace,
            from,
            discard: discard.then_some(true),
            workdir,
            observe,
            untrusted: untrusted.then_some(true),
            memory,
            cpus,
            pids,
            disk,
            files,
            output,
            timeout,
            require,
            accept,
            terminal: caller_terminal(),
        }
    }

    /// The sandbox that these flags describe.
    pub(crate) fn sandbox(&self) -> polder::Sandbox {
        let directory = self.directory.clone().unwrap_or_else(|| PathBuf::from("."));
        let sandbox = polder::Sandbox::in_directory(directory).with_configuration().overrides(self.overrides());
        let sandbox = match &self.config {
            Some(file) => sandbox.with_configuration_file(file),
            None => sandbox,
        };
        if self.trust { sandbox.trust_project() } else { sandbox }
    }
}

/// Whether one of our own streams is a terminal.
fn caller_terminal() -> CallerTerminal {
    let any = io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
    if any { CallerTerminal::Present } else { CallerTerminal::Absent }
}

#[cfg(test)]
mod tests {
    use super::will_run;
    use std::ffi::OsString;

    #[test]
    fn a_command_line_is_taken_for_a_run_only_when_it_surely_is_one() {
        let guess = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            will_run(&words).map(|engine| engine.map(str::to_owned))
        };
        assert_eq!(guess("polder run -- true"), Some(None));
        assert_eq!(guess("polder run -e none --memory 1G -- true"), Some(Some("none".to_owned())));
        assert_eq!(guess("polder run --engine=auto -- true --dry-run"), Some(Some("auto".to_owned())));
        assert_eq!(guess("polder run --dry-run -- true"), None);
        assert_eq!(guess("polder run -t -- sh"), None);
        assert_eq!(guess("polder run true"), None);
        assert_eq!(guess("polder doctor -- run"), None);
        assert_eq!(guess("polder"), None);
    }
}
