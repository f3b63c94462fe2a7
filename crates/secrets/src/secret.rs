//! A value that nobody prints.

use std::fmt;

/// A value that prints as `Secret(..)`, and that is neither shown nor copied by accident.
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Takes a value in.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the one place that needs it.
    pub const fn reveal(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::Secret;

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", [Some(Secret::new("hunter2"))]), "[Some(Secret(..))]");
    }
}
