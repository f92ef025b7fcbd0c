//! The keys of a group: a process is whoever proves a key that is listed for it.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, RwLock};

use snow::params::{DHChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use tenure_core::ProcessId;
use thiserror::Error;

/// The bytes of a key, private or public.
const KEY_BYTES: usize = 32;

/// What only one node knows, and by which it proves which process it is. Never printed but by
/// [`PrivateKey::text`].
#[derive(Clone)]
pub struct PrivateKey([u8; KEY_BYTES]);

/// What everybody may know of a [`PrivateKey`]. In text it is 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; KEY_BYTES]);

/// The keys with which a node takes part: its own, and those by which it knows the group.
#[derive(Clone, Debug)]
pub struct Keys {
    private: PrivateKey,
    group: GroupKeys,
}

/// The public keys of a group. A process may have several while one is exchanged for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKeys {
    /// By process; nobody has none.
    of: Vec<Vec<PublicKey>>,
}

/// The [`Keys`] of a node that runs: they can be replaced, and hold for connections from then on.
#[derive(Clone, Debug)]
pub struct Keyring(Arc<RwLock<Arc<Keys>>>);

/// Why keys cannot be used. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeysError {
    /// The text is not a key.
    #[error("a key is {} hexadecimal digits on a line of its own", 2 * KEY_BYTES)]
    NotAKey,
    /// A line of the list of public keys is not understood.
    #[error("line {line} is not understood; write a process and its public key: P1 0123…")]
    Line {
        /// Which line, from 1.
        line: usize,
    },
    /// A process of the group has no key.
    #[error("{process} has no public key; the list needs one for each of the {size} processes")]
    Missing {
        /// The process.
        process: ProcessId,
        /// The size of the group.
        size: usize,
    },
    /// A key is listed for a process that the group does not have.
    #[error("{process} has a public key, and the group has {size} processes")]
    NotInGroup {
        /// The process.
        process: ProcessId,
        /// The size of the group.
        size: usize,
    },
    /// Two processes have one key, so that each could be taken for the other.
    #[error("{one} and {other} have the same public key")]
    Shared {
        /// The first of them.
        one: ProcessId,
        /// The second.
        other: ProcessId,
    },
    /// The private key is of no process, or of another.
    #[error("the private key is not one that is listed for {me}; its public key is {public}")]
    NotMine {
        /// The process that this node drives.
        me: ProcessId,
        /// The public key that belongs to the private one.
        public: PublicKey,
    },
}

impl PrivateKey {
    /// A new key.
    ///
    /// # Errors
    ///
    /// When the operating system gives no entropy.
    pub fn generate() -> std::io::Result<Self> {
        let mut bytes = [0; KEY_BYTES];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(PrivateKey(bytes))
    }

    /// Reads a file's text: a line with the key; lines that begin with `#` say nothing.
    ///
    /// # Errors
    ///
    /// [`KeysError::NotAKey`].
    pub fn parse(text: &str) -> Result<Self, KeysError> {
        let mut lines = meant(text);
        match (lines.next(), lines.next()) {
            (Some((_, key)), None) => bytes_of(key).map(PrivateKey),
            _ => Err(KeysError::NotAKey),
        }
    }

    /// What belongs into a file that nobody else may read.
    pub fn text(&self) -> String {
        hexadecimal(&self.0)
    }

    /// The key that others list.
    ///
    /// # Panics
    ///
    /// Never: the curve is compiled in.
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
        f.write_str(&hexadecimal(&self.0))
    }
}

impl FromStr for PublicKey {
    type Err = KeysError;

    fn from_str(text: &str) -> Result<Self, KeysError> {
        bytes_of(text).map(PublicKey)
    }
}

impl GroupKeys {
    /// The keys of a group by process, one each at least.
    ///
    /// # Errors
    ///
    /// [`KeysError`], when a process has none, or two processes have the same.
    pub fn new(of: Vec<Vec<PublicKey>>) -> Result<Self, KeysError> {
        let size = of.len();
        if let Some(index) = of.iter().position(Vec::is_empty) {
            return Err(KeysError::Missing { process: ProcessId::at(index), size });
        }
        let group = GroupKeys { of };
        for (index, keys) in group.of.iter().enumerate() {
            let other = ProcessId::at(index);
            let one = keys.iter().filter_map(|key| group.owner(key.bytes())).min();
            if let Some(one) = one.filter(|one| *one < other) {
                return Err(KeysError::Shared { one, other });
            }
        }
        Ok(group)
    }

    /// Reads a file's text: lines of a process and one of its keys, `P1 0123…`; lines that begin
    /// with `#` say nothing.
    ///
    /// # Errors
    ///
    /// [`KeysError`].
    pub fn parse(text: &str, size: usize) -> Result<Self, KeysError> {
        let mut of = vec![Vec::new(); size];
        for (line, words) in meant(text) {
            let read = words.split_once(char::is_whitespace).and_then(|(process, key)| {
                let number: u32 = process.strip_prefix('P')?.parse().ok()?;
                Some((ProcessId(number.checked_sub(1)?), key.trim().parse().ok()?))
            });
            let (process, key) = read.ok_or(KeysError::Line { line })?;
            let keys = of.get_mut(process.index());
            keys.ok_or(KeysError::NotInGroup { process, size })?.push(key);
        }
        GroupKeys::new(of)
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let lines = self.of.iter().enumerate().flat_map(|(index, keys)| {
            keys.iter().map(move |key| format!("{} {key}\n", ProcessId::at(index)))
        });
        lines.collect()
    }

    /// Whose key this is.
    pub(crate) fn owner(&self, key: &[u8]) -> Option<ProcessId> {
        let is_owner = |keys: &Vec<PublicKey>| keys.iter().any(|listed| listed.bytes() == key);
        self.of.iter().position(is_owner).map(ProcessId::at)
    }

    /// The key to expect of a process at this attempt: each of its keys in turn.
    pub(crate) fn expected(&self, process: ProcessId, attempt: usize) -> PublicKey {
        let keys = &self.of[process.index()];
        keys[attempt % keys.len()]
    }
}

impl Keys {
    /// The keys of process `me`.
    ///
    /// # Errors
    ///
    /// [`KeysError::NotMine`], when the group does not list the private key for `me`.
    pub fn new(me: ProcessId, private: PrivateKey, group: GroupKeys) -> Result<Self, KeysError> {
        let public = private.public();
        if group.owner(public.bytes()) == Some(me) {
            Ok(Keys { private, group })
        } else {
            Err(KeysError::NotMine { me, public })
        }
    }

    /// How many processes the keys are for.
    pub fn size(&self) -> usize {
        self.group.of.len()
    }

    pub(crate) fn private(&self) -> &PrivateKey {
        &self.private
    }

    pub(crate) fn group(&self) -> &GroupKeys {
        &self.group
    }
}

impl Keyring {
    /// Takes other keys from now on. Connections that stand stay.
    pub fn replace(&self, keys: Keys) {
        *self.0.write().expect("no code panics while it holds keys") = Arc::new(keys);
    }

    pub(crate) fn keys(&self) -> Arc<Keys> {
        self.0.read().expect("no code panics while it holds keys").clone()
    }
}

impl From<Keys> for Keyring {
    fn from(keys: Keys) -> Self {
        Keyring(Arc::new(RwLock::new(Arc::new(keys))))
    }
}

/// Which of the exchanges that Noise knows, with which curve, cipher and hash.
pub(crate) fn exchange() -> NoiseParams {
    "Noise_IK_25519_ChaChaPoly_BLAKE2s".parse().expect("an exchange that Noise knows")
}

/// The lines of a file that say something, with their numbers.
fn meant(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(text: &str) -> Result<[u8; KEY_BYTES], KeysError> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let digits: Option<Vec<u8>> = text.bytes().map(digit).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * KEY_BYTES).ok_or(KeysError::NotAKey)?;
    let mut bytes = [0; KEY_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
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

    /// RFC 7748, section 6.1.
    #[test]
    fn the_public_key_is_that_of_the_curve() {
        let bob = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
        let public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";
        assert_eq!(PrivateKey::parse(bob).expect("a key").public().to_string(), public);
    }

    #[test]
    fn what_is_written_is_read() {
        let (one, two, newer) = (key(), key(), key().public());
        let of = vec![vec![one.public()], vec![two.public(), newer]];
        let group = GroupKeys::new(of).expect("keys");
        let text = format!("# Who is who.\n\n{}", group.text());
        assert_eq!(GroupKeys::parse(&text, 2), Ok(group.clone()));
        assert_eq!(group.owner(newer.bytes()), Some(P2));
        assert_eq!([0, 1, 2].map(|n| group.expected(P2, n)), [two.public(), newer, two.public()]);
        let again = PrivateKey::parse(&format!("# Mine.\n{}\n", one.text())).expect("a key");
        assert_eq!(again.public(), one.public());
    }

    #[test]
    fn every_mistake_is_told() {
        let (one, two) = (key(), key());
        let (first, second) = (one.public(), two.public());
        let parse = |text: String| GroupKeys::parse(&text, 2).expect_err("a mistake");
        assert_eq!(parse(format!("P1 {first}")), KeysError::Missing { process: P2, size: 2 });
        let third = KeysError::NotInGroup { process: ProcessId(2), size: 2 };
        assert_eq!(parse(format!("P1 {first}\nP3 {second}")), third);
        let shared = KeysError::Shared { one: P1, other: P2 };
        assert_eq!(parse(format!("P1 {first}\nP2 {second}\nP2 {first}")), shared);
        for line in ["P0 00", "1 00", "P1", "P1 0g"] {
            assert_eq!(parse(format!("# Here:\n{line}")), KeysError::Line { line: 2 }, "{line}");
        }
        let group = GroupKeys::new(vec![vec![first], vec![second]]).expect("keys");
        let mistaken = Keys::new(P1, two, group.clone()).expect_err("the key of another");
        assert_eq!(mistaken, KeysError::NotMine { me: P1, public: second });
        assert!(Keys::new(P1, one, group).is_ok());
        assert_eq!(PrivateKey::parse("abc").err(), Some(KeysError::NotAKey));
    }

    #[test]
    fn a_private_key_is_never_printed() {
        let key = key();
        assert!(!format!("{key:?}").contains(&key.text()));
    }
}
