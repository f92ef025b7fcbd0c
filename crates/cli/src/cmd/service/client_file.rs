//! The file `client.toml` with the settings of client commands.

use std::env;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::certificates::CertificateFiles;
use super::user::{self, User};
use crate::cmd::failure::Failure;

const VARIABLE: &str = "TENURE_CONFIG";

const MAX_BYTES: u64 = 1 << 20;

/// Settings in the file `client.toml`. An unknown key in the file is an error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientSettings {
    pub(super) endpoints: Option<Vec<String>>,
    #[serde(default, deserialize_with = "user")]
    pub(super) user: Option<User>,
    cacert: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl ClientSettings {
    /// Reads the file. Returns the default settings if there is no file at the default path, or if
    /// its folder cannot be accessed.
    ///
    /// # Errors
    ///
    /// Returns a usage failure if the file is invalid, is too large, cannot be read, or contains a
    /// password that all users can read. Also returns a failure if `TENURE_CONFIG` names a file
    /// that does not exist.
    pub(super) fn read() -> Result<ClientSettings, Failure> {
        match path() {
            Some((path, is_required)) => ClientSettings::read_from(&path, is_required),
            None => Ok(ClientSettings::default()),
        }
    }

    fn read_from(path: &Path, is_required: bool) -> Result<ClientSettings, Failure> {
        let failed = |reason: &dyn fmt::Display| {
            Failure::usage(format!("cannot use {}: {reason}", path.display()))
        };
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            // Ignores the default path if its folder cannot be accessed. With `su` or `setpriv`,
            // `HOME` may name the directory of another user.
            Err(error)
                if !is_required
                    && matches!(
                        error.kind(),
                        ErrorKind::NotFound
                            | ErrorKind::NotADirectory
                            | ErrorKind::PermissionDenied
                    ) =>
            {
                return Ok(ClientSettings::default());
            }
            Err(error) => return Err(failed(&error)),
        };
        if metadata.len() > MAX_BYTES {
            return Err(failed(&format!("it has more than {MAX_BYTES} bytes")));
        }
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        // The full text of the error would contain the line, and the line may contain a password.
        let mut file: ClientSettings = toml::from_str(&text)
            .map_err(|error| failed(&located(&text, error.span(), error.message())))?;
        if file.user.is_some() && metadata.permissions().mode() & 0o004 != 0 {
            return Err(failed(&format!(
                "it contains a password and every user can read it; run `chmod o= {}`",
                path.display()
            )));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        for path in [&mut file.cacert, &mut file.cert, &mut file.key].into_iter().flatten() {
            *path = folder.join(&path);
        }
        Ok(file)
    }

    pub(super) fn certificates(&self) -> CertificateFiles {
        let ClientSettings { cacert, cert, key, .. } = self.clone();
        CertificateFiles { cacert, cert, key }
    }
}

/// Returns the path of the file, and true if the file must exist. Returns `None` if no environment
/// variable gives a path.
fn path() -> Option<(PathBuf, bool)> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = variable(VARIABLE) {
        return Some((path, true));
    }
    // By the XDG specification, a relative path in this variable is invalid.
    let folder = variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(variable("HOME")?.join(".config")))?;
    Some((folder.join("tenure").join("client.toml"), false))
}

/// Returns `message`, preceded by the number of the line in `text` in which `span` begins. Returns
/// only `message` if `span` is `None`.
fn located(text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> String {
    let before = span.and_then(|span| text.get(..span.start));
    match before {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.to_owned(),
    }
}

fn user<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<User>, D::Error> {
    let text = String::deserialize(deserializer)?;
    user::parse(&text)
        .map(Some)
        .map_err(|error| de::Error::custom(format!("invalid user: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, mode: u32) -> Result<ClientSettings, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("client.toml");
        fs::write(&path, text).expect("room");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the owner");
        let file = ClientSettings::read_from(&path, true).map_err(|failure| failure.to_string());
        file.map(|mut file| {
            // Removes the path of the temporary folder, which differs between runs.
            let relative = |path: &PathBuf| path.strip_prefix(folder.path()).map(Path::to_owned);
            file.cacert = file.cacert.map(|path| relative(&path).unwrap_or(path));
            file
        })
    }

    #[test]
    fn file_contains_endpoints_user_and_certificates() {
        let text = "endpoints = [\"http://a:1\", \"http://b:1\"]\nuser = \"bob:one:two\"\n\
                    cacert = \"ca.pem\"\ncert = \"/etc/own.pem\"\nkey = \"/etc/own.key\"\n";
        let file = read(text, 0o600).expect("it is valid");
        assert_eq!(file.endpoints, Some(vec!["http://a:1".to_owned(), "http://b:1".to_owned()]));
        let user = file.user.expect("a user");
        assert_eq!((&user.name[..], &user.password[..]), ("bob", "one:two"));
        assert_eq!(file.cacert, Some(PathBuf::from("ca.pem")), "it is relative to the file");
        assert_eq!(file.cert, Some(PathBuf::from("/etc/own.pem")));
        let empty = read("", 0o644).expect("it is valid");
        assert!(empty.endpoints.is_none() && empty.user.is_none() && empty.cacert.is_none());
    }

    #[test]
    fn invalid_file_is_rejected_without_its_password() {
        for (text, message) in [
            ("\nendpoint = \"http://a:1\"", "line 2: unknown field `endpoint`"),
            ("endpoints = \"http://a:1\"", "line 1: invalid type: string"),
            ("user = \"secret\"", "line 1: invalid user: expected NAME:PASSWORD"),
            ("user = \"bob:secret", "line 1: "),
        ] {
            let error = read(text, 0o600).expect_err(text);
            assert!(error.contains(message) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn password_that_all_users_can_read_is_rejected() {
        let text = "user = \"bob:secret\"";
        let error = read(text, 0o644).expect_err("it is rejected");
        assert!(error.contains("every user can read it; run `chmod o= /"), "{error}");
        assert!(error.ends_with("/client.toml`"), "{error}");
        assert!(read(text, 0o640).is_ok());
        assert!(read("endpoints = [\"http://a:1\"]", 0o644).is_ok(), "it contains no password");
    }

    #[test]
    fn missing_file_is_an_error_only_if_it_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("client.toml");
        assert!(ClientSettings::read_from(&path, false).is_ok());
        assert!(ClientSettings::read_from(&path, true).is_err());
    }
}
