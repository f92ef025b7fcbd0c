//! Claims on locks and elections. Each claim is a key whose name contains the lock and the lease.
//!
//! The claim of a lease on the lock `name` is the key `name/HEX`, which is attached to the lease.
//! `HEX` is the id of the lease in lower-case hexadecimal digits without leading zeros. A suffix
//! selects a shared mode: `name/HEX.shared` or `name/HEX.slots-3`. A session with several claims
//! numbers them before the suffix: `name/HEX.1`, `name/HEX.2.shared`.
//!
//! Clients of etcd create such keys themselves, so the form of a key decides whether it is a claim.
//!
//! A key may be in several queues: for each slash of the key, in the queue of the name before this
//! slash. For example, the key `a/b/1f` is in the queues of the locks `a` and `a/b`, if there are
//! claims on these locks. A name has at most [`MAX_NAME_SLASHES`] slashes, so a key is in few
//! queues.

use alloc::format;
use core::fmt;

use tenure_session::{AccessMode, parse_claim_name};

use crate::bytes::Bytes;
use crate::kv::KeyValue;
use crate::lease::LeaseId;

/// A claim on a lock or an election. It holds the lock or waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    /// Name of the lock or election: the part of the key before the last slash.
    pub name: Bytes,
    /// Key of the claim.
    pub key: Bytes,
    /// Lease that the claim belongs to. When the lease ends, the claim ends as well.
    pub lease: LeaseId,
    /// Mode of the claim.
    pub mode: LockMode,
    /// Revision in which the key of the claim was created. It determines the place of the claim in
    /// the queue, and is the fencing token.
    pub fence: u64,
}

/// Mode of a claim. The mode states which other claims may hold the lock at the same time. Of two
/// claims that conflict, the older one always gets the lock first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LockMode {
    /// A mutex, a writer or a leader: no other claim may hold the lock.
    #[default]
    Exclusive,
    /// A reader: other shared claims may hold the lock at the same time.
    Shared,
    /// A semaphore: other claims in this mode may hold the lock at the same time. The number is the
    /// maximum number of holders, at least 1. If claims on one lock state different maxima, the
    /// smallest number among a claim and all earlier claims applies to the claim.
    Slots(u32),
}

/// Formats the mode as the command line prints it: `exclusive`, `shared` or `slots-3`.
impl fmt::Display for LockMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&AccessMode::from(*self), formatter)
    }
}

impl From<AccessMode> for LockMode {
    fn from(access: AccessMode) -> Self {
        match access {
            AccessMode::Exclusive => LockMode::Exclusive,
            AccessMode::Shared => LockMode::Shared,
            AccessMode::Permits { capacity, .. } => LockMode::Slots(capacity),
        }
    }
}

impl From<LockMode> for AccessMode {
    fn from(mode: LockMode) -> Self {
        match mode {
            LockMode::Exclusive => AccessMode::Exclusive,
            LockMode::Shared => AccessMode::Shared,
            LockMode::Slots(slots) => AccessMode::Permits { weight: 1, capacity: slots },
        }
    }
}

/// Returns the key that [`Command::AcquireLock`](crate::Command::AcquireLock) gives to a claim:
/// `name/HEX`, followed by the suffix of the mode. `HEX` is the lease in hexadecimal digits. The
/// keys of claims that clients write themselves may have a number between `HEX` and the suffix.
pub fn claim_key(name: &[u8], lease: LeaseId, mode: LockMode) -> Bytes {
    let segment = format!("/{lease:x}{}", AccessMode::from(mode).claim_name_suffix());
    Bytes::from([name, segment.as_bytes()].concat())
}

/// Largest number of slashes in the name of a lock or an election. Without this bound, a key with
/// many slashes could be in thousands of queues.
pub const MAX_NAME_SLASHES: usize = 32;

/// Returns true if a lock or an election can have this name.
pub(crate) fn is_valid_name(name: &[u8]) -> bool {
    name.iter().filter(|byte| **byte == b'/').count() <= MAX_NAME_SLASHES
}

/// Returns the names of the queues that may contain a key. For each slash of the key, the part
/// before the slash is such a name, if it has at most [`MAX_NAME_SLASHES`] slashes.
pub(crate) fn queue_names_of(key: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = key.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.take(MAX_NAME_SLASHES + 1).map(|(at, _)| &key[..at])
}

pub(crate) struct ParsedClaimKey<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) lease: LeaseId,
    pub(crate) mode: LockMode,
}

/// Parses the key of a claim. Returns `None` if the key has another form, or if its name has too
/// many slashes. The caller must also check the lease: a key is a claim only if it is attached to
/// the lease in its name.
pub(crate) fn parse_claim_key(key: &[u8]) -> Option<ParsedClaimKey<'_>> {
    let slash = key.iter().rposition(|byte| *byte == b'/')?;
    let (name, last) = (&key[..slash], core::str::from_utf8(&key[slash + 1..]).ok()?);
    let (lease, access) = parse_claim_name(last).filter(|_| is_valid_name(name))?;
    Some(ParsedClaimKey { name, lease, mode: access.into() })
}

/// Returns the claim that a key represents. `None` if the key is not a claim.
pub fn claim_from_key_value(kv: &KeyValue) -> Option<Claim> {
    let ParsedClaimKey { name, lease, mode } =
        parse_claim_key(&kv.key).filter(|parsed| parsed.lease == kv.lease)?;
    let (name, key) = (Bytes::from(name), kv.key.clone());
    Some(Claim { name, key, lease, mode, fence: kv.create_revision })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn claim_keys_are_parsed_strictly() {
        for mode in [LockMode::Exclusive, LockMode::Shared, LockMode::Slots(3)] {
            for name in [&b"jobs/nightly"[..], b"", b"\xff"] {
                let key = claim_key(name, 0x1a2b, mode);
                let kv = KeyValue { key, create_revision: 7, lease: 0x1a2b, ..KeyValue::default() };
                let claim = claim_from_key_value(&kv).expect("a claim");
                assert_eq!((&claim.name[..], claim.mode, claim.fence), (name, mode, 7));
                assert_eq!(claim_from_key_value(&KeyValue { lease: 0x1a2c, ..kv.clone() }), None);
                assert_eq!(claim_from_key_value(&KeyValue { lease: 0, ..kv }), None);
            }
        }
        for (number, is_claim) in
            [("1", true), ("207", true), ("01", false), ("0", false), ("+1", false), ("1.1", false)]
        {
            let key = format!("a/1a.{number}");
            let parsed = parse_claim_key(key.as_bytes()).map(|parsed| (parsed.name, parsed.lease));
            assert_eq!(parsed, is_claim.then_some((&b"a"[..], 0x1a)), "{number}");
        }
        for (key, mode) in [
            ("a/1.2.shared", LockMode::Shared),
            ("a/1.2.slots-3", LockMode::Slots(3)),
            ("a/1.2", LockMode::Exclusive),
        ] {
            let parsed = parse_claim_key(key.as_bytes()).map(|parsed| (parsed.lease, parsed.mode));
            assert_eq!(parsed, Some((1, mode)), "{key}");
        }
        let others = ["a/01", "a/A", "a/", "a", "1", "a/1.", "a/1.slots-03", "a/1.slots", "a/+1"];
        let modes =
            ["a/1.slots-0", "a/1.shared-1", "a/1.shared.2", "a/1.2.3.shared", "a/1.02.shared"];
        for other in others.into_iter().chain(["a/0"]).chain(modes) {
            assert!(parse_claim_key(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn key_with_too_many_slashes_is_no_claim() {
        for (slashes, queues) in [(0, 0), (1, 1), (32, 32), (33, 33), (34, 33), (1000, 33)] {
            let key = format!("a{}1", "/".repeat(slashes));
            assert_eq!(queue_names_of(key.as_bytes()).count(), queues, "{slashes}");
            let is_claim = parse_claim_key(key.as_bytes()).is_some();
            assert_eq!(is_claim, (1..=33).contains(&slashes), "{slashes}");
        }
        let names: Vec<&[u8]> = queue_names_of(b"a/b//1").collect();
        assert_eq!(names, [&b"a"[..], b"a/b", b"a/b/"]);
    }
}
