//! Access tokens, and the files that store them. A server has a token if other machines can reach
//! it.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use subtle::ConstantTimeEq;

/// Token that authorizes requests. It consists of 128 random bits.
#[derive(Clone)]
pub(crate) struct AccessToken(String);

impl AccessToken {
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(AccessToken(hex::encode(bytes)))
    }

    /// Reads the token from a file, which must be readable only by its owner. If the file does not
    /// exist, creates the file with a new token.
    pub(crate) fn load_or_create(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        match OpenOptions::new().read(true).open(path) {
            Ok(mut file) => {
                let mode = file.metadata()?.permissions().mode() & 0o777;
                if mode & 0o077 != 0 {
                    let message = format!("others may read it (mode {mode:o}): run chmod 600");
                    return Err(io::Error::new(ErrorKind::PermissionDenied, message));
                }
                file.read_to_string(&mut text)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let token = AccessToken::random().map_err(io::Error::other)?;
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                let mut options = OpenOptions::new();
                let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
                writeln!(file, "{token}")?;
                file.sync_all()?;
                return Ok(token);
            }
            Err(error) => return Err(error),
        }
        let token = text.trim_end();
        if token.len() != 32 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = "it contains no token: remove it to create a new one";
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(AccessToken(token.to_owned()))
    }

    /// Returns true if `value` equals the token. The comparison takes constant time.
    pub(crate) fn matches(&self, value: &str) -> bool {
        self.0.as_bytes().ct_eq(value.as_bytes()).into()
    }
}

/// Formats the token for the URL that is printed when the server starts.
impl fmt::Display for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_file_is_reused_unless_others_may_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("page.token");
        let first = AccessToken::load_or_create(&path).unwrap().to_string();
        assert_eq!(AccessToken::load_or_create(&path).unwrap().to_string(), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(AccessToken::load_or_create(&path).unwrap_err().to_string().contains("no token"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(AccessToken::load_or_create(&path).unwrap_err().to_string().contains("chmod 600"));
    }

    #[test]
    fn token_matches_only_itself() {
        let token = AccessToken::random().unwrap();
        let value = token.to_string();
        assert_eq!(value.len(), 32);
        assert!(token.matches(&value));
        for wrong in ["", &value[1..], &format!("{value}0"), &format!("x{}", &value[1..])] {
            assert!(!token.matches(wrong), "{wrong} for {value}");
        }
        assert!(!token.matches(&AccessToken::random().unwrap().to_string()));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
