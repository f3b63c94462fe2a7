//! Who vouches for the servers that are asked: the well-known authorities, or those of the file that a variable names, such
//! as `SSL_CERT_FILE` for every other program. A company's own authority is in such a file, and then only those count.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use ureq::tls::{PemItem, RootCerts, parse_pem};

/// The variable that names the file for everybody.
pub const AUTHORITIES_FILE: &str = "SSL_CERT_FILE";
/// No list of authorities is longer.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The authorities; an error is the reason why there are none.
pub(crate) fn roots(environment: &BTreeMap<OsString, OsString>) -> Result<RootCerts, String> {
    match environment.get(OsStr::new(AUTHORITIES_FILE)).filter(|path| !path.is_empty()) {
        None => Ok(RootCerts::WebPki),
        Some(path) => authorities(AUTHORITIES_FILE, Path::new(path)),
    }
}

/// The authorities in the file that this variable names; an error is the reason why there are none.
pub fn authorities(variable: &str, path: &Path) -> Result<RootCerts, String> {
    of_file(path).map_err(|why| format!("`{variable}` names `{}`: {why}", path.display()))
}

fn of_file(path: &Path) -> Result<RootCerts, String> {
    let mut text = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).map_err(|error| error.to_string())?;
    let mut authorities = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| error.to_string())? {
            authorities.push(certificate);
        }
    }
    // Nobody would be vouched for, and that is not what whoever set it meant.
    if authorities.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(RootCerts::new_with_certs(&authorities))
}
