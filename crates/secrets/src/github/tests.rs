use super::*;

fn plain(placed: BTreeMap<String, Secret<String>>) -> BTreeMap<String, String> {
    placed.into_iter().map(|(name, value)| (name, value.reveal().clone())).collect()
}

fn hosts() -> Vec<String> {
    vec!["github.com".to_owned(), "api.github.com".to_owned()]
}

fn placed(token: &str, inside: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    plain(place(&Secret::new(token.to_owned()), &hosts(), inside))
}

#[test]
fn both_tools_get_the_token_and_every_form_of_address_is_rewritten() {
    let placed = placed("t0ken", &BTreeMap::new());
    assert_eq!((placed["GITHUB_TOKEN"].as_str(), placed["GH_TOKEN"].as_str()), ("t0ken", "t0ken"));
    assert_eq!(placed["GIT_CONFIG_COUNT"], "3");
    let values: Vec<_> = (0..3).map(|n| placed[&format!("GIT_CONFIG_VALUE_{n}")].as_str()).collect();
    assert_eq!(values, ["https://github.com/", "git@github.com:", "ssh://git@github.com/"]);
    assert_eq!(placed["GIT_CONFIG_KEY_2"], "url.https://x-access-token:t0ken@github.com/.insteadOf");
}

#[test]
fn entries_of_others_stay_and_ours_are_replaced_however_often() {
    let theirs = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "user.name"), ("GIT_CONFIG_VALUE_0", "a")];
    let mut inside: BTreeMap<String, String> = theirs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    for token in ["first-token", "first-token", "second-token"] {
        inside.extend(placed(token, &inside));
        assert_eq!(inside["GIT_CONFIG_COUNT"], "4");
        assert_eq!((inside["GIT_CONFIG_KEY_0"].as_str(), inside["GIT_CONFIG_VALUE_0"].as_str()), ("user.name", "a"));
    }
    assert!(!inside.values().any(|value| value.contains("first-token")), "{inside:?}");
}

#[test]
fn a_count_that_is_none_is_no_count() {
    for count in ["", "x", "-1", "99999999999999999999"] {
        let inside = [("GIT_CONFIG_COUNT".to_owned(), count.to_owned())].into();
        assert_eq!(placed("t0ken", &inside)["GIT_CONFIG_COUNT"], "3", "{count}");
    }
}
