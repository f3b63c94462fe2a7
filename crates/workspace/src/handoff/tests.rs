use super::*;
use std::path::Path;

fn held(path: &str) -> Option<&'static str> {
    let path = Relative::new(Path::new(path)).unwrap();
    held_back(Seen { path: &path, link: false, before: Content::Absent, after: Content::Known(b"x") })
}

/// A path that a row is about.
fn example(place: &str, pattern: &str) -> String {
    match place {
        "start" => format!("sub/{pattern}x"),
        "end" => format!("sub/x{pattern}"),
        "below" => format!("sub/{pattern}/x"),
        "in" => format!("sub/{pattern}/x/y"),
        _ => format!("sub/{pattern}"),
    }
}

/// A path that looks like it and is another.
fn near_miss(place: &str, pattern: &str) -> String {
    match place {
        "start" => format!("q-{}q", pattern.replace('/', "-")),
        "end" => format!("x{pattern}.orig-q"),
        "below" | "in" | "path" => format!("q-{}-q/x", pattern.replace('/', "-")),
        _ => format!("q-{pattern}-q"),
    }
}

#[test]
fn each_row_of_the_table_holds_and_its_near_miss_does_not() {
    let mut seen = std::collections::BTreeSet::new();
    for row in rules::rows() {
        let rule = rules::rule(&row).unwrap_or_else(|| panic!("no rule: {row:?}"));
        let (place, pattern) = (row[0], row[1]);
        assert!(row.iter().all(|cell| !cell.is_empty()) && rule.why.len() > 10, "{row:?}");
        assert_eq!(pattern, pattern.to_lowercase(), "names are compared in small letters");
        assert!(seen.insert((place, pattern)), "twice: {row:?}");
        let held = |path: &str, content: Content<'_>| {
            let path = Relative::new(Path::new(path)).unwrap();
            held_back(Seen { path: &path, link: false, before: content, after: content })
        };
        let path = example(place, pattern);
        assert!(held(&path, Content::Unknown).is_some(), "{row:?}: {path}");
        assert!(held(&path.to_uppercase(), Content::Unknown).is_some(), "{row:?}: in capital letters");
        let miss = near_miss(place, pattern);
        assert_eq!(held(&miss, Content::Unknown), None, "{row:?}: {miss}");
    }
    assert!(seen.len() > 400, "{}", seen.len());
}

#[test]
fn files_that_tools_run_on_ordinary_acts_are_held() {
    for path in [
        "venvs/other/bin/activate",
        "venvs/other/bin/activate.fish",
        "tools/py/bin/python3.11",
        "x/lib/python3.11/site-packages/evil.pth",
        "x/site-packages/usercustomize.py",
        "node_modules/.bin/eslint",
        "web/vite.config.ts",
        "jest.config.js",
        "commitlint.config.cjs",
        ".commitlintrc.yml",
        "vitest.workspace.ts",
        "tailwind.config.js",
        "postcss.config.mjs",
        ".babelrc",
        ".mocharc.cjs",
        "App.csproj",
        "Directory.Build.props",
        "All.sln",
        "CMakeLists.txt",
        "CMakePresets.json",
        "cmake/Find.cmake",
        "build.zig",
        "meson.build",
        "MODULE.bazel",
        "rules.bzl",
        "build.sbt",
        "project/plugins.sbt",
        "gradle/libs.versions.toml",
        "conventions.gradle.kts",
        "default.nix",
        "devbox.json",
        "devenv.nix",
        ".bsp/sbt.json",
        ".storybook/main.js",
        ".Rprofile",
        "prog-gdb.py",
        ".amp/settings.json",
        "skills/x/SKILL.md",
        ".cursor/rules/x.mdc",
        "hk.pkl",
    ] {
        assert!(held(path).is_some(), "{path}");
    }
    for path in [
        "src/vite.ts",
        "src/jest/config.js",
        "docs/CMakeLists.md",
        "bin/tool",
        "src/activate.rs",
        "node_modules/x/index.js",
        "lib/dune.ml",
        "src/build.py",
        "props.ts",
        "src/targets.rs",
        "docs/workspace.md",
        "x.nix.md",
        "tests/test_x.py",
        "src/webpack/index.js",
        "claude.txt",
        "src/solution.cs",
    ] {
        assert_eq!(held(path), None, "{path}");
    }
}

#[test]
fn checkers_are_held_when_they_name_code() {
    let rubocop = "AllCops:\n  NewCops: enable\n";
    assert!(!differs(".rubocop.yml", rubocop, &rubocop.replace("enable", "disable")));
    assert!(differs(".rubocop.yml", rubocop, &format!("require:\n  - ./evil\n{rubocop}")));
    assert!(differs(".rubocop.yml", "require:\n  - a\n", "require:\n  - ./evil\n"));
    let flake8 = "[flake8]\nmax-line-length = 100\n";
    assert!(!differs(".flake8", flake8, &flake8.replace("100", "120")));
    assert!(differs(".flake8", flake8, &format!("{flake8}[flake8:local-plugins]\nextension = X = x:Y\n")));
    let pytest = "[pytest]\ntestpaths = tests\n";
    assert!(!differs("pytest.ini", pytest, &pytest.replace("tests", "checks")));
    assert!(differs("pytest.ini", pytest, &format!("{pytest}addopts = -p evil\n")));
    assert!(differs("pyproject.toml", "[tool.x]\n", "[tool.pytest.ini_options]\naddopts = \"-p evil\"\n"));
    let tsconfig = "{\n\"compilerOptions\": {\n\"strict\": true\n}\n}\n";
    assert!(!differs("tsconfig.json", tsconfig, &tsconfig.replace("true", "false")));
    assert!(differs("tsconfig.json", tsconfig, &tsconfig.replace("true", "true,\n\"plugins\": [{\"name\": \"x\"}]")));
    assert!(package(Some("{}"), r#"{"jest": {"preset": "./x"}}"#));
}

#[test]
fn what_git_follows_is_held_wherever_the_repository_is() {
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/hooks",
        ".git/config.worktree",
        ".git/info/attributes",
        ".git/objects/info/alternates",
        ".git/modules/sub/config",
        ".git/modules/sub/hooks/post-checkout",
        ".git/worktrees/w/commondir",
        ".git/worktrees/w/gitdir",
        ".git/rebase-merge/git-rebase-todo",
        ".git/remotes/origin",
        ".git/branches/x",
        "vendor/sub/.git/hooks/x",
        "vendor/sub/.git",
        ".git",
        ".GIT/hooks/x",
        ".gIt/config",
        ".git /config",
        ".git./config",
        ".git::$INDEX_ALLOCATION/config",
        "git~1/config",
        ".g\u{200c}it/config",
        ".git\u{feff}/hooks/x",
        ".gitmodules",
        "bare/HEAD",
    ] {
        assert!(held(path).is_some(), "{path}");
    }
}

#[test]
fn what_others_run_by_themselves_is_held() {
    for path in [
        ".github/workflows/ci.yml",
        "sub/.GitHub/Workflows/ci.yml",
        ".github/actions/x/action.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "azure-pipelines.yml",
        "Jenkinsfile",
        "Jenkinsfile.release",
        ".buildkite/pipeline.yml",
        ".vscode/tasks.json",
        ".vscode",
        "project.code-workspace",
        ".idea/workspace.xml",
        ".devcontainer/devcontainer.json",
        ".zed/tasks.json",
        ".fleet/run.json",
        ".bashrc",
        ".zshenv",
        ".profile",
        ".envrc",
        ".env",
        ".tool-versions",
        "mise.toml",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".yarn/releases/yarn.cjs",
        "crates/x/build.rs",
        "setup.py",
        "tests/conftest.py",
        ".husky/pre-commit",
        ".pre-commit-config.yaml",
        ".cargo/config.toml",
        ".cargo/config",
        "rust-toolchain.toml",
        "gradle/wrapper/gradle-wrapper.jar",
        "gradlew",
        ".mvn/extensions.xml",
        ".mcp.json",
        "CLAUDE.md",
        "docs/AGENTS.md",
        ".cursorrules",
        ".cursor/rules/x",
        ".claude/settings.json",
        ".codex/config",
        ".github/copilot-instructions.md",
        "venv/pyvenv.cfg",
        "venv/lib/x.pth",
        "sitecustomize.py",
        "polder.yaml",
        ".visor.yaml",
        "binding.gyp",
        ".gdbinit",
        ".jj/repo/config.toml",
        ".sl/config",
        ".gitlab-ci.yaml",
        ".drone.star",
        ".tekton/run.yaml",
        ".dir-locals-2.el",
        "eslint.config.mjs",
        ".eslintrc.js",
        "AGENTS.override.md",
        ".agents/x.md",
        ".github/prompts/x.prompt.md",
        ".envrc.local",
        ".env.local",
        ".direnv/bin/x",
        "flake.nix",
        ".login",
        ".pnpmfile.mjs",
        "hatch_build.py",
        "env/bin/python",
        "sitecustomize/__init__.py",
    ] {
        assert!(held(path).is_some(), "{path}");
    }
}

#[test]
fn what_runs_when_it_is_asked_for_is_not_held() {
    for path in [
        "src/main.rs",
        "Makefile",
        "justfile",
        "Dockerfile",
        "package-lock.json",
        "Cargo.toml",
        "Cargo.lock",
        "README.md",
        "scripts/release.sh",
        "github/workflows/x",
        "environment",
        "my.github",
        "gitignore",
        ".gitignore",
        "pth",
        "building.rs",
        "docs/heads",
    ] {
        assert_eq!(held(path), None, "{path}");
    }
}

fn package(before: Option<&str>, after: &str) -> bool {
    let path = Relative::new(Path::new("web/package.json")).unwrap();
    assert!(wants_content(&path));
    let before = before.map_or(Content::Absent, |text| Content::Known(text.as_bytes()));
    held_back(Seen { path: &path, link: false, before, after: Content::Known(after.as_bytes()) }).is_some()
}

#[test]
fn a_package_is_held_when_what_it_runs_differs() {
    let plain = r#"{"name": "x", "scripts": {"test": "jest"}}"#;
    assert!(!package(Some(plain), r#"{"name": "y", "scripts": {"test": "jest"}, "dependencies": {"a": "1"}}"#));
    assert!(package(Some(plain), r#"{"name": "x", "scripts": {"test": "jest", "postinstall": "x"}}"#));
    assert!(package(Some(plain), r#"{"name": "x", "scripts": {"test": "jest"}, "bin": "x.js"}"#));
    assert!(package(Some(plain), "{ not json"), "somebody more lenient may read it");
    assert!(package(None, plain));
    assert!(!package(None, r#"{"name": "x"}"#));
}

#[test]
fn attributes_are_held_when_they_name_a_program() {
    let path = Relative::new(Path::new(".gitattributes")).unwrap();
    let held =
        |before: Content<'_>, after: Content<'_>| held_back(Seen { path: &path, link: false, before, after }).is_some();
    assert!(!held(Content::Absent, Content::Known(b"*.txt text eol=lf\n")));
    assert!(held(Content::Absent, Content::Known(b"* filter=x\n")));
    assert!(!held(Content::Known(b"*.bin filter=lfs\n"), Content::Known(b"*.bin filter=lfs\n*.txt text\n")));
    assert!(held(Content::Absent, Content::Unknown), "what was not looked at is held");
}

#[test]
fn a_link_at_a_directory_stands_for_what_is_looked_for_below_it() {
    let held = |path: &str, link: bool| {
        let path = Relative::new(Path::new(path)).unwrap();
        held_back(Seen { path: &path, link, before: Content::Unknown, after: Content::Unknown }).is_some()
    };
    for path in [".cargo", "sub/.mvn", ".github", ".github/workflows", ".yarn", "gradle", ".git/modules", ".bundle"] {
        assert!(held(path, true), "{path}");
    }
    for path in [".cargo", "sub/.mvn", ".github", ".github/workflows", ".yarn", "gradle"] {
        assert!(!held(path, false), "a directory is no link: {path}");
    }
    assert!(!held("src", true) && !held("workflows", true));
}

#[test]
fn a_link_that_leads_out_is_held() {
    let out = |path: &str, target: &str| leads_out(&Relative::new(Path::new(path)).unwrap(), target.as_ref()).is_some();
    for (path, target) in [("a", "/etc"), ("a", ".."), ("a/b", "../.."), ("a/b", "./../../x"), ("a/b/c", "x/../y")] {
        assert!(out(path, target), "{path} -> {target}");
    }
    for (path, target) in [("a", "b"), ("a/b", "../x"), ("a/b/c", "../../x/y"), ("a", "./b//c"), ("a", "b/..c")] {
        assert!(!out(path, target), "{path} -> {target}");
    }
}

#[test]
fn other_spellings_and_other_tools_are_held() {
    for path in [
        ".git/refs/r/.git/hooks/pre-commit",
        ".git/hooks/.git/refs/x",
        "x.git/HEAD",
        ".hu\u{17f}\u{212a}y/pre-push",
        "tools/hooks/pre-commit",
        "lefthook-local.yml",
        ".lefthook/pre-push/x.sh",
        "package.yaml",
        "package.json5",
        ".config/mise/config.toml",
        ".hg/hgrc",
        ".huskyrc.js",
        ".lintstagedrc.mjs",
        ".pnp.cjs",
        ".venv/bin/python",
        ".gitpod.yml",
        ".helix/languages.toml",
        "opencode.json",
        ".kiro/hooks/x",
    ] {
        assert!(held(path).is_some(), "{path}");
    }
    for path in ["docs/pre-commit.md", "legit", "x.git", ".venv/lib/x.py"] {
        assert_eq!(held(path), None, "{path}");
    }
}

#[test]
fn a_manifest_is_held_when_it_says_what_runs() {
    let path = Relative::new(Path::new("x/Cargo.toml")).unwrap();
    let held = |before: &str, after: &str| {
        let (before, after) = (Content::Known(before.as_bytes()), Content::Known(after.as_bytes()));
        held_back(Seen { path: &path, link: false, before, after }).is_some()
    };
    let plain = "[package]\nname = \"x\"\nversion = \"1.0.0\"\n";
    for more in [
        "build = \"src/b.rs\"\n",
        "links = \"z\"\n",
        "[lib]\nproc-macro = true\n",
        "\"\\u0062uild\" = \"b.rs\"\n",
        "package.build = \"\"\"\nx\"\"\"\n",
    ] {
        assert!(held(plain, &format!("{plain}{more}")), "{more}");
    }
    assert!(!held(plain, &plain.replace("1.0.0", "1.0.1")));
    assert!(!held(plain, &format!("{plain}[dependencies]\nserde = \"1\"\n")));
}

#[test]
fn a_manifest_that_is_a_program_is_held() {
    for path in [
        "build.gradle",
        "app/build.gradle.kts",
        "Gemfile",
        "gems.rb",
        "x.gemspec",
        "Rakefile",
        "mix.exs",
        "Package.swift",
    ] {
        assert!(held(path).is_some(), "{path}");
    }
    for path in ["src/build.gradle.md", "Gemfile.lock", "rake", "Package.resolved"] {
        assert_eq!(held(path), None, "{path}");
    }
}

fn differs(path: &str, before: &str, after: &str) -> bool {
    let path = Relative::new(Path::new(path)).unwrap();
    assert!(wants_content(&path));
    let (before, after) = (Content::Known(before.as_bytes()), Content::Known(after.as_bytes()));
    held_back(Seen { path: &path, link: false, before, after }).is_some()
}

#[test]
fn a_php_package_is_held_when_what_it_runs_differs() {
    let plain = r#"{"name": "x/y", "require": {"a/b": "1"}}"#;
    assert!(!differs("composer.json", plain, r#"{"name": "x/y", "require": {"a/b": "2"}}"#));
    for more in
        [r#""scripts": {"post-install-cmd": "x"}"#, r#""repositories": []"#, r#""config": {"allow-plugins": true}"#]
    {
        assert!(differs("composer.json", plain, &format!("{{\"name\": \"x/y\", {more}}}")), "{more}");
    }
}

#[test]
fn a_python_project_is_held_when_what_builds_it_differs() {
    let plain = "[project]\nname = \"x\"\nversion = \"1\"\n\n[build-system]\nrequires = [\"setuptools\"]\n";
    assert!(!differs("pyproject.toml", plain, &plain.replace("version = \"1\"", "version = \"2\"")));
    assert!(!differs("pyproject.toml", plain, &plain.replace("[project]", "[tool.x]\ny = 1\n\n[project]")));
    for (from, to) in [
        ("[\"setuptools\"]", "[\n  \"evil\",\n]"),
        ("[build-system]", "[build-system]\nbackend-path = [\".\"]"),
        ("[project]", "[tool.hatch.build.hooks.custom]\npath = \"x.py\"\n\n[project]"),
        ("[project]", "\"\\u0062uild-system\".requires = []\n[project]"),
    ] {
        assert!(differs("pyproject.toml", plain, &plain.replace(from, to)), "{to}");
    }
}

#[test]
fn build_file_is_held_when_it_can_run_something() {
    let library = "(library\n (name x)\n (libraries unix))\n";
    assert!(!differs("src/dune", library, &library.replace("unix", "unix str")));
    assert!(!differs("log4j.props", "level=info\n", "level=debug\n"));
    assert!(!differs("workspace", "desk 4\n", "desk 5\n"));
    assert!(!differs("go.mod", "module x\nrequire a v1\n", "module x\nrequire a v2\n"));
    assert!(!differs("proguard-rules.pro", "-keep class a\n", "-keep class b\n"));
    let utf16: String = "<Project/>".chars().flat_map(|sign| [sign, '\0']).collect();
    for (path, before, after) in [
        ("src/dune", library, "(rule (action (run evil)))"),
        ("src/dune", library, "(* -*- tuareg -*- *)"),
        ("src/dune", "(rule (action (run\n a)))", "(rule (action (run\n b)))"),
        ("Directory.Build.props", "", "<Project><Target/></Project>"),
        ("x.targets", "", utf16.as_str()),
        ("WORKSPACE", "", "load(\"@x\", \"y\")"),
        ("go.mod", "module x\n", "module x\ntoolchain go1.99\n"),
        ("go.mod", "module x\n", "module x\nreplace (\n a => ./b\n)\n"),
        ("app.pro", "", "X = $$system(evil)"),
    ] {
        assert!(differs(path, before, after), "{path}: {after}");
    }
}

#[test]
fn names_of_other_tools_are_held() {
    for path in [
        "env-1/lib/python3.12/site-packages/x-1.dist-info/entry_points.txt",
        "env-1/lib/python3.12/site-packages/__editable___x_finder.py",
        "env-1/lib/python3.12/site-packages/sitecustomize.abi3.so",
        "env-1/bin/pytest",
        "env-1/etc/conda/activate.d/x.sh",
        "cypress/support/e2e.ts",
        "eslint-local-rules/index.js",
        "config/runtime.exs",
        "scripts/hooks/pre-commit",
        ".trunk/trunk.yaml",
        ".claude-plugin/plugin.json",
        ".lfsconfig",
        "ansible.cfg",
        "config.nims",
        "x.csproj.user",
        ".env.production",
    ] {
        assert!(held(path).is_some(), "{path}");
    }
    for path in [".env.example", "webpack.md", "CODEOWNERS", "robot.launch", "jupyter_utils.py", "truffles.txt"] {
        assert_eq!(held(path), None, "{path}");
    }
}

#[test]
fn a_lockfile_is_called_out_and_not_held() {
    let note = |path: &str| noted(&Relative::new(Path::new(path)).unwrap());
    for path in ["package-lock.json", "web/YARN.lock", "Cargo.lock", "go.sum"] {
        assert!(note(path).is_some() && held(path).is_none(), "{path}");
    }
    assert_eq!(note("src/lock"), None);
}
