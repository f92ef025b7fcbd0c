//! Name and password of a client.

use std::fmt;

/// Name and password of a user, for services that require authentication.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

impl User {
    /// Creates a user from a name and a password.
    pub fn new(name: impl Into<String>, password: impl Into<String>) -> Self {
        User { name: name.into(), password: password.into() }
    }
}

/// Omits the password from the output.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}
