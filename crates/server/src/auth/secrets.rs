//! Passwords and tokens.
//!
//! A password is stored as a salt and an Argon2id hash. The computation of the hash takes 12 MiB
//! and some time. A token contains a user name and an expiry time. It is signed with a key that all
//! members have, so each member accepts the tokens of all other members. A token becomes invalid
//! when the user's password changes, when the user is deleted, or when authentication is disabled.
//! Each use of a token extends its validity: see `token_uses`.

use std::fmt;
use std::time::{Duration, SystemTime};

use argon2::{Algorithm, Argon2, Block, Params, Version};
use blake2::Blake2sMac256;
use blake2::digest::{FixedOutput, KeyInit, Update};
use subtle::ConstantTimeEq;
use tenure_store::{AccessControl, Bytes};

use crate::rpc::error::RpcError;

const SALT_BYTES: usize = 16;

const HASH_BYTES: usize = 32;

const KEY_BYTES: usize = 32;

/// Memory of one Argon2id hash in KiB, as OWASP recommends.
const ARGON2_KIB: u32 = 12 * 1024;

/// Number of passes of one Argon2id hash, as OWASP recommends.
const ARGON2_PASSES: u32 = 3;

/// Returns `N` random bytes from the operating system.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}

pub(crate) fn new_signing_key() -> Bytes {
    Bytes::from(&random_bytes::<KEY_BYTES>())
}

/// Buffer in which passwords are hashed. It is reused, because allocators return blocks of this
/// size slowly to the system. With glibc, hashing thirty passwords left 350 MB allocated.
#[derive(Default)]
pub(crate) struct PasswordHashBuffer(Vec<Block>);

/// Omits the blocks from the output, because they are 12 MiB long.
impl fmt::Debug for PasswordHashBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashMemory").finish_non_exhaustive()
    }
}

/// Returns the stored form of a password: a new random salt, followed by the hash.
pub(crate) fn hash_password(password: &str, memory: &mut PasswordHashBuffer) -> Bytes {
    let salt = random_bytes::<SALT_BYTES>();
    Bytes::from([&salt[..], &hash(password, &salt, memory)].concat())
}

/// Returns true if the password matches its stored form. For an unknown user, `stored` is empty.
/// The check then takes as long as for an existing user, so that its duration does not reveal which
/// users exist.
pub(crate) fn verify_password(
    stored: &[u8],
    password: &str,
    memory: &mut PasswordHashBuffer,
) -> bool {
    match stored.split_first_chunk::<SALT_BYTES>() {
        Some((salt, expected)) => hash(password, salt, memory)[..].ct_eq(expected).into(),
        None => {
            hash(password, &[0; SALT_BYTES], memory);
            false
        }
    }
}

fn hash(
    password: &str,
    salt: &[u8; SALT_BYTES],
    PasswordHashBuffer(blocks): &mut PasswordHashBuffer,
) -> [u8; HASH_BYTES] {
    let mut hash = [0; HASH_BYTES];
    let params =
        Params::new(ARGON2_KIB, ARGON2_PASSES, 1, Some(HASH_BYTES)).expect("valid parameters");
    blocks.resize(params.block_count(), Block::default());
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let hashed = argon.hash_password_into_with_memory(password.as_bytes(), salt, &mut hash, blocks);
    hashed.expect("valid lengths");
    hash
}

/// Issues a token for the user `user_name` that is valid for `ttl`. The caller has compared the
/// user's password with the stored form `proven_hash`. Fails with [`RpcError::AUTH_FAILED`] if the
/// stored form has changed since then.
pub(crate) fn issue_token(
    access: &AccessControl,
    user_name: &str,
    proven_hash: &[u8],
    ttl: Duration,
) -> Result<String, RpcError> {
    let is_current = access.user(user_name).is_ok_and(|user| user.password[..] == *proven_hash);
    is_current.then_some(()).ok_or(RpcError::AUTH_FAILED)?;
    let expires = unix_time().saturating_add(ttl.as_secs());
    let signature = sign(access, user_name, expires).ok_or(RpcError::AUTH_FAILED)?;
    Ok(format!("{}.{expires}.{}", hex::encode(user_name), hex::encode(signature)))
}

/// Signature of a token. The record of token uses identifies each token by its signature.
pub(crate) type TokenSignature = [u8; 32];

/// Token with a valid signature.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VerifiedToken {
    pub(crate) name: String,
    pub(crate) signature: TokenSignature,
    /// True if the expiry time in the token has passed.
    pub(crate) is_expired: bool,
}

/// Verifies the signature of a token. The signature depends on the stored form of the user's
/// password and on the signing key. Accepts an expired token: see [`VerifiedToken::is_expired`].
/// Fails with [`RpcError::INVALID_TOKEN`].
pub(crate) fn verify_token_signature(
    access: &AccessControl,
    token: &str,
) -> Result<VerifiedToken, RpcError> {
    let verified = || {
        let mut parts = token.splitn(3, '.');
        let name = String::from_utf8(hex::decode(parts.next()?).ok()?).ok()?;
        let expires: u64 = parts.next()?.parse().ok()?;
        let given = hex::decode(parts.next()?).ok()?;
        let signature = sign(access, &name, expires)?;
        let is_expired = unix_time() >= expires;
        bool::from(given.ct_eq(&signature)).then_some(VerifiedToken { name, signature, is_expired })
    };
    verified().ok_or(RpcError::INVALID_TOKEN)
}

fn sign(access: &AccessControl, name: &str, expires: u64) -> Option<TokenSignature> {
    let password = &access.user(name).ok()?.password;
    let mut mac = <Blake2sMac256 as KeyInit>::new_from_slice(access.signing_key()).ok()?;
    for part in [name.as_bytes(), password, &expires.to_be_bytes()] {
        Update::update(&mut mac, &(part.len() as u64).to_be_bytes());
        Update::update(&mut mac, part);
    }
    Some(mac.finalize_fixed().into())
}

fn unix_time() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use tenure_store::{AccessChange, Command, LogPosition, Store};

    use super::*;

    fn store(changes: Vec<AccessChange>) -> Store {
        let mut store = Store::default();
        for (index, change) in (1..).zip(changes) {
            let done = store.apply(LogPosition { index, term: 1 }, Command::Access(change));
            assert!(done.result.is_ok(), "{:?}", done.result);
        }
        store
    }

    #[test]
    fn verifies_only_the_right_password() {
        let mut memory = PasswordHashBuffer::default();
        let stored = hash_password("secret", &mut memory);
        let mut verify_password = |stored, password| verify_password(stored, password, &mut memory);
        assert!(verify_password(&stored, "secret"));
        assert!(!verify_password(&stored, "Secret") && !verify_password(&stored, ""));
        assert!(!verify_password(b"", "") && !verify_password(b"short", "short"));
        // The earlier contents of the reused memory make no difference.
        assert!(verify_password(&stored, "secret"));
        assert_eq!(memory.0.len(), ARGON2_KIB as usize);
    }

    #[test]
    fn token_is_valid_until_expiry_or_password_change() {
        let (user, root) = (String::from("bob"), String::from("root"));
        let add = |name: &String, password: &[u8]| AccessChange::AddUser {
            name: name.clone(),
            password: Bytes::from(password),
        };
        let mut changes = vec![
            add(&user, b"one"),
            add(&root, b""),
            AccessChange::GrantRole { user: root.clone(), role: root.clone() },
            AccessChange::Enable { secret: new_signing_key() },
        ];
        let known = store(changes.clone());
        let token_of = |store: &Store, proven_hash, ttl| {
            issue_token(store.access_control(), "bob", proven_hash, Duration::from_secs(ttl))
        };
        let token = |ttl| token_of(&known, b"one", ttl).expect("a token");
        let owner = |token: &str| {
            verify_token_signature(known.access_control(), token)
                .map(|token| (token.name, token.is_expired))
        };
        assert_eq!(owner(&token(60)), Ok(("bob".into(), false)));
        assert_eq!(owner(&token(0)), Ok(("bob".into(), true)));
        let later = token(60).replace('.', ".9");
        for wrong in ["", ".", "..", "626f62.1.00", "ä.1.1", "0.0.0", later.as_str()] {
            assert_eq!(owner(wrong), Err(RpcError::INVALID_TOKEN), "{wrong}");
        }
        changes.push(AccessChange::ChangePassword { name: user, password: Bytes::from(b"two") });
        let changed = store(changes);
        assert_eq!(
            verify_token_signature(changed.access_control(), &token(60)),
            Err(RpcError::INVALID_TOKEN)
        );
        assert_eq!(token_of(&changed, b"one", 60), Err(RpcError::AUTH_FAILED));
        assert!(token_of(&changed, b"two", 60).is_ok());
    }
}
