//! Access tokens, and the files that store them. A server has a token if other machines can reach
//! it.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use subtle::ConstantTimeEq;

/// Token that authorizes requests. It consists of 128 random bits, written as 32 hexadecimal
/// digits.
#[derive(Clone)]
pub(crate) struct AccessToken(String);

impl AccessToken {
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(AccessToken(hex::encode(bytes)))
    }

    /// Reads the token from a file. Returns an error if other users may access the file, or if it
    /// contains no token. If the file does not exist, creates the file with a new token.
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
            Err(error) if error.kind() == ErrorKind::NotFound => return AccessToken::create(path),
            Err(error) => return Err(error),
        }
        let token = text.trim_end();
        if token.len() != 32 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let message = "it contains no token: remove it to create a new one";
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(AccessToken(token.to_owned()))
    }

    /// Creates a file with a new token. After a failure or a crash, the file is either complete or
    /// absent. An existing file is never replaced.
    fn create(path: &Path) -> io::Result<Self> {
        let token = AccessToken::random().map_err(io::Error::other)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), fs::create_dir_all)?;
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".new");
        // A crash may have left this file.
        let _ = fs::remove_file(&temporary);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&temporary);
        let written = file.and_then(|mut file| {
            writeln!(file, "{token}")?;
            file.sync_all()
        });
        // Unlike a renaming, a link fails if the file exists.
        let created = written.and_then(|()| fs::hard_link(&temporary, path));
        let _ = fs::remove_file(&temporary);
        created?;
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(token)
    }

    /// Returns true if `value` equals the token. The time of the comparison does not depend on the
    /// contents.
    pub(crate) fn matches(&self, value: &str) -> bool {
        self.0.as_bytes().ct_eq(value.as_bytes()).into()
    }
}

/// Formats the token itself, for its file and for the URL that is printed when the server starts.
/// The `Debug` format hides the token.
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
        let exists = AccessToken::create(&path).unwrap_err();
        assert_eq!(exists.kind(), ErrorKind::AlreadyExists);
        assert_eq!(AccessToken::load_or_create(&path).unwrap().to_string(), first);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file is left");
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
