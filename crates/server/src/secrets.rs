//! What proves who a user is: a password, and then a token, which expires.
//!
//! A password is kept as its salt and what Argon2id makes of both, which takes 12 MiB and some time
//! to try. A token says who and until when, and is signed by a key that all members have, so that
//! each of them knows the tokens of the others; it is void as soon as the password is another one.
//! One that is used counts for longer: see `tokens`.

use std::fmt::{self, Write};
use std::time::{Duration, SystemTime};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};
use tenure_store::{Access, Bytes};

use crate::refusal::Refusal;

/// How many bytes of a kept password are its salt.
const SALT: usize = 16;

/// How many bytes are behind it.
const HASH: usize = 32;

/// How many bytes the key has by which tokens are signed.
const KEY: usize = 32;

/// In KiB, and how often all of it is gone through: as OWASP has it for Argon2id.
const MEMORY: u32 = 12 * 1024;
const PASSES: u32 = 3;

/// Bytes that nobody can guess.
pub(crate) fn drawn<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    bytes
}

/// A key by which tokens are signed.
pub(crate) fn key() -> Bytes {
    Bytes::from(&drawn::<KEY>())
}

/// Where a password is hashed. It is used again: allocators are bad at giving such pieces back, and
/// with that of glibc thirty passwords left 350 MB behind.
#[derive(Default)]
pub(crate) struct Memory(Vec<Block>);

/// It is of no use to anybody, and has 12 MiB.
impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// A password as it is kept.
pub(crate) fn kept(password: &str, memory: &mut Memory) -> Bytes {
    let salt = drawn::<SALT>();
    Bytes::from([&salt[..], &hash(password, &salt, memory)].concat())
}

/// Whether a password is the one that is kept. It takes as long where none is.
pub(crate) fn is_password(kept: &[u8], password: &str, memory: &mut Memory) -> bool {
    match kept.split_first_chunk::<SALT>() {
        Some((salt, known)) => is_equal(&hash(password, salt, memory), known),
        None => {
            hash(password, &[0; SALT], memory);
            false
        }
    }
}

fn hash(password: &str, salt: &[u8; SALT], Memory(blocks): &mut Memory) -> [u8; HASH] {
    let mut hash = [0; HASH];
    let params = Params::new(MEMORY, PASSES, 1, Some(HASH)).expect("numbers that may be");
    blocks.resize(params.block_count(), Block::default());
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hashed = argon.hash_password_into_with_memory(password.as_bytes(), salt, &mut hash, blocks);
    hashed.expect("lengths that may be");
    hash
}

/// Without telling by the time it takes where they differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differ = one.iter().zip(other).fold(0, |differ, (one, other)| differ | (one ^ other));
    one.len() == other.len() && differ == 0
}

/// A token of a user, who has proved to have that password, for so long; none if it is another by
/// now.
pub(crate) fn token(
    access: &Access,
    name: &str,
    proved: &[u8],
    ttl: Duration,
) -> Result<String, Refusal> {
    let is_theirs = access.user(name).is_ok_and(|user| user.password[..] == *proved);
    is_theirs.then_some(()).ok_or(Refusal::AUTH_FAILED)?;
    let expires = now().saturating_add(ttl.as_secs());
    let signed = signature(access, name, expires).ok_or(Refusal::AUTH_FAILED)?;
    Ok(format!("{}.{expires}.{}", hex(name.as_bytes()), hex(&signed)))
}

/// What a token is signed with, which no other one has.
pub(crate) type Seal = [u8; 32];

/// A token that was given, by what its user has for a password still.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Whose it is.
    pub(crate) name: String,
    pub(crate) seal: Seal,
    /// Whether the time is over that it says itself.
    pub(crate) has_expired: bool,
}

/// What a token says, if it was given for the password that counts.
pub(crate) fn read(access: &Access, token: &str) -> Result<Token, Refusal> {
    let read = || {
        let mut parts = token.splitn(3, '.');
        let name = String::from_utf8(bytes_of(parts.next()?)?).ok()?;
        let expires: u64 = parts.next()?.parse().ok()?;
        let given = bytes_of(parts.next()?)?;
        let seal = signature(access, &name, expires)?;
        let has_expired = now() >= expires;
        is_equal(&given, &seal).then_some(Token { name, seal, has_expired })
    };
    read().ok_or(Refusal::INVALID_TOKEN)
}

fn signature(access: &Access, name: &str, expires: u64) -> Option<Seal> {
    let password = &access.user(name).ok()?.password;
    let mut mac = <Blake2sMac256 as KeyInit>::new_from_slice(access.secret()).ok()?;
    for part in [name.as_bytes(), password, &expires.to_be_bytes()] {
        Update::update(&mut mac, &(part.len() as u64).to_be_bytes());
        Update::update(&mut mac, part);
    }
    Some(mac.finalize_fixed().into())
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let is_hex = hex.len().is_multiple_of(2) && hex.bytes().all(|it| it.is_ascii_hexdigit());
    let pairs = (0..hex.len()).step_by(2);
    is_hex.then(|| pairs.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect())?
}

#[cfg(test)]
mod tests {
    use tenure_store::{At, Change, Command, Store};

    use super::*;

    fn store(changes: Vec<Change>) -> Store {
        let mut store = Store::default();
        for (index, change) in (1..).zip(changes) {
            let done = store.apply(At { index, term: 1 }, Command::Access(change));
            assert!(done.answer.is_ok(), "{:?}", done.answer);
        }
        store
    }

    #[test]
    fn a_password_is_known_again_and_no_other_one() {
        let mut memory = Memory::default();
        let kept = kept("secret", &mut memory);
        let mut is_password = |kept, password| is_password(kept, password, &mut memory);
        assert!(is_password(&kept, "secret"));
        assert!(!is_password(&kept, "Secret") && !is_password(&kept, ""));
        assert!(!is_password(b"", "") && !is_password(b"short", "short"));
        // What was tried in the same memory before makes no difference.
        assert!(is_password(&kept, "secret"));
        assert_eq!(memory.0.len(), MEMORY as usize);
    }

    #[test]
    fn a_token_counts_until_it_expires_or_the_password_is_another() {
        let (user, root) = (String::from("bob"), String::from("root"));
        let add = |name: &String, password: &[u8]| Change::AddUser {
            name: name.clone(),
            password: Bytes::from(password),
        };
        let mut changes = vec![
            add(&user, b"one"),
            add(&root, b""),
            Change::GrantRole { user: root.clone(), role: root.clone() },
            Change::Enable { secret: key() },
        ];
        let known = store(changes.clone());
        let token_of = |store: &Store, proved, ttl| {
            token(store.access(), "bob", proved, Duration::from_secs(ttl))
        };
        let token = |ttl| token_of(&known, b"one", ttl).expect("a token");
        let whose =
            |token: &str| read(known.access(), token).map(|token| (token.name, token.has_expired));
        assert_eq!(whose(&token(60)), Ok(("bob".into(), false)));
        assert_eq!(whose(&token(0)), Ok(("bob".into(), true)));
        let later = token(60).replace('.', ".9");
        for wrong in ["", ".", "..", "626f62.1.00", "ä.1.1", "0.0.0", later.as_str()] {
            assert_eq!(whose(wrong), Err(Refusal::INVALID_TOKEN), "{wrong}");
        }
        changes.push(Change::ChangePassword { name: user, password: Bytes::from(b"two") });
        let changed = store(changes);
        assert_eq!(read(changed.access(), &token(60)), Err(Refusal::INVALID_TOKEN));
        assert_eq!(token_of(&changed, b"one", 60), Err(Refusal::AUTH_FAILED));
        assert!(token_of(&changed, b"two", 60).is_ok());
    }
}
