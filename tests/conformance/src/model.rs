//! What a policy means, on a page: a second opinion that shares no code with what is tested.
//!
//! A policy is a few switches over a small tree, an action is one attempt on one file of it, and [`judge`] says what
//! must come of it. Each action has a file of its own, so that none depends on another.

use polder::Guarantee;

/// Whether something that is shown can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    ReadWrite,
}

/// A policy.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// Whether the workspace can be written.
    pub(crate) workspace: Access,
    /// Whether the workspace is at its own path inside, and not at the built-in one.
    pub(crate) at_own_path: bool,
    /// Whether it is a repository, whose hooks the built-in rules protect.
    pub(crate) is_repository: bool,
    /// `protect` names single files in `mixed`.
    pub(crate) protects_files: bool,
    /// `protect` names the directory `kept`.
    pub(crate) protects_tree: bool,
    /// `protect` names `**/never`.
    pub(crate) protects_everywhere: bool,
    /// `deny_read` names single files in `mixed`.
    pub(crate) hides_files: bool,
    /// `deny_read` names the directory `hidden`.
    pub(crate) hides_tree: bool,
    /// A directory beside the workspace is bound.
    pub(crate) bound: Option<Access>,
    /// It appears at another path inside.
    pub(crate) bound_elsewhere: bool,
    /// `mixed` appears a second time.
    pub(crate) again: Option<Access>,
    /// The host's network is there.
    pub(crate) network: bool,
    /// A variable of the caller passes.
    pub(crate) passes_variable: bool,
}

/// Where the file of an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A directory of the workspace with no rule.
    Free,
    /// `mixed`, a file that `protect` may name.
    Kept,
    /// The same, by the path at which `mixed` appears a second time.
    KeptAgain,
    /// A directory that `protect` may name.
    KeptTree,
    /// A name that `protect` may keep everywhere.
    Never,
    /// `mixed`, a file that `deny_read` may name.
    Hidden,
    /// A directory that `deny_read` may name.
    HiddenTree,
    /// The hooks of the repository.
    Hooks,
    /// The directory that may be bound.
    Bound,
    /// A directory beside the workspace.
    Outside,
    /// The caller's home.
    Home,
    /// `/etc`.
    System,
}

/// What is attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Read,
    Write,
    Create,
    Delete,
    Rename,
    /// Another file is renamed over it.
    Replace,
    /// It gets a second name, which is then written.
    Link,
}

/// One thing that a command tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    File(Attempt, Place),
    /// To reach a port of the host.
    Connect,
    /// To see a variable of the caller.
    Variable,
    /// To see a process of the host.
    Process,
}

/// What must come of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Allowed,
    /// Kept away, by an engine that keeps this.
    Denied(Guarantee),
}

/// What a policy says about an action.
pub(crate) fn judge(rules: &Rules, action: Action) -> Answer {
    let unless = |allowed: bool, guarantee| if allowed { Answer::Allowed } else { Answer::Denied(guarantee) };
    match action {
        Action::File(attempt, place) => judge_file(rules, attempt, place),
        Action::Connect => unless(rules.network, Guarantee::Net),
        Action::Variable => unless(rules.passes_variable, Guarantee::Env),
        Action::Process => Answer::Denied(Guarantee::Processes),
    }
}

fn judge_file(rules: &Rules, attempt: Attempt, place: Place) -> Answer {
    let Some(access) = shown(rules, place) else { return Answer::Denied(Guarantee::Fs) };
    let hidden = match place {
        // What the command makes itself it may also have.
        Place::Hidden => rules.hides_files && attempt != Attempt::Create,
        Place::HiddenTree => rules.hides_tree,
        _ => false,
    };
    let kept = match place {
        Place::Kept | Place::KeptAgain => rules.protects_files,
        Place::KeptTree => rules.protects_tree,
        Place::Never => rules.protects_everywhere,
        Place::Hooks => true,
        _ => false,
    };
    match (attempt, access) {
        _ if hidden => Answer::Denied(Guarantee::Protect),
        (Attempt::Read, _) => Answer::Allowed,
        (_, Access::ReadOnly) => Answer::Denied(Guarantee::Fs),
        (_, Access::ReadWrite) if kept => Answer::Denied(Guarantee::Protect),
        (_, Access::ReadWrite) => Answer::Allowed,
    }
}

/// Whether a place is shown at all, and how.
fn shown(rules: &Rules, place: Place) -> Option<Access> {
    match place {
        Place::Outside | Place::Home => None,
        Place::System => Some(Access::ReadOnly),
        Place::Bound => rules.bound,
        Place::KeptAgain => rules.again,
        Place::Free
        | Place::Kept
        | Place::KeptTree
        | Place::Never
        | Place::Hidden
        | Place::HiddenTree
        | Place::Hooks => Some(rules.workspace),
    }
}
