//! Who a client is.

use std::fmt;

/// Who a client is, where the service wants to know.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

impl User {
    /// The user of this name, who has this password.
    pub fn new(name: impl Into<String>, password: impl Into<String>) -> Self {
        User { name: name.into(), password: password.into() }
    }
}

/// Without the password.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}
