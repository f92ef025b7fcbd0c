//! The shared secret of a cluster and what it proves.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use super::frame::{Nonce, Proof};

/// The shortest secret that is accepted: guessing it offline must be hopeless.
pub const SHORTEST_SECRET_BYTES: usize = 16;

/// What all nodes of a cluster know and nobody else. Never printed.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

/// The secret was refused before it was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a secret of {length} bytes is too short: it needs at least {SHORTEST_SECRET_BYTES}")]
pub struct SecretTooShort {
    /// The length of what was given, in bytes.
    pub length: usize,
}

impl Secret {
    /// The secret made of these bytes.
    ///
    /// # Errors
    ///
    /// [`SecretTooShort`] below [`SHORTEST_SECRET_BYTES`].
    pub fn new(bytes: impl Into<Vec<u8>>) -> Result<Self, SecretTooShort> {
        let bytes = bytes.into();
        if bytes.len() < SHORTEST_SECRET_BYTES {
            return Err(SecretTooShort { length: bytes.len() });
        }
        Ok(Secret(bytes))
    }

    /// The proof that whoever plays `role` knows the secret, bound to this handshake alone.
    pub(crate) fn prove(&self, role: Role, transcript: &Transcript<'_>) -> Proof {
        self.code(role, transcript).finalize().into_bytes().into()
    }

    /// Whether `proof` is the one expected of `role`, compared in constant time.
    pub(crate) fn verifies(
        &self,
        role: Role,
        transcript: &Transcript<'_>,
        proof: Option<Proof>,
    ) -> bool {
        let Some(proof) = proof else { return false };
        self.code(role, transcript).verify_slice(&proof).is_ok()
    }

    fn code(&self, role: Role, transcript: &Transcript<'_>) -> Hmac<Sha256> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        code.update(role.label());
        code.update(&(transcript.hello.len() as u64).to_le_bytes());
        code.update(transcript.hello);
        code.update(&transcript.version.to_le_bytes());
        code.update(&transcript.session.to_le_bytes());
        code.update(&transcript.nonce);
        code
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Who proves: the label keeps one side's proof from being echoed as the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Dialer,
    Acceptor,
}

impl Role {
    fn label(self) -> &'static [u8] {
        match self {
            Role::Dialer => b"tenure wire 1 dialer\0",
            Role::Acceptor => b"tenure wire 1 acceptor\0",
        }
    }
}

/// All that both sides said before the proofs: the hello as it came, and the welcome's fields.
pub(crate) struct Transcript<'a> {
    pub(crate) hello: &'a [u8],
    pub(crate) version: u16,
    pub(crate) session: u64,
    pub(crate) nonce: Nonce,
}

/// A fresh nonce.
///
/// # Errors
///
/// When the operating system gives no entropy.
pub(crate) fn fresh_nonce() -> std::io::Result<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_bound_to_its_role_its_handshake_and_its_secret() {
        let secret = Secret::new("correct horse battery").expect("long enough");
        let other = Secret::new("incorrect horse battery").expect("long enough");
        let said = Transcript { hello: b"hello", version: 1, session: 7, nonce: [1; 32] };
        let proof = Some(secret.prove(Role::Dialer, &said));
        assert!(secret.verifies(Role::Dialer, &said, proof));
        assert!(!secret.verifies(Role::Acceptor, &said, proof), "reflected");
        assert!(!other.verifies(Role::Dialer, &said, proof), "another secret");
        assert!(!secret.verifies(Role::Dialer, &said, None), "no proof");
        let replayed = Transcript { nonce: [2; 32], ..said };
        assert!(!secret.verifies(Role::Dialer, &replayed, proof), "another nonce");
    }

    #[test]
    fn a_secret_is_never_printed_and_never_short() {
        let secret = Secret::new("correct horse battery").expect("long enough");
        assert!(!format!("{secret:?}").contains("horse"));
        assert_eq!(Secret::new("short").err(), Some(SecretTooShort { length: 5 }));
    }
}
