//! User name and password with which a command authenticates to the lock service.

use std::env;

use crate::cmd::failure::Failure;

#[derive(Clone)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

/// Formats the user without the password, so that no log contains the password.
impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Parses a user and password of the form `NAME:PASSWORD`.
pub(crate) fn parse(text: &str) -> Result<User, String> {
    match text.split_once(':') {
        Some((name, password)) if !name.is_empty() => {
            Ok(User { name: name.into(), password: password.into() })
        }
        _ => Err("expected NAME:PASSWORD".into()),
    }
}

/// Returns the user in the environment variable `TENURE_USER`; `None` if the variable is empty or
/// not set. Returns an error if the variable is not `NAME:PASSWORD`. Unlike an argument, the
/// variable does not show the password in the list of processes.
pub(super) fn from_environment() -> Result<Option<User>, Failure> {
    let Some(variable) = env::var_os("TENURE_USER").filter(|variable| !variable.is_empty()) else {
        return Ok(None);
    };
    let parsed = variable.to_str().and_then(|variable| parse(variable).ok());
    // The message does not contain the value, because the value may be a password.
    let invalid = || Failure::usage("invalid value of TENURE_USER: expected NAME:PASSWORD");
    parsed.ok_or_else(invalid).map(Some)
}

/// Appends the option that solves the problem to the message of an error, if the error is about
/// missing credentials or certificates.
pub(crate) fn append_credentials_remedy(message: String) -> String {
    let remedy = match &message {
        it if it.ends_with("user name is empty") => "; use --user NAME:PASSWORD",
        it if it.ends_with("require a client certificate?)") => "; use --cert and --key",
        it if it.ends_with("among the CA certificates?)") => {
            "; use --cacert with the CA certificate of this member"
        }
        _ => "",
    };
    message + remedy
}
