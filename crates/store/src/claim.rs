//! Who wants a lock or an office: a key that says so by its name.
//!
//! The claim of a lease on the lock `name` is the key `name/HEX`, where `HEX` is the lease's name
//! in lower-case hexadecimal digits without zeros in front, and the key ends with that lease.
//! Clients of etcd make such keys themselves, so that a claim is known by its form, whoever made
//! it. One that shares its lock says how behind the digits: `name/HEX.shared`, `name/HEX.slots-3`.

use core::fmt::Write;

use alloc::string::String;

use crate::bytes::Bytes;
use crate::kv::KeyValue;
use crate::lease::LeaseId;

/// A claim on a lock or an office.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Claim {
    /// Of which lock or office: what stands before the last slash of the key.
    pub name: Bytes,
    /// The key.
    pub key: Bytes,
    /// With which it ends.
    pub lease: LeaseId,
    /// With whom it may be inside.
    pub share: Share,
    /// The revision of its creation: its place in the queue and, of a lock, its fence.
    pub fence: u64,
}

/// With whom a claim may be inside. Whoever is ahead in the queue goes first in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Share {
    /// With nobody: a mutex, a writer, a leader.
    #[default]
    Exclusive,
    /// With others that are shared: a reader.
    Shared,
    /// With others that have slots, so many at most and itself among them: a semaphore.
    Slots(u32),
}

impl Share {
    /// Whether it may be inside with so many of this kind who are.
    pub fn may_join(self, inside: u64, kind: Option<Share>) -> bool {
        match (self, kind) {
            (Share::Slots(slots), None) => slots > 0,
            (_, None) => true,
            (Share::Shared, Some(Share::Shared)) => true,
            (Share::Slots(slots), Some(Share::Slots(_))) => inside < u64::from(slots),
            _ => false,
        }
    }
}

/// The key of a claim.
pub fn claim_key(name: &[u8], lease: LeaseId, share: Share) -> Bytes {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match share {
        Share::Exclusive => write!(text, "/{lease:x}"),
        Share::Shared => write!(text, "/{lease:x}.shared"),
        Share::Slots(slots) => write!(text, "/{lease:x}.slots-{slots}"),
    };
    Bytes::from([name, text.as_bytes()].concat())
}

/// What a key says by its form.
pub(crate) struct Form<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) lease: LeaseId,
    pub(crate) share: Share,
}

/// What a key would claim if it ended with the lease that it names. There is one way to write it.
pub(crate) fn form_of(key: &[u8]) -> Option<Form<'_>> {
    let slash = key.iter().rposition(|byte| *byte == b'/')?;
    let (name, last) = (&key[..slash], core::str::from_utf8(&key[slash + 1..]).ok()?);
    let (digits, rule) = last.split_once('.').map_or((last, None), |(it, rule)| (it, Some(rule)));
    let lease = number(digits, 16)?;
    let share = match rule {
        None => Share::Exclusive,
        Some("shared") => Share::Shared,
        Some(rule) => match rule.strip_prefix("slots-") {
            Some(slots) => Share::Slots(u32::try_from(number(slots, 10)?).ok()?),
            // A session that claims more than once numbers its claims.
            None => number(rule, 10).map(|_| Share::Exclusive)?,
        },
    };
    Some(Form { name, lease, share })
}

/// A number above 0 that is written as numbers are.
fn number(digits: &str, radix: u32) -> Option<u64> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || radix > 10 && matches!(byte, b'a'..=b'f');
    let is_one = !digits.starts_with('0') && digits.bytes().all(is_digit);
    u64::from_str_radix(digits, radix).ok().filter(|_| is_one)
}

/// What a key claims, if it claims anything.
pub fn claim_of(kv: &KeyValue) -> Option<Claim> {
    let Form { name, lease, share } = form_of(&kv.key).filter(|form| form.lease == kv.lease)?;
    let (name, key) = (Bytes::from(name), kv.key.clone());
    Some(Claim { name, key, lease, share, fence: kv.create_revision })
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn a_claim_is_known_by_its_form() {
        for share in [Share::Exclusive, Share::Shared, Share::Slots(3)] {
            for name in [&b"jobs/nightly"[..], b"", b"\xff"] {
                let key = claim_key(name, 0x1a2b, share);
                let kv = KeyValue { key, create_revision: 7, lease: 0x1a2b, ..KeyValue::default() };
                let claim = claim_of(&kv).expect("it is a claim");
                assert_eq!((&claim.name[..], claim.share, claim.fence), (name, share, 7));
                assert_eq!(claim_of(&KeyValue { lease: 0x1a2c, ..kv.clone() }), None);
                assert_eq!(claim_of(&KeyValue { lease: 0, ..kv }), None);
            }
        }
        for (number, is_claim) in
            [("1", true), ("207", true), ("01", false), ("0", false), ("+1", false), ("1.1", false)]
        {
            let key = format!("a/1a.{number}");
            let form = form_of(key.as_bytes()).map(|form| (form.name, form.lease));
            assert_eq!(form, is_claim.then_some((&b"a"[..], 0x1a)), "{number}");
        }
        let others = ["a/01", "a/A", "a/", "a", "1", "a/1.", "a/1.slots-03", "a/1.slots", "a/+1"];
        for other in others.into_iter().chain(["a/0", "a/1.slots-0", "a/1.shared-1"]) {
            assert!(form_of(other.as_bytes()).is_none(), "{other}");
        }
    }
}
