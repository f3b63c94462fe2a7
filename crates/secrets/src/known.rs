//! Secrets that pass by their names: variables that everybody knows to hold one, and tokens in the configuration that git
//! reads from variables. Pure.

use crate::secret::Secret;
use crate::source::LETTERS_MIN;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// How the names end that speak for themselves. A name that says `_FILE` or `_PATH` behind it holds no secret.
const ENDINGS: [&str; 9] = [
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_PASSWD",
    "_PRIVATE_KEY",
    "_API_KEY",
    "_ACCESS_KEY",
    "_SECRET_KEY",
    "_SIGNING_KEY",
];

/// Names that are the whole of such an ending, or that end otherwise.
const NAMES: [&str; 7] = ["TOKEN", "SECRET", "PASSWORD", "API_KEY", "PGPASSWORD", "MYSQL_PWD", "AWS_ACCESS_KEY_ID"];

/// What git reads as an entry of its configuration.
const GIT: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// The secrets that a variable of this name holds. What is too short to be told from ordinary text is not among them.
pub fn known_secrets(name: &str, value: &str) -> Vec<Secret<String>> {
    let found = if is_secret(name) {
        of_lines(value)
    } else if GIT.iter().any(|git| name.starts_with(git)) {
        of_git(value)
    } else {
        Vec::new()
    };
    found.into_iter().filter(|text| text.chars().count() >= LETTERS_MIN).map(Secret::new).collect()
}

fn is_secret(name: &str) -> bool {
    // `INPUT_GITHUB-TOKEN` is how a runner names what a workflow gives.
    let name = name.to_ascii_uppercase().replace('-', "_");
    NAMES.contains(&name.as_str()) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The value as a whole, and each line of one that has several, such as a key: whoever prints it may indent it.
fn of_lines(value: &str) -> Vec<String> {
    let lines = value.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("-----"));
    lines.map(str::to_owned).collect()
}

/// The password in an address, and what an `Authorization` header carries, as it is and as it is meant.
fn of_git(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some((_, rest)) = value.split_once("://") {
        let authority = rest.split('/').next().unwrap_or_default();
        if let Some((user, _)) = authority.rsplit_once('@') {
            found.push(user.split_once(':').map_or(user, |(_, password)| password).to_owned());
        }
    }
    let header = value.split_once(':').filter(|(name, _)| name.trim().eq_ignore_ascii_case("authorization"));
    if let Some(word) = header.and_then(|(_, rest)| rest.split_whitespace().last()) {
        found.push(word.to_owned());
        let plain = STANDARD.decode(word).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        found.extend(plain.and_then(|plain| Some(plain.split_once(':')?.1.to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::known_secrets;

    fn found(name: &str, value: &str) -> Vec<String> {
        known_secrets(name, value).iter().map(|secret| secret.reveal().clone()).collect()
    }

    #[test]
    fn names_that_everybody_knows_hold_secrets() {
        for name in [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "INPUT_GITHUB-TOKEN",
            "npm_token",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AZURE_CLIENT_SECRET",
            "ANTHROPIC_API_KEY",
            "PGPASSWORD",
            "TOKEN",
        ] {
            assert_eq!(found(name, "0123456789"), ["0123456789"], "{name}");
        }
        for name in
            ["PATH", "TOKENS", "GITHUB_TOKEN_FILE", "GOOGLE_APPLICATION_CREDENTIALS", "MONKEY", "GIT_CONFIG_COUNT"]
        {
            assert!(found(name, "0123456789").is_empty(), "{name}");
        }
        assert!(found("CI_TOKEN", "true").is_empty(), "what is short is ordinary text");
    }

    #[test]
    fn a_key_of_several_lines_is_found_line_by_line() {
        let key = "-----BEGIN PRIVATE KEY-----\nAAAABBBBCCCC\nDDDDEEEEFFFF\n-----END PRIVATE KEY-----\n";
        assert_eq!(found("DEPLOY_PRIVATE_KEY", key), ["AAAABBBBCCCC", "DDDDEEEEFFFF"]);
    }

    #[test]
    fn what_git_reads_from_variables_holds_the_token_alone() {
        let key = "url.https://x-access-token:ghp_0123456789@github.com/.insteadOf";
        assert_eq!(found("GIT_CONFIG_KEY_0", key), ["ghp_0123456789"]);
        let header = "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hwXzAxMjM0NTY3ODk=";
        let wanted = ["eC1hY2Nlc3MtdG9rZW46Z2hwXzAxMjM0NTY3ODk=", "ghp_0123456789"];
        assert_eq!(found("GIT_CONFIG_VALUE_0", header), wanted);
        for value in ["https://github.com/", "git@github.com:", "ssh://git@github.com/", "a name of somebody"] {
            assert!(found("GIT_CONFIG_VALUE_0", value).is_empty(), "{value}");
        }
    }
}
