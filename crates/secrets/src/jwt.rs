//! The proof that we have an app's key: three words of RFC 7519, signed with RS256. A few lines, instead of a crate that also
//! reads what others signed.

use crate::secret::Secret;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;
use std::time::Duration;

/// Why a key cannot be used. Says nothing of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is no PEM.
    #[error("is no private key in PEM form (BEGIN RSA PRIVATE KEY or BEGIN PRIVATE KEY)")]
    NotPem,
    /// It is none that RS256 takes.
    #[error("is no RSA key of 2048 bits or more")]
    NotRsa,
    /// It did not sign.
    #[error("could not be used to sign")]
    Signing,
}

/// A proof in the name of `issuer`, from one moment to another.
pub(crate) fn sign(
    issuer: &str,
    from: Duration,
    until: Duration,
    pem: &Secret<String>,
) -> Result<Secret<String>, KeyError> {
    let key = read(pem)?;
    let word = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({"iat": from.as_secs(), "exp": until.as_secs(), "iss": issuer});
    let signed = format!("{}.{}", word(json!({"alg": "RS256", "typ": "JWT"})), word(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .map_err(|_| KeyError::Signing)?;
    Ok(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

/// Both forms in which such keys are handed out; a variable often holds its line breaks as two letters.
fn read(pem: &Secret<String>) -> Result<RsaKeyPair, KeyError> {
    let text = Secret::new(pem.reveal().replace("\\n", "\n"));
    let der = |label: &str| -> Option<Secret<Vec<u8>>> {
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        let body = text.reveal().split_once(&begin)?.1.split_once(&end)?.0;
        let body = Secret::new(body.split_whitespace().collect::<String>());
        STANDARD.decode(body.reveal()).ok().map(Secret::new)
    };
    match (der("RSA PRIVATE KEY"), der("PRIVATE KEY")) {
        (Some(der), _) => RsaKeyPair::from_der(der.reveal()).map_err(|_| KeyError::NotRsa),
        (None, Some(der)) => RsaKeyPair::from_pkcs8(der.reveal()).map_err(|_| KeyError::NotRsa),
        (None, None) => Err(KeyError::NotPem),
    }
}
