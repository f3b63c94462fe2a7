//! `visor_path`: the directory inside in which a step finds the program that runs it.
//!
//! In the tool whose configuration this key is from, a step is run by a copy of the tool inside, and the key says where
//! that is mounted. Here nothing of polder's is needed inside; what the key asks for is shown all the same, read-only.

use polder_facts::{HostPath, Sourced};
use polder_policy::{Access, Bind, Policy};
use std::borrow::Cow;

/// The name of the program in its directory.
const NAME: &str = "polder";
/// The program. One whose file is gone is a bind source that does not exist, which a plan refuses with the key's place.
const PROGRAM: &str = "/proc/self/exe";

/// The policy with this program among what is shown, where it says so.
pub(crate) fn shown(policy: &Policy) -> Cow<'_, Policy> {
    let Some(Sourced { value: directory, origin }) = &policy.visor_path else { return Cow::Borrowed(policy) };
    let host = HostPath::new(PROGRAM).expect("invariant: a literal absolute path");
    let guest = directory.join(NAME).expect("invariant: a plain name below an absolute path");
    let mut policy = policy.clone();
    policy.binds.push(Sourced::new(Bind { host, guest, access: Access::ReadOnly, optional: false }, origin.clone()));
    Cow::Owned(policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polder_facts::{GuestPath, Origin};
    use polder_policy::built_in;
    use std::path::Path;

    #[test]
    fn the_program_is_shown_where_the_key_says_and_only_then() {
        let mut policy = built_in();
        assert!(shown(&policy).binds.is_empty());
        policy.visor_path = Some(Sourced::new(GuestPath::new("/opt/visor").expect("a path"), Origin::Api));
        let policy = shown(&policy);
        let [bind] = policy.binds.as_slice() else { panic!("one bind") };
        assert_eq!(bind.value.guest.as_path(), Path::new("/opt/visor/polder"));
        assert_eq!(bind.value.access, Access::ReadOnly);
    }
}
