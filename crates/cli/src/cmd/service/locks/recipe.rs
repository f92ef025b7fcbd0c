//! Read/write locks and semaphores. Their claims are keys in folders below the name of the lock.
//!
//! The key of a reader is `NAME/read/LEASE`, that of a writer is `NAME/write/LEASE`, and that of a
//! claim on permits is `NAME/permits/LEASE`. The keys in both folders of a read/write lock form one
//! queue. A client that uses the Go library of etcd creates keys that end with a time in place of
//! the lease.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_client::{ClientError, Code, RangeQuery};
use tenure_session::AccessMode;
use tenure_store::{Bytes, KeyValue, claim_from_key_value};

use super::queue::Lock;
use crate::cmd::failure::Failure;
use crate::cmd::service::endpoint::{BlockingClient, request_failure};

/// Kind of a lock, inferred from the form and the values of its keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LockRecipe {
    /// A lock or an election. The claims are directly below its name.
    #[default]
    Lock,
    ReadWrite,
    Semaphore,
}

impl LockRecipe {
    /// Returns the text that follows the name of a lock in tables and sentences: a space and, for
    /// example, `(semaphore)`. The text is empty for a lock or an election.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            LockRecipe::Lock => "",
            LockRecipe::ReadWrite => " (read/write)",
            LockRecipe::Semaphore => " (semaphore)",
        }
    }
}

const FOLDERS: [(&[u8], LockRecipe); 3] = [
    (b"/read", LockRecipe::ReadWrite),
    (b"/write", LockRecipe::ReadWrite),
    (b"/permits", LockRecipe::Semaphore),
];

/// Keys that may be claims on read/write locks or semaphores, grouped by the name and the kind of
/// their lock.
pub(super) type ClaimGroups = BTreeMap<(Bytes, LockRecipe), Vec<KeyValue>>;

/// Returns the name and the kind of the lock if `name` ends in a folder for claims, such as
/// `/read`. The name of the lock is the part of `name` before the folder. Otherwise, returns
/// `None`.
pub(super) fn strip_claim_folder(name: &[u8]) -> Option<(&[u8], LockRecipe)> {
    FOLDERS.iter().find_map(|(folder, recipe)| {
        name.strip_suffix(*folder).filter(|base| !base.is_empty()).map(|base| (base, *recipe))
    })
}

/// Groups the keys in `all` that may be claims on read/write locks or semaphores. Only their values
/// show whether they are such claims: see [`fetch_rw_lock_or_semaphore`].
pub(super) fn group_claims(all: &[KeyValue]) -> ClaimGroups {
    let mut groups = ClaimGroups::new();
    for kv in all.iter().filter(|kv| kv.lease != 0) {
        let Some(slash) = kv.key.iter().rposition(|byte| *byte == b'/') else { continue };
        let (queue, last) = (&kv.key[..slash], &kv.key[slash + 1..]);
        let is_claim = claim_from_key_value(kv).is_some() || last.iter().all(u8::is_ascii_digit);
        if let Some((base, recipe)) =
            strip_claim_folder(queue).filter(|_| is_claim && !last.is_empty())
        {
            groups.entry((Bytes::from(base), recipe)).or_default().push(kv.clone());
        }
    }
    groups
}

/// Reads the values of `keys`, and returns the read/write lock or semaphore to which the keys
/// belong. Returns `None` if the keys are claims on an ordinary lock whose name happens to end in
/// `/read`, `/write` or `/permits`.
///
/// The values distinguish these cases. A claim of `tenure lock` has a value, and a claim on a
/// read/write lock has an empty value. A semaphore has an additional key, which contains the number
/// of its permits.
pub(super) fn fetch_rw_lock_or_semaphore(
    service: &BlockingClient,
    name: &Bytes,
    recipe: LockRecipe,
    keys: &[KeyValue],
) -> Result<Option<Lock>, Failure> {
    let capacity = match recipe {
        LockRecipe::Semaphore => {
            let total = [&name[..], b"#semaphore/permits"].concat();
            match number(value_if_readable(service, &total)?) {
                Some(capacity) => capacity,
                None => return Ok(None),
            }
        }
        LockRecipe::Lock | LockRecipe::ReadWrite => 0,
    };
    let mut claims = Vec::new();
    for kv in keys {
        // Skips a claim that has ended meanwhile.
        let Some(value) = value(service, &kv.key)? else { continue };
        let access = match recipe {
            LockRecipe::Semaphore => number(Some(value))
                .map_or(AccessMode::Exclusive, |weight| AccessMode::Permits { weight, capacity }),
            _ if !value.is_empty() => return Ok(None),
            _ => read_or_write(name, &kv.key),
        };
        claims.push((kv.clone(), access));
    }
    Ok(Some(Lock::from_claims(name, recipe, claims)))
}

fn read_or_write(name: &[u8], key: &[u8]) -> AccessMode {
    if key[name.len()..].starts_with(b"/read/") {
        AccessMode::Shared
    } else {
        AccessMode::Exclusive
    }
}

fn value(service: &BlockingClient, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let query = RangeQuery { key: key.to_vec(), ..RangeQuery::default() };
    Ok(service.call(service.admin.range(query))?.keys.into_iter().next().map(|kv| kv.value))
}

/// Reads a value as [`value`] does. Returns `None` also if the user may not read the key.
fn value_if_readable(service: &BlockingClient, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let query = RangeQuery { key: key.to_vec(), ..RangeQuery::default() };
    match service.block_on(service.admin.range(query)) {
        Err(ClientError::Rejected { code: Code::PermissionDenied, .. }) => Ok(None),
        page => Ok(page.map_err(request_failure)?.keys.into_iter().next().map(|kv| kv.value)),
    }
}

fn number(value: Option<Vec<u8>>) -> Option<u32> {
    String::from_utf8(value?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests::below;
    use super::*;

    #[test]
    fn keys_are_grouped_by_lock_and_recipe() {
        let all = below(&[
            ("a/1", 1, 1),
            ("a/permits/4", 5, 4),
            ("a/read/2", 2, 2),
            ("a/read/1764320000000000000", 3, 9),
            ("a/read/notes", 6, 9),
            ("a/write/3", 4, 3),
            ("b/read/5", 7, 0),
            ("read/6", 8, 6),
        ]);
        let groups = group_claims(&all);
        let found: Vec<_> = groups
            .iter()
            .map(|((name, recipe), keys)| {
                let fences: Vec<_> = keys.iter().map(|kv| kv.create_revision).collect();
                (&name[..], *recipe, fences)
            })
            .collect();
        let expected = [
            (&b"a"[..], LockRecipe::ReadWrite, vec![2, 3, 4]),
            (&b"a"[..], LockRecipe::Semaphore, vec![5]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn folders_of_a_lock_are_one_queue() {
        let keys =
            [("a/read/1", 1, 1), ("a/write/2", 3, 2), ("a/read/3", 2, 3), ("a/read/4", 4, 4)];
        let claims = below(&keys).into_iter().map(|kv| {
            let access = read_or_write(b"a", &kv.key);
            (kv, access)
        });
        let lock = Lock::from_claims(b"a", LockRecipe::ReadWrite, claims.collect());
        let queue: Vec<_> = lock.queue.iter().map(|it| (it.fence, it.is_holder)).collect();
        assert_eq!(queue, [(1, true), (2, true), (3, false), (4, false)]);
    }

    #[test]
    fn permits_are_counted_by_weight() {
        let permits = |weight| AccessMode::Permits { weight, capacity: 3 };
        let keys = below(&[("s/permits/1", 1, 1), ("s/permits/2", 2, 2), ("s/permits/3", 3, 3)]);
        let inside = |weights: [u32; 3]| -> Vec<bool> {
            let claims = keys.iter().cloned().zip(weights.map(permits)).collect();
            let lock = Lock::from_claims(b"s", LockRecipe::Semaphore, claims);
            lock.queue.iter().map(|it| it.is_holder).collect()
        };
        assert_eq!(inside([1, 1, 1]), [true, true, true]);
        assert_eq!(inside([2, 1, 1]), [true, true, false]);
        assert_eq!(inside([2, 2, 1]), [true, false, false], "no claim overtakes another");
    }
}
