use super::*;

#[test]
fn ids_of_steps_are_found() {
    assert_eq!(layer(" ---> 0123456789ab").as_deref(), Some("0123456789ab"));
    assert_eq!(layer("--> 0123456789a").as_deref(), Some("0123456789a"));
    for line in
        [" ---> Using cache", " ---> Running in 0123456789ab", "--> Using cache 0123456789ab", "x", "--> ../../x"]
    {
        assert_eq!(layer(line), None, "{line}");
    }
}

#[test]
fn a_name_says_whose_it_is_and_what_went_in() {
    let one = tag(Path::new("/Repo/A"), &[1; 32]).to_string();
    assert_eq!(one, "localhost/polder/8a35e4a674083512:01010101010101010101010101010101");
    assert_ne!(tag(Path::new("/Repo/B"), &[1; 32]).to_string(), one);
    assert_ne!(tag(Path::new("/Repo/A"), &[2; 32]).to_string(), one);
}

#[test]
fn a_build_that_met_another_is_told_from_one_that_fails_by_itself() {
    for said in [
        "unable to find image \"sha256:42a05b55a9a627f6dfdd59f1ba49557268771ece000c3b32fc9968233603988e\"",
        "checking if cached image exists from a previous build: layer not known",
    ] {
        assert!(met_another(said), "{said}");
    }
    for said in
        ["The command '/bin/sh -c false' returned a non-zero code: 1", "unable to find image \"polder/x:latest\""]
    {
        assert!(!met_another(said), "{said}");
    }
}
