//! Who asks a service, where it wants to know.

use std::env;

use crate::cmd::failure::Failure;

/// A user and their password.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

/// Without the password.
impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What `NAME:PASSWORD` means.
pub(crate) fn parse(text: &str) -> Result<User, String> {
    match text.split_once(':') {
        Some((name, password)) if !name.is_empty() => {
            Ok(User { name: name.into(), password: password.into() })
        }
        _ => Err("say NAME:PASSWORD".into()),
    }
}

/// Who was named; or else in the environment, where others do not see the password.
pub(crate) fn or_of_environment(given: Option<&User>) -> Result<Option<User>, Failure> {
    let named = env::var_os("TENURE_USER").filter(|named| !named.is_empty());
    match (given, named) {
        (Some(given), _) => Ok(Some(given.clone())),
        (None, None) => Ok(None),
        (None, Some(named)) => {
            let parsed = named.to_str().and_then(|named| parse(named).ok());
            // It may be a password.
            let wrong = || Failure::usage("what TENURE_USER has is no user; say NAME:PASSWORD");
            parsed.ok_or_else(wrong).map(Some)
        }
    }
}

/// What a service says to somebody who did not say who they are, and what they may do.
pub(crate) fn advised(why: String) -> String {
    let remedy =
        if why.ends_with("user name is empty") { "; say --user NAME:PASSWORD" } else { "" };
    why + remedy
}
