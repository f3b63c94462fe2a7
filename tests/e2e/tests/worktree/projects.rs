//! Several repositories in one workspace: each has a directory inside, and each is reviewed and applied by itself.

use crate::{fine, host, mark, repository};
use polder_e2e::{Place, Said};

/// A second repository beside the tree.
fn beside(place: &Place, name: &str) -> String {
    let path = place.dir().join(name).display().to_string();
    host(place, &format!("git init -q -b main {path}; cd {path}; echo one > f; git add .; git commit -qm {name}"));
    path
}

fn run(place: &Place, projects: &[&str], name: &str, script: &str) -> Said {
    let projects: Vec<String> = projects.iter().map(|one| format!("--project={one}")).collect();
    let projects: Vec<&str> = projects.iter().map(String::as_str).collect();
    place.says(&[&["run", "--workspace", name][..], &projects, &["--", "sh", "-c", script]].concat())
}

#[test]
fn each_has_its_directory_and_is_applied_by_itself() {
    let place = repository();
    let api = beside(&place, "api");
    let named = format!("api={api}");
    let repositories = [mark(&place, ".git"), mark(&place, &format!("{api}/.git"))];
    let script = "pwd; ls /workspace; git status --short; git -C ../api log --format=%s; echo more >> b; \
                  echo two >> ../api/f; cd ../api; git -c user.name=a -c user.email=a@b commit -qam inside";
    let said = fine(run(&place, &[&named], "w", script));
    assert_eq!(said, "/workspace/work\napi\nwork\n M b\nA  c\n D src/a\napi\n");
    assert_eq!((place.read("work/b").as_str(), place.read("api/f").as_str()), ("two\nchanged\n", "one\n"));
    // A review is of the tree in which polder is called, or of the one that is named.
    let diff = fine(place.says(&["workspace", "diff", "w", "--stat"]));
    assert_eq!(diff, "modified b  +1 -0\n1 change\nmore in another project: `polder workspace diff w --project api`\n");
    let diff = |arguments: &[&str]| fine(place.says(&[&["workspace", "diff", "--stat"][..], arguments].concat()));
    assert!(diff(&["w", "--project", "api"]).starts_with("modified f  +1 -0\n1 change\n"));
    assert!(diff(&["-C", &api]).starts_with("modified f  +1 -0\n1 change\n"));
    let unknown = place.says(&["workspace", "diff", "w", "--project", "web"]);
    assert!(unknown.code == 125 && unknown.err.contains("it has work, api"), "{unknown:?}");
    let list = fine(place.says(&["workspace", "list"]));
    assert!(list.contains(&format!("{api} (project api)")) && list.contains("/work (project work)"), "{list}");
    // One is applied, the other is not.
    let applied = fine(place.says(&["workspace", "apply", "w", "--project", "api"]));
    assert!(applied.contains("more in another project: `polder workspace apply w --project work`"), "{applied}");
    assert_eq!((place.read("work/b").as_str(), place.read("api/f").as_str()), ("two\nchanged\n", "one\ntwo\n"));
    let applied = fine(place.says(&["workspace", "apply", "w"]));
    assert!(!applied.contains("more in another"), "that one is in place: {applied}");
    assert_eq!(place.read("work/b"), "two\nchanged\nmore\n");
    fine(place.says(&["workspace", "revert", "w", "--project", "api"]));
    assert_eq!((place.read("work/b").as_str(), place.read("api/f").as_str()), ("two\nchanged\nmore\n", "one\n"));
    // A second run goes on with all of them, a branch begins with them.
    assert_eq!(fine(run(&place, &[&named], "w", "cat ../api/f")), "one\ntwo\n");
    let from = ["run", "--project", &named, "--workspace", "v", "--from", "w", "--", "cat", "../api/f", "b"];
    assert_eq!(fine(place.says(&from)), "one\ntwo\ntwo\nchanged\nmore\n");
    let other = place.says(&["run", "--worktree", "--workspace", "w", "--", "true"]);
    assert!(other.code == 125 && other.err.contains("there already with work of"), "{other:?}");
    for name in ["w", "v"] {
        fine(place.says(&["workspace", "discard", name]));
    }
    assert!(fine(place.says(&["workspace", "list"])).starts_with("no workspaces"));
    assert_eq!([mark(&place, ".git"), mark(&place, &format!("{api}/.git"))], repositories);
}

#[test]
fn rules_hold_in_every_project_and_a_look_changes_nothing() {
    let place = repository();
    let api = beside(&place, "api");
    host(&place, &format!("cd {api}; echo KEY > key; git add key; git commit -qm key"));
    host(&place, "echo KEY > key; git add key; git commit -qm key");
    let file = format!(
        "sandboxes: {{a: {{deny_read: [key], workspace: {{mode: worktree, main_project_name: app, \
         projects: {{api: {api}}}}}}}}}\nsandbox: a\n"
    );
    place.write("case.yaml", file);
    let config = place.dir().join("case.yaml").display().to_string();
    let script =
        "for at in . ../api; do cat $at/key; echo x > $at/.git/hooks/pre-commit; git -C $at status --short; done; pwd";
    for name in ["w", "w"] {
        // The second time the copy is there already.
        let said = place.says(&["run", "--config", &config, "--workspace", name, "--", "sh", "-c", script]);
        assert!(!said.out.contains("KEY") && said.out.ends_with("/workspace/app\n"), "{said:?}");
        assert_eq!(said.err.matches("hooks/pre-commit: Read-only").count(), 2, "{said:?}");
    }
    assert!(fine(place.says(&["workspace", "list"])).starts_with("no workspaces"), "git status is no change");
    // Without the rule, the same script reads it; on the host, the same file can be written.
    let free = run(&place, &[&format!("api={api}")], "free", "cat key ../api/key");
    assert_eq!(fine(free), "KEY\nKEY\n");
    host(&place, &format!("echo '# x' > {api}/.git/hooks/pre-commit"));
}

#[test]
fn what_cannot_be_one_of_several_is_refused_with_the_reason() {
    let place = repository();
    let api = beside(&place, "api");
    let inner = beside(&place, "work/inner");
    let plain = place.dir().join("plain").display().to_string();
    host(&place, &format!("mkdir {plain}"));
    for (projects, why) in [
        (vec![format!("api={inner}")], "lies in another one"),
        (vec![format!("api={plain}")], "is not the root of a git repository"),
        (vec![format!("api={plain}/none")], "there is no project"),
        (vec![format!("work={api}")], "two projects are called `work`"),
        (vec![format!("a/b={api}")], "is not a name"),
        (vec![api.clone()], "is not NAME=PATH"),
    ] {
        let projects: Vec<&str> = projects.iter().map(String::as_str).collect();
        let said = run(&place, &projects, "w", "touch ran");
        assert!(said.code == 125 && said.err.contains(why), "{why}: {said:?}");
    }
    let host_path = place.says(&["run", "--project", &format!("api={api}"), "--workdir", "host", "--", "true"]);
    assert!(host_path.code == 125 && host_path.err.contains("stand beside each other"), "{host_path:?}");
    let file =
        |mode| format!("sandboxes: {{a: {{workspace: {{mode: {mode}, projects: {{api: {api}}}}}}}}}\nsandbox: a\n");
    place.write("case.yaml", file("cow"));
    let config = place.dir().join("case.yaml").display().to_string();
    let said = place.says(&["run", "--config", &config, "--", "true"]);
    assert!(said.code == 125 && said.err.contains("works with `mode: worktree`"), "{said:?}");
    // The text of a repository does not choose another one by itself.
    place.write("work/polder.yaml", file("worktree"));
    let said = place.says(&["run", "--", "true"]);
    assert!(said.code == 125 && said.err.contains(&format!("to copy the repository `{api}`")), "{said:?}");
    assert_eq!(fine(place.says(&["run", "--trust", "--", "cat", "../api/f"])), "one\n");
    assert!(fine(place.says(&["workspace", "list"])).starts_with("no workspaces"));
}

#[test]
fn steps_of_another_tool_find_the_projects_by_its_names() {
    let place = repository();
    let api = beside(&place, "api");
    let file = |projects: &str| {
        let workspace = format!("{{mode: worktree{projects}}}");
        format!("sandboxes: {{a: {{engine: native, workspace: {workspace}}}}}\nsandbox: a\nversion: '1'\n")
    };
    let print = ["run", "--trust", "--", "sh", "-c", "env | grep ^VISOR_ | sort"];
    let names = |main: &str, name: &str| {
        let start = place.work().display().to_string();
        format!(
            "VISOR_ORIGINAL_WORKDIR={start}\nVISOR_WORKSPACE_MAIN_PROJECT={main}\n\
             VISOR_WORKSPACE_MAIN_PROJECT_NAME={name}\nVISOR_WORKSPACE_ROOT=/workspace\n"
        )
    };
    place.write("work/.visor.yaml", file(""));
    assert_eq!(fine(place.says(&print)), names("/workspace", "work"));
    place.write("work/.visor.yaml", file(&format!(", main_project_name: app, projects: {{api: {api}}}")));
    assert_eq!(fine(place.says(&print)), names("/workspace/app", "app"));
}
