use super::*;
use crate::container::api::testing::{Daemon, json};
use expect_test::expect;
use std::time::Duration;

#[test]
fn a_build_leaves_nothing_and_names_what_it_makes() {
    let options = BuildOptions {
        tag: "polder/ab:cd".parse().expect("a name"),
        recipe: ".polder recipe&t=x".to_owned(),
        network: BuildNetwork::None,
        bases: Bases::Missing,
        labels: BTreeMap::from([("polder.repository".to_owned(), "a=b&c".to_owned())]),
    };
    expect!["/build?t=polder%2Fab%3Acd&dockerfile=.polder%20recipe%26t%3Dx&rm=1&forcerm=1&networkmode=none&labels=%7B%22polder.repository%22%3A%22a%3Db%26c%22%7D"]
        .assert_eq(&build_target(&options, Dialect::Docker).line(None));
}

#[test]
fn each_daemon_hears_its_own_word_for_no_network() {
    let options = BuildOptions {
        tag: "x".parse().expect("a name"),
        recipe: "r".to_owned(),
        network: BuildNetwork::None,
        bases: Bases::Always,
        labels: BTreeMap::new(),
    };
    expect!["/build?t=x&dockerfile=r&rm=1&forcerm=1&networkmode=NetworkDisabled&nsoptions=%5B%7B%22Name%22%3A%22network%22%2C%22Host%22%3Afalse%2C%22Path%22%3A%22%22%7D%5D&pull=1&labels=%7B%7D"]
        .assert_eq(&build_target(&options, Dialect::Podman).line(None));
}

#[test]
fn an_image_that_says_little_is_understood() {
    let (daemon, client) =
        Daemon::saying(json("200 OK", r#"{"Id":"ab","Config":{"Env":null,"Cmd":["sh"],"Labels":null}}"#));
    let facts = client.inspect_image(&"x".parse().expect("a name"), Deadline::after(Duration::from_secs(20)));
    let facts = facts.expect("facts");
    assert_eq!((facts.id.as_str(), facts.command.as_slice()), ("sha256:ab", ["sh".to_owned()].as_slice()));
    assert!(facts.env.is_empty() && facts.volumes.is_empty());
    daemon.heard();
}
