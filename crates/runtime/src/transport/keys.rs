//! Keys of a group, which authenticate its processes.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, RwLock};

use snow::params::{DHChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use tenure_core::ProcessId;
use thiserror::Error;

const KEY_BYTES: usize = 32;

/// Private key of a node, which proves the node's identity. Only [`PrivateKey::text`] reveals the
/// key; the `Debug` format hides it.
#[derive(Clone)]
pub struct PrivateKey([u8; KEY_BYTES]);

/// Public part of a [`PrivateKey`]. Its text form has 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; KEY_BYTES]);

/// Keys of a node: its own private key and the public keys of its group.
#[derive(Clone, Debug)]
pub struct NodeKeys {
    private: PrivateKey,
    group: GroupPublicKeys,
}

/// Public keys of the processes of a group. A process may have several keys while one is being
/// replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPublicKeys {
    /// For each process, by index: its keys, at least one.
    by_process: Vec<Vec<PublicKey>>,
}

/// Replaceable [`NodeKeys`] of a running node. New keys apply to connections that begin later.
#[derive(Clone, Debug)]
pub struct ReplaceableKeys(Arc<RwLock<Arc<NodeKeys>>>);

/// Reason why keys are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeysError {
    /// The text is not a key.
    #[error("invalid key: expected {} hexadecimal digits on a line of its own", 2 * KEY_BYTES)]
    NotAKey,
    /// A line of the list of public keys is invalid.
    #[error("line {line} is invalid: expected a process and its public key, as in P1 0123…")]
    InvalidLine {
        /// Number of the invalid line in the list, from 1.
        line: usize,
    },
    /// A process of the group has no key.
    #[error("{process} has no public key; the list needs one for each of the {size} processes")]
    Missing {
        /// Process without a key.
        process: ProcessId,
        /// Number of processes in the group.
        size: usize,
    },
    /// The list has a key for a process outside of the group.
    #[error("{process} has a public key, but the group has only {size} processes")]
    NotInGroup {
        /// Process with the key.
        process: ProcessId,
        /// Number of processes in the group.
        size: usize,
    },
    /// Two processes have the same key, so they cannot be distinguished.
    #[error("{one} and {other} have the same public key")]
    Shared {
        /// One of the two processes with the same key.
        one: ProcessId,
        /// Another process, which has the same key as the process `one`.
        other: ProcessId,
    },
    /// The public part of the private key is not among the listed public keys of this process.
    #[error("the private key is not listed for {me}; its public key is {public}")]
    NotMine {
        /// Process of this node.
        me: ProcessId,
        /// Public part of the private key.
        public: PublicKey,
    },
}

impl PrivateKey {
    /// Generates a random key.
    ///
    /// # Errors
    ///
    /// If the operating system provides no entropy.
    pub fn generate() -> std::io::Result<Self> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(PrivateKey(bytes))
    }

    /// Parses the text of a key file: one line with the key. Lines that begin with `#` are
    /// comments.
    ///
    /// # Errors
    ///
    /// [`KeysError::NotAKey`], if the text is not a key.
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let mut lines = content_lines(text);
        match (lines.next(), lines.next()) {
            (Some((_, key)), None) => parse_key(key).map(PrivateKey),
            _ => Err(KeysError::NotAKey),
        }
    }

    /// Returns true if the permissions `mode` let too many users access a key file. `owner_uid` is
    /// the user ID of the owner of the file.
    ///
    /// Only the owner may access the file. If the owner is root, the group of the file may also
    /// read it. `libpq` of PostgreSQL has the same rule.
    pub const fn is_key_file_exposed(mode: u32, owner_uid: u32) -> bool {
        let forbidden = if owner_uid == 0 { 0o037 } else { 0o077 };
        mode & forbidden != 0
    }

    /// Returns the key as hexadecimal text. If the caller writes this text to a file, no other user
    /// should be able to access the file.
    pub fn text(&self) -> String {
        hex::encode(self.0)
    }

    /// Computes the public key.
    ///
    /// # Panics
    ///
    /// Never, because the curve is built in.
    pub fn public(&self) -> PublicKey {
        let mut curve = DefaultResolver.resolve_dh(&DHChoice::Curve25519).expect("the curve");
        curve.set(&self.0);
        PublicKey(curve.pubkey().try_into().expect("a public key has 32 bytes"))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrivateKey(…)")
    }
}

impl PublicKey {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for PublicKey {
    type Err = KeysError;

    fn from_str(text: &str) -> Result<Self, KeysError> {
        parse_key(text).map(PublicKey)
    }
}

impl GroupPublicKeys {
    /// Creates the keys of a group. Each process must have at least one key.
    ///
    /// # Errors
    ///
    /// [`KeysError`], if a process has no key or two processes share a key.
    pub fn new(by_process: Vec<Vec<PublicKey>>) -> Result<Self, KeysError> {
        let size = by_process.len();
        if let Some(index) = by_process.iter().position(Vec::is_empty) {
            return Err(KeysError::Missing { process: ProcessId::from_index(index), size });
        }
        let group = GroupPublicKeys { by_process };
        for (index, keys) in group.by_process.iter().enumerate() {
            let other = ProcessId::from_index(index);
            let one = keys.iter().filter_map(|key| group.owner(key.bytes())).min();
            if let Some(one) = one.filter(|one| *one < other) {
                return Err(KeysError::Shared { one, other });
            }
        }
        Ok(group)
    }

    /// Parses the text of a key list for a group of `size` processes. Each line has a process and
    /// one of its keys, as in `P1 0123…`. Empty lines are ignored, and lines that begin with `#`
    /// are comments.
    ///
    /// # Errors
    ///
    /// [`KeysError`], if a line is invalid or the keys do not fit the group.
    pub fn parse(text: &str, size: usize) -> Result<Self, KeysError> {
        let mut by_process = vec![Vec::new(); size];
        for (line, words) in content_lines(text) {
            let read = words.split_once(char::is_whitespace).and_then(|(process, key)| {
                let number: u32 = process.strip_prefix('P')?.parse().ok()?;
                Some((ProcessId(number.checked_sub(1)?), key.trim().parse().ok()?))
            });
            let (process, key) = read.ok_or(KeysError::InvalidLine { line })?;
            let keys = by_process.get_mut(process.index());
            keys.ok_or(KeysError::NotInGroup { process, size })?.push(key);
        }
        GroupPublicKeys::new(by_process)
    }

    /// Returns the text of the key list, as [`GroupPublicKeys::parse`] reads it.
    pub fn text(&self) -> String {
        let lines = self.by_process.iter().enumerate().flat_map(|(index, keys)| {
            keys.iter().map(move |key| format!("{} {key}\n", ProcessId::from_index(index)))
        });
        lines.collect()
    }

    /// Returns the process that has this public key; `None` if the key belongs to no process of the
    /// group.
    pub(crate) fn owner(&self, key: &[u8]) -> Option<ProcessId> {
        let is_owner = |keys: &Vec<PublicKey>| keys.iter().any(|listed| listed.bytes() == key);
        self.by_process.iter().position(is_owner).map(ProcessId::from_index)
    }

    /// Returns the public key that this node expects from a process in the connection attempt with
    /// the number `attempt`. If the process has several keys, successive attempts use them in turn.
    pub(crate) fn key_for_attempt(&self, process: ProcessId, attempt: usize) -> PublicKey {
        let keys = &self.by_process[process.index()];
        keys[attempt % keys.len()]
    }
}

impl NodeKeys {
    /// Creates the keys of process `me`.
    ///
    /// # Errors
    ///
    /// [`KeysError::NotMine`], if the group does not list the private key for `me`.
    pub fn new(
        me: ProcessId,
        private: PrivateKey,
        group: GroupPublicKeys,
    ) -> Result<Self, KeysError> {
        let public = private.public();
        if group.owner(public.bytes()) == Some(me) {
            Ok(NodeKeys { private, group })
        } else {
            Err(KeysError::NotMine { me, public })
        }
    }

    /// Returns the number of processes in the group.
    pub fn group_size(&self) -> usize {
        self.group.by_process.len()
    }

    pub(crate) fn private(&self) -> &PrivateKey {
        &self.private
    }

    pub(crate) fn group(&self) -> &GroupPublicKeys {
        &self.group
    }
}

impl ReplaceableKeys {
    /// Replaces the keys for later connections. Existing connections continue.
    pub fn replace(&self, keys: NodeKeys) {
        *self.0.write().expect("the lock is not poisoned") = Arc::new(keys);
    }

    pub(crate) fn keys(&self) -> Arc<NodeKeys> {
        self.0.read().expect("the lock is not poisoned").clone()
    }
}

impl From<NodeKeys> for ReplaceableKeys {
    fn from(keys: NodeKeys) -> Self {
        ReplaceableKeys(Arc::new(RwLock::new(Arc::new(keys))))
    }
}

pub(crate) fn noise_params() -> NoiseParams {
    "Noise_IK_25519_ChaChaPoly_BLAKE2s".parse().expect("valid Noise parameters")
}

/// Returns the lines that are neither empty nor comments, with their line numbers from 1.
fn content_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn parse_key(text: &str) -> Result<[u8; KEY_BYTES], KeysError> {
    let mut bytes = [0; KEY_BYTES];
    hex::decode_to_slice(text, &mut bytes).map_err(|_| KeysError::NotAKey)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P1: ProcessId = ProcessId(0);
    const P2: ProcessId = ProcessId(1);

    fn key() -> PrivateKey {
        PrivateKey::generate().expect("entropy")
    }

    /// Tests the key pair that RFC 7748 gives as a test vector in section 6.1.
    #[test]
    fn public_key_matches_test_vector() {
        let bob = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
        let public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
        assert_eq!(PrivateKey::parse(bob).expect("a key").public().to_string(), public);
    }

    #[test]
    fn group_may_read_key_of_root_only() {
        for mode in [0o600, 0o400, 0o700] {
            assert!(
                !PrivateKey::is_key_file_exposed(mode, 0)
                    && !PrivateKey::is_key_file_exposed(mode, 1000)
            );
        }
        for mode in [0o640, 0o440] {
            assert!(
                !PrivateKey::is_key_file_exposed(mode, 0)
                    && PrivateKey::is_key_file_exposed(mode, 1000)
            );
        }
        for mode in [0o604, 0o660, 0o610, 0o650, 0o644] {
            assert!(
                PrivateKey::is_key_file_exposed(mode, 0)
                    && PrivateKey::is_key_file_exposed(mode, 1000)
            );
        }
    }

    #[test]
    fn round_trip() {
        let (one, two, newer) = (key(), key(), key().public());
        let by_process = vec![vec![one.public()], vec![two.public(), newer]];
        let group = GroupPublicKeys::new(by_process).expect("keys");
        let text = format!("# Keys.\n\n{}", group.text());
        assert_eq!(GroupPublicKeys::parse(&text, 2), Ok(group.clone()));
        assert_eq!(group.owner(newer.bytes()), Some(P2));
        assert_eq!(
            [0, 1, 2].map(|n| group.key_for_attempt(P2, n)),
            [two.public(), newer, two.public()]
        );
        let again = PrivateKey::parse(&format!("# Mine.\n{}\n", one.text())).expect("a key");
        assert_eq!(again.public(), one.public());
    }

    #[test]
    fn reports_each_kind_of_mistake() {
        let (one, two) = (key(), key());
        let (first, second) = (one.public(), two.public());
        let parse = |text: String| GroupPublicKeys::parse(&text, 2).expect_err("a mistake");
        assert_eq!(parse(format!("P1 {first}")), KeysError::Missing { process: P2, size: 2 });
        let third = KeysError::NotInGroup { process: ProcessId(2), size: 2 };
        assert_eq!(parse(format!("P1 {first}\nP3 {second}")), third);
        let shared = KeysError::Shared { one: P1, other: P2 };
        assert_eq!(parse(format!("P1 {first}\nP2 {second}\nP2 {first}")), shared);
        for line in ["P0 00", "1 00", "P1", "P1 0g"] {
            assert_eq!(
                parse(format!("# Here:\n{line}")),
                KeysError::InvalidLine { line: 2 },
                "{line}"
            );
        }
        let group = GroupPublicKeys::new(vec![vec![first], vec![second]]).expect("keys");
        let mistaken =
            NodeKeys::new(P1, two, group.clone()).expect_err("the key of another process");
        assert_eq!(mistaken, KeysError::NotMine { me: P1, public: second });
        assert!(NodeKeys::new(P1, one, group).is_ok());
        assert_eq!(PrivateKey::parse("abc").err(), Some(KeysError::NotAKey));
    }

    #[test]
    fn debug_output_hides_private_key() {
        let key = key();
        assert!(!format!("{key:?}").contains(&key.text()));
    }
}
