use std::fmt;

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
