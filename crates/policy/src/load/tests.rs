use super::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that goes away with the test.
struct Temp(PathBuf);

impl Temp {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("polder-policy-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = fs::canonicalize(std::env::temp_dir()).unwrap().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn fault(&self, path: &Path) -> String {
        let faults = load(path, Level::Project, &self.0).unwrap_err();
        faults.to_string().replace(&format!("{}/", self.0.display()), "").replace(&self.0.display().to_string(), "ROOT")
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_project_is_found_upward_to_the_root_of_its_repository() {
    let temp = Temp::new();
    temp.write("polder.yaml", "");
    let inner = temp.write("repo/a/b/x", "").parent().unwrap().to_owned();
    temp.write("repo/.git/HEAD", "");
    assert_eq!(find_project(&inner).unwrap(), None);
    let path = temp.write("repo/.visor.yml", "");
    assert_eq!(find_project(&inner).unwrap(), Some(Found { path, root: temp.0.join("repo") }));
    let nearer = temp.write("repo/a/polder.toml", "");
    assert_eq!(find_project(&inner).unwrap().unwrap().path, nearer);
}

#[test]
fn without_a_repository_only_the_directory_itself_counts() {
    let temp = Temp::new();
    let path = temp.write("polder.yaml", "");
    let inner = temp.write("a/x", "").parent().unwrap().to_owned();
    assert_eq!(find_project(&inner).unwrap(), None);
    assert_eq!(find_project(&temp.0).unwrap().unwrap().path, path);
}

#[test]
fn two_files_in_one_directory_are_a_fault_that_names_both() {
    let temp = Temp::new();
    temp.write("polder.yaml", "");
    temp.write(".visor.yaml", "");
    let fault = find_project(&temp.0).unwrap_err().to_string();
    assert!(fault.contains("polder.yaml` and") && fault.contains(".visor.yaml` exist"), "{fault}");
}

#[test]
fn what_is_extended_is_read_weakest_first_in_the_same_dialect() {
    let temp = Temp::new();
    let path = temp.write("sub/.visor.yaml", "extends: [a.yaml, ../b.yaml]");
    temp.write("sub/a.yaml", "extends: ../b.yaml");
    temp.write("b.yaml", "");
    let source = load(&path, Level::Project, &temp.0).unwrap();
    assert_eq!(source.extends.len(), 2);
    assert_eq!(source.extends[0].extends[0].path, temp.0.join("b.yaml"));
    assert_eq!(source.extends[1].dialect, Dialect::Visor);
}

#[test]
fn circles_depth_and_ways_out_are_faults() {
    let temp = Temp::new();
    let circle = temp.write("a.yaml", "extends: b.yaml");
    temp.write("b.yaml", "x: 1\nextends: ./a.yaml");
    let text = temp.fault(&circle);
    assert_eq!(text, "b.yaml:2: `a.yaml` extends itself");
    for i in 0..12 {
        temp.write(&format!("d{i}.yaml"), &format!("extends: d{}.yaml", i + 1));
    }
    let text = temp.fault(&temp.0.join("d0.yaml"));
    assert_eq!(text, "d8.yaml:1: `extends` is more than 8 files deep");
    let out = temp.write("o.yaml", "extends: [../x.yaml, /etc/passwd, ~/x, missing.yaml, link.yaml]");
    std::os::unix::fs::symlink("/etc/passwd", temp.0.join("link.yaml")).unwrap();
    let text = temp.fault(&out);
    expect_test::expect![[r#"
        o.yaml:1: `../x.yaml` lies outside `ROOT`
        o.yaml:1: `/etc/passwd` must be relative to the file
        o.yaml:1: `~/x` must be relative to the file
        o.yaml:1: cannot read `missing.yaml`: No such file or directory (os error 2)
        o.yaml:1: `link.yaml` lies outside `ROOT`"#]]
    .assert_eq(&text);
}

#[test]
fn only_a_regular_file_of_a_sane_size_is_read() {
    let temp = Temp::new();
    assert!(temp.fault(&temp.0).contains("not a regular file"));
    assert!(temp.fault(Path::new("/dev/zero")).contains("not a regular file"));
    let large = temp.write("l.yaml", &"#".repeat(FILE_BYTES_MAX as usize + 10));
    assert_eq!(load(&large, Level::Project, &temp.0).unwrap().bytes.len() as u64, FILE_BYTES_MAX + 1);
}
