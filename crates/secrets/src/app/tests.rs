use super::*;
use std::cell::RefCell;

fn environment(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    pairs.iter().map(|(name, value)| (OsString::from(*name), OsString::from(*value))).collect()
}

#[test]
fn what_is_missing_or_wrong_is_named_and_the_key_is_not_told() {
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n";
    let all = [(ID, "12"), (KEY, pem), (INSTALLATION, "7")];
    assert!(App::from_environment(&environment(&all)).is_ok());
    let with = |name: &'static str, value: &'static str| {
        let mut known = environment(&all);
        known.insert(name.into(), value.into());
        App::from_environment(&known).unwrap_err().to_string()
    };
    for (name, value, wanted) in [
        (ID, "", "`GITHUB_APP_ID` is not set"),
        (ID, "1/2", "`GITHUB_APP_ID` is not the number"),
        (KEY, "", "`GITHUB_APP_PRIVATE_KEY` is not set"),
        (KEY, "/no/such/file", "cannot read the key"),
        (INSTALLATION, "0", "is not a positive number"),
        (INSTALLATION, "x", "is not a positive number"),
        (INSTALLATION, "", "so that the installation of the app is known"),
        ("GITHUB_API_URL", "http://api.example", "an address that begins with https://"),
        ("GITHUB_API_URL", "http://127.0.0.1.evil.example", "an address that begins with https://"),
        ("GITHUB_API_URL", "http://127.0.0.1@evil.example", "an address that begins with https://"),
        ("GITHUB_API_URL", "https://x@evil.example", "an address that begins with https://"),
    ] {
        let error = with(name, value);
        assert!(error.contains(wanted) && !error.contains("c2VjcmV0"), "{name}={value}: {error}");
    }
    let mut without = environment(&all);
    without.remove(OsStr::new(INSTALLATION));
    for (repository, fine) in [("o/r", true), ("o", false), ("o/../r", false), ("o/r?x", false), ("../r", false)] {
        without.insert("GITHUB_REPOSITORY".into(), repository.into());
        assert_eq!(App::from_environment(&without).is_ok(), fine, "{repository}");
    }
    let shown = format!("{:?}", App::from_environment(&environment(&all)).unwrap());
    assert!(!shown.contains("c2VjcmV0"), "{shown}");
}

struct Answers(RefCell<Vec<(u16, &'static str)>>);

impl Ask for Answers {
    fn ask(&self, _: Method, _: &str, _: &Secret<String>) -> Result<(u16, String), String> {
        let (status, text) = self.0.borrow_mut().remove(0);
        Ok((status, text.to_owned()))
    }
}

#[test]
fn a_wrong_key_is_an_error_before_anybody_is_asked() {
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n";
    let app = App::from_environment(&environment(&[(ID, "12"), (KEY, pem), (INSTALLATION, "7")])).unwrap();
    let error = app.mint(&Answers(RefCell::new(Vec::new())), SystemTime::now()).unwrap_err().to_string();
    assert!(error.contains("GITHUB_APP_PRIVATE_KEY") && !error.contains("c2VjcmV0"), "{error}");
}
