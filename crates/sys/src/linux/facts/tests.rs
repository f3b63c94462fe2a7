use super::resolve;
use std::fs;
use std::path::Path;

#[test]
fn a_path_resolves_to_the_one_without_links_however_it_is_spelt() {
    let dir = fs::canonicalize(std::env::temp_dir()).unwrap().join(format!("polder-resolve-{}", std::process::id()));
    fs::create_dir_all(dir.join("tree/deep")).unwrap();
    std::os::unix::fs::symlink("tree", dir.join("link")).unwrap();
    let deep = dir.join("tree/deep");
    let text = dir.display();
    for spelt in
        ["tree/deep", "link/deep", "tree/deep/", "tree//deep", "tree/./deep", "tree/deep/../deep", "link/deep/."]
    {
        assert_eq!(resolve(Path::new(&format!("{text}/{spelt}"))).unwrap().as_os_str(), deep.as_os_str(), "{spelt}");
    }
    assert_eq!(resolve(&dir.join("link")).unwrap(), dir.join("tree"), "a link at the end is followed");
    assert_eq!(resolve(Path::new("/")).unwrap(), Path::new("/"));
    assert!(resolve(&dir.join("missing")).is_err());
    fs::remove_dir_all(&dir).unwrap();
}
