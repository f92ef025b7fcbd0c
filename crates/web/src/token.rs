use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use subtle::ConstantTimeEq;

/// What whoever asks from beyond this machine must know: 128 random bits.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The token in a file that only its owner may read; one is drawn and written where there is no
    /// such file yet.
    pub(crate) fn kept(path: &Path) -> io::Result<Self> {
        let mut text = String::new();
        match OpenOptions::new().read(true).open(path) {
            Ok(mut file) => {
                let mode = file.metadata()?.permissions().mode() & 0o777;
                if mode & 0o077 != 0 {
                    let says = format!("others may read it (mode {mode:o}); chmod 600 it");
                    return Err(io::Error::new(ErrorKind::PermissionDenied, says));
                }
                file.read_to_string(&mut text)?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let drawn = Token::random().map_err(io::Error::other)?;
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                let mut options = OpenOptions::new();
                let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
                writeln!(file, "{drawn}")?;
                file.sync_all()?;
                return Ok(drawn);
            }
            Err(error) => return Err(error),
        }
        let token = text.trim_end();
        if token.len() != 32 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let says = "it holds no token; remove it, and another one is drawn";
            return Err(io::Error::new(ErrorKind::InvalidData, says));
        }
        Ok(Token(token.to_owned()))
    }

    /// Whether `said` is the token. How long it takes does not tell how much of it is right.
    pub(crate) fn is(&self, said: &str) -> bool {
        self.0.as_bytes().ct_eq(said.as_bytes()).into()
    }
}

/// Only for the address that is shown to whoever started the server.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_is_kept_is_found_again_unless_others_may_read_it() {
        let folder = std::env::temp_dir().join(format!("tenure-token-{}", std::process::id()));
        let path = folder.join("page.token");
        let first = Token::kept(&path).unwrap().to_string();
        assert_eq!(Token::kept(&path).unwrap().to_string(), first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(Token::kept(&path).unwrap_err().to_string().contains("no token"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Token::kept(&path).unwrap_err().to_string().contains("chmod 600"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = Token::random().unwrap();
        let said = token.to_string();
        assert_eq!(said.len(), 32);
        assert!(token.is(&said));
        for wrong in ["", &said[1..], &format!("{said}0"), &format!("x{}", &said[1..])] {
            assert!(!token.is(wrong), "{wrong} for {said}");
        }
        assert!(!token.is(&Token::random().unwrap().to_string()));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
