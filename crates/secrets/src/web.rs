//! Asking GitHub over TLS. Follows nobody elsewhere and reads no more than an answer is long.

use crate::app::{Ask, Method};
use crate::roots::roots;
use crate::secret::Secret;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;
use ureq::tls::TlsConfig;

/// From the first byte to the last.
const TIME_MAX: Duration = Duration::from_secs(30);
/// No answer is longer.
const ANSWER_BYTES_MAX: u64 = 256 * 1024;

/// The network.
pub(crate) struct Web<'a> {
    /// The caller's variables, one of which may say who vouches for servers.
    pub(crate) environment: &'a BTreeMap<OsString, OsString>,
}

impl Ask for Web<'_> {
    fn ask(&self, method: Method, address: &str, proof: &Secret<String>) -> Result<(u16, String), String> {
        let tls = TlsConfig::builder().root_certs(roots(self.environment)?).build();
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIME_MAX))
            // A proof is for whom it was made.
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent("polder")
            .tls_config(tls)
            .build();
        let agent = config.new_agent();
        let header = Secret::new(format!("Bearer {}", proof.reveal()));
        let (accept, version) = ("application/vnd.github+json", "2022-11-28");
        let asked = match method {
            Method::Get => agent
                .get(address)
                .header("Authorization", header.reveal())
                .header("Accept", accept)
                .header("X-GitHub-Api-Version", version)
                .call(),
            Method::Post => agent
                .post(address)
                .header("Authorization", header.reveal())
                .header("Accept", accept)
                .header("X-GitHub-Api-Version", version)
                .send_empty(),
        };
        let mut answer = asked.map_err(|error| error.to_string())?;
        let text = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_string();
        Ok((answer.status().as_u16(), text.map_err(|error| error.to_string())?))
    }
}
