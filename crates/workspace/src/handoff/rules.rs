//! The table: where, when, and why.

use super::contents::{names_backend, names_build, names_drivers, runs_composer, runs_scripts};

/// Where a rule looks.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// A file of this name anywhere.
    Name(&'static str),
    /// A file whose name starts so.
    Start(&'static str),
    /// A file whose name ends so.
    End(&'static str),
    /// Anything below these directories, anywhere.
    Below(&'static [&'static str]),
    /// A directory of this name and everything below it, anywhere.
    In(&'static str),
    /// A path that ends in these components.
    Path(&'static [&'static str]),
}

/// Whether an old and a new content differ in what counts.
type Differs = fn(Option<&[u8]>, Option<&[u8]>) -> bool;

/// When a rule applies.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    /// To every change.
    Always,
    /// When the contents differ in what counts.
    Content(Differs),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) at: At,
    pub(super) when: When,
    pub(super) why: &'static str,
}

const fn always(at: At, why: &'static str) -> Rule {
    Rule { at, when: When::Always, why }
}

const CI: &str = "a CI service runs it, with the secrets that it has";
const EDITOR: &str = "an editor runs it when the directory is opened";
const AGENT: &str = "an agent follows it, outside of this sandbox";
const SHELL: &str = "a shell runs it when it starts";
const DIRENV: &str = "the shell takes variables and commands from it when the directory is entered";
const HOOKS: &str = "git runs it through a hook";
const INSTALL: &str = "a package manager takes commands or registries from it";
const CARGO: &str = "cargo takes linkers, wrappers and runners from it";
const PYTHON: &str = "Python runs it when it starts, or takes its place from it";
const BUILD: &str = "it runs when the project is only checked or opened";
const MANIFEST: &str = "it is a program, and editors and package managers run it to ask for tasks or dependencies";
const PLUGINS: &str = "it names code that checkers, editors or installers run";
const POLDER: &str = "it says what the next sandbox allows";

pub(super) const RULES: &[Rule] = &[
    // git: what is not below `.git`.
    always(At::Name(".gitmodules"), "git takes addresses and commands from it"),
    always(At::Name(".gitconfig"), "git takes commands from it"),
    Rule {
        at: At::Name(".gitattributes"),
        when: When::Content(names_drivers),
        why: "it names filters or drivers, which git runs",
    },
    always(At::In(".husky"), HOOKS),
    always(At::Start(".huskyrc"), HOOKS),
    always(At::Start("husky.config."), HOOKS),
    always(At::Start(".lintstagedrc"), HOOKS),
    always(At::Start("lint-staged.config."), HOOKS),
    always(At::Start(".simple-git-hooks."), HOOKS),
    always(At::Start("simple-git-hooks."), HOOKS),
    always(At::Start("lefthook-local."), HOOKS),
    always(At::Start(".lefthook-local."), HOOKS),
    always(At::In(".lefthook"), HOOKS),
    always(At::In(".lefthook-local"), HOOKS),
    always(At::Path(&[".hg", "hgrc"]), "Mercurial takes commands from it"),
    always(At::Path(&[".hg", "hgrc-not-shared"]), "Mercurial takes commands from it"),
    always(At::Path(&[".jj", "repo", "config.toml"]), "Jujutsu takes commands from it"),
    always(At::Path(&[".sl", "config"]), "Sapling takes commands from it"),
    always(At::In(".githooks"), HOOKS),
    always(At::Name(".pre-commit-config.yaml"), HOOKS),
    always(At::Name(".pre-commit-config.yml"), HOOKS),
    always(At::Start("lefthook."), HOOKS),
    always(At::Start(".lefthook."), HOOKS),
    always(At::Name(".overcommit.yml"), HOOKS),
    // CI.
    always(At::Below(&[".github", "workflows"]), CI),
    always(At::Below(&[".github", "actions"]), CI),
    always(At::Below(&[".gitea", "workflows"]), CI),
    always(At::Below(&[".forgejo", "workflows"]), CI),
    always(At::Start(".gitlab-ci."), CI),
    always(At::In(".gitlab"), CI),
    always(At::In(".circleci"), CI),
    always(At::In(".buildkite"), CI),
    always(At::In(".woodpecker"), CI),
    always(At::Start(".woodpecker."), CI),
    always(At::Start("azure-pipelines"), CI),
    always(At::Start("jenkinsfile"), CI),
    always(At::Name(".travis.yml"), CI),
    always(At::Start(".drone."), CI),
    always(At::In(".teamcity"), CI),
    always(At::In(".semaphore"), CI),
    always(At::In(".tekton"), CI),
    always(At::In(".builds"), CI),
    always(At::Name(".build.yml"), CI),
    always(At::In(".azure-pipelines"), CI),
    always(At::Name(".appveyor.yml"), CI),
    always(At::Name("appveyor.yml"), CI),
    always(At::Name(".cirrus.yml"), CI),
    always(At::Name("bitbucket-pipelines.yml"), CI),
    always(At::Start("cloudbuild."), CI),
    // Editors.
    always(At::In(".vscode"), EDITOR),
    always(At::End(".code-workspace"), EDITOR),
    always(At::In(".idea"), EDITOR),
    always(At::In(".devcontainer"), EDITOR),
    always(At::Name(".devcontainer.json"), EDITOR),
    always(At::In(".zed"), EDITOR),
    always(At::In(".fleet"), EDITOR),
    always(At::In(".vs"), EDITOR),
    always(At::In(".nova"), EDITOR),
    always(At::In(".helix"), EDITOR),
    always(At::Start(".gitpod."), EDITOR),
    always(At::Start(".dir-locals"), EDITOR),
    always(At::Name(".lazy.lua"), EDITOR),
    always(At::Start("eslint.config."), EDITOR),
    always(At::Start(".eslintrc"), EDITOR),
    always(At::Start("prettier.config."), EDITOR),
    always(At::Start(".prettierrc"), EDITOR),
    always(At::Start("stylelint.config."), EDITOR),
    always(At::Start(".stylelintrc"), EDITOR),
    always(At::Name(".exrc"), EDITOR),
    always(At::Name(".vimrc"), EDITOR),
    always(At::Name(".nvimrc"), EDITOR),
    always(At::Name(".nvim.lua"), EDITOR),
    always(At::Name(".lvimrc"), EDITOR),
    // Agents.
    always(At::Name(".mcp.json"), "an agent starts the servers that it names"),
    always(At::Name("mcp.json"), "an agent starts the servers that it names"),
    always(At::Name("claude.md"), AGENT),
    always(At::Name("claude.local.md"), AGENT),
    always(At::Name("agents.md"), AGENT),
    always(At::Name("agents.override.md"), AGENT),
    always(At::Name("agent.md"), AGENT),
    always(At::In(".agents"), AGENT),
    always(At::Name("qwen.md"), AGENT),
    always(At::In(".qwen"), AGENT),
    always(At::Name("crush.md"), AGENT),
    always(At::In(".crush"), AGENT),
    always(At::Name("warp.md"), AGENT),
    always(At::Name(".rules"), AGENT),
    always(At::Name(".goosehints"), AGENT),
    always(At::Name(".roomodes"), AGENT),
    always(At::In(".kilocode"), AGENT),
    always(At::In(".trae"), AGENT),
    always(At::Below(&[".github", "prompts"]), AGENT),
    always(At::Below(&[".github", "agents"]), AGENT),
    always(At::Below(&[".github", "chatmodes"]), AGENT),
    always(At::Name("gemini.md"), AGENT),
    always(At::Name("copilot-instructions.md"), AGENT),
    always(At::End(".instructions.md"), AGENT),
    always(At::Start(".cursor"), AGENT),
    always(At::In(".cursor"), AGENT),
    always(At::Start(".windsurf"), AGENT),
    always(At::In(".windsurf"), AGENT),
    always(At::Start(".clinerules"), AGENT),
    always(At::In(".clinerules"), AGENT),
    always(At::In(".claude"), AGENT),
    always(At::In(".codex"), AGENT),
    always(At::In(".gemini"), AGENT),
    always(At::In(".continue"), AGENT),
    always(At::In(".roo"), AGENT),
    always(At::In(".amazonq"), AGENT),
    always(At::In(".kiro"), AGENT),
    always(At::In(".opencode"), AGENT),
    always(At::Start("opencode.json"), AGENT),
    always(At::In(".junie"), AGENT),
    always(At::Start(".aider"), AGENT),
    // Shells.
    always(At::Start(".envrc"), DIRENV),
    always(At::Name(".env"), DIRENV),
    always(At::Name(".env.local"), DIRENV),
    always(At::In(".direnv"), DIRENV),
    always(At::Name(".direnvrc"), DIRENV),
    always(At::Name("flake.nix"), DIRENV),
    always(At::Name("shell.nix"), DIRENV),
    always(At::Name(".tool-versions"), DIRENV),
    always(At::Start("mise."), DIRENV),
    always(At::Start(".mise."), DIRENV),
    always(At::In(".mise"), DIRENV),
    always(At::Below(&[".config", "mise"]), DIRENV),
    always(At::Below(&["mise", "conf.d"]), DIRENV),
    always(At::Path(&["mise", "config.toml"]), DIRENV),
    always(At::Name(".rtx.toml"), DIRENV),
    always(At::Name(".autoenv.zsh"), DIRENV),
    always(At::Start(".bash"), SHELL),
    always(At::Name(".profile"), SHELL),
    always(At::Start(".zsh"), SHELL),
    always(At::Name(".zprofile"), SHELL),
    always(At::Name(".zlogin"), SHELL),
    always(At::Name(".login"), SHELL),
    always(At::Name(".logout"), SHELL),
    always(At::Name(".kshrc"), SHELL),
    always(At::Name(".cshrc"), SHELL),
    always(At::Name(".tcshrc"), SHELL),
    always(At::Name(".inputrc"), SHELL),
    always(At::Path(&["fish", "config.fish"]), SHELL),
    always(At::Below(&["fish", "conf.d"]), SHELL),
    // JavaScript.
    Rule {
        at: At::Name("package.json"),
        when: When::Content(runs_scripts),
        why: "its scripts or programs differ, and a package manager runs them",
    },
    always(At::Name("package.yaml"), INSTALL),
    always(At::Name("package.json5"), INSTALL),
    always(At::Start(".pnp."), "Node runs it before every program of the project"),
    always(At::Name(".npmrc"), INSTALL),
    always(At::Start(".yarnrc"), INSTALL),
    always(At::Below(&[".yarn", "releases"]), INSTALL),
    always(At::Below(&[".yarn", "plugins"]), INSTALL),
    always(At::Start(".pnpmfile."), INSTALL),
    always(At::Name("pnpm-workspace.yaml"), INSTALL),
    always(At::Name("bunfig.toml"), INSTALL),
    always(At::Name("binding.gyp"), INSTALL),
    // Rust.
    always(At::Name("build.rs"), BUILD),
    Rule {
        at: At::Name("cargo.toml"),
        when: When::Content(names_build),
        why: "it says what runs when the project is only checked",
    },
    always(At::Below(&[".cargo"]), CARGO),
    always(At::Start("rust-toolchain"), "rustup takes the tool chain from it, which can lie in the tree"),
    // Python.
    always(At::Name("setup.py"), BUILD),
    Rule {
        at: At::Name("pyproject.toml"),
        when: When::Content(names_backend),
        why: "it says which code builds the project, and an installer runs it",
    },
    Rule { at: At::Name("setup.cfg"), when: When::Content(names_backend), why: PLUGINS },
    Rule { at: At::Name("mypy.ini"), when: When::Content(names_backend), why: PLUGINS },
    Rule { at: At::Name(".mypy.ini"), when: When::Content(names_backend), why: PLUGINS },
    Rule { at: At::Name("pylintrc"), when: When::Content(names_backend), why: PLUGINS },
    Rule { at: At::Name(".pylintrc"), when: When::Content(names_backend), why: PLUGINS },
    always(At::Name("hatch_build.py"), BUILD),
    always(At::Name("conftest.py"), BUILD),
    always(At::Name("noxfile.py"), BUILD),
    always(At::Name("pyvenv.cfg"), PYTHON),
    always(At::Below(&[".venv", "bin"]), PYTHON),
    always(At::Below(&[".venv", "scripts"]), PYTHON),
    always(At::Below(&["venv", "bin"]), PYTHON),
    always(At::Below(&["venv", "scripts"]), PYTHON),
    always(At::End(".pth"), PYTHON),
    always(At::Below(&["env", "bin"]), PYTHON),
    always(At::Below(&["env", "scripts"]), PYTHON),
    always(At::Name("sitecustomize.py"), PYTHON),
    always(At::In("sitecustomize"), PYTHON),
    always(At::Name("usercustomize.py"), PYTHON),
    always(At::In("usercustomize"), PYTHON),
    always(At::Name("pip.conf"), INSTALL),
    always(At::Name(".pypirc"), INSTALL),
    // The Java world.
    always(At::Below(&["gradle", "wrapper"]), BUILD),
    always(At::Start("gradlew"), BUILD),
    always(At::Start("init.gradle"), BUILD),
    always(At::Start("settings.gradle"), BUILD),
    always(At::Name("build.gradle"), BUILD),
    always(At::Name("build.gradle.kts"), BUILD),
    always(At::Below(&[".mvn"]), BUILD),
    always(At::Start("mvnw"), BUILD),
    // Others.
    always(At::Name(".bazelrc"), BUILD),
    always(At::Name(".gdbinit"), "a debugger runs it when it starts"),
    always(At::Name(".lldbinit"), "a debugger runs it when it starts"),
    always(At::Name(".irbrc"), "Ruby runs it when it starts"),
    always(At::Name(".rspec"), "Ruby takes options from it"),
    always(At::Path(&[".bundle", "config"]), INSTALL),
    // Manifests that are programs: whoever asks for the dependencies runs them, and editors ask when they open the directory.
    always(At::Name("gemfile"), MANIFEST),
    always(At::Name("gems.rb"), MANIFEST),
    always(At::End(".gemspec"), MANIFEST),
    always(At::Name("rakefile"), MANIFEST),
    always(At::Name("rakefile.rb"), MANIFEST),
    always(At::Name("mix.exs"), MANIFEST),
    always(At::Name("package.swift"), MANIFEST),
    Rule {
        at: At::Name("composer.json"),
        when: When::Content(runs_composer),
        why: "its scripts, plugins or sources differ, and a package manager runs them",
    },
    // The next sandbox.
    always(At::Name("polder.yaml"), POLDER),
    always(At::Name("polder.toml"), POLDER),
    always(At::Name(".visor.yaml"), POLDER),
    always(At::Name(".visor.yml"), POLDER),
];
