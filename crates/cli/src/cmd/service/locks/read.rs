//! Reads locks from a service.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tenure_client::{ClientError, Code, RangePage, RangeQuery};
use tenure_store::{Bytes, KeyValue, claim_from_key_value};

use super::queue::{Claim, Lock};
use super::recipe::{self, LockRecipe};
use crate::cmd::failure::Failure;
use crate::cmd::service::client_description::ClaimOwner;
use crate::cmd::service::endpoint::{BlockingClient, request_failure};

const PAGE_SIZE: i64 = 1000;

const MAX_KEYS: usize = 1 << 20;

/// Reads the queue with this name, with the times of the leases of all claims. The queue belongs
/// to a lock, an election, a read/write lock or a semaphore. For a lock or an election, also
/// reads the values of the claims.
///
/// The claims of a read/write lock or a semaphore are in folders below its name. `name` may also
/// be the name of such a folder, for example `NAME/read`. The result is then the whole
/// read/write lock or semaphore.
pub(super) fn fetch_lock_queue(service: &BlockingClient, name: &[u8]) -> Result<Lock, Failure> {
    let below = keys(service, &[name, b"/"].concat())?;
    let mut lock = Lock::from_keys(name, &below);
    if let Some((base, _)) = recipe::strip_claim_folder(name) {
        let all = keys(service, &[base, b"/"].concat())?;
        lock = recipe_lock(service, base, &all)?.unwrap_or(lock);
    } else if lock.queue.is_empty() {
        lock = recipe_lock(service, name, &below)?.unwrap_or(lock);
    }
    if lock.recipe == LockRecipe::Lock {
        fetch_values(service, lock.queue.iter_mut())?;
    }
    fetch_leases(service, &mut lock)?;
    Ok(lock)
}

/// Returns the read/write lock or semaphore `name` if some of the keys in `all` belong to it.
/// Otherwise, returns `None`.
fn recipe_lock(
    service: &BlockingClient,
    name: &[u8],
    all: &[KeyValue],
) -> Result<Option<Lock>, Failure> {
    for ((base, recipe), keys) in recipe::group_claims(all) {
        if base[..] == *name
            && let Some(lock) = recipe::fetch_rw_lock_or_semaphore(service, &base, recipe, &keys)?
        {
            return Ok(Some(lock));
        }
    }
    Ok(None)
}

/// Numbers of locks and claims of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::cmd::service) struct LockTotals {
    /// Number of locks and elections that are held or waited for.
    pub(in crate::cmd::service) locks: usize,
    /// Number of claims that hold a lock or lead an election.
    pub(in crate::cmd::service) held: usize,
    /// Number of claims that wait.
    pub(in crate::cmd::service) waiting: usize,
}

pub(in crate::cmd::service) fn fetch_totals(
    service: &BlockingClient,
) -> Result<LockTotals, Failure> {
    let mut totals = LockTotals::default();
    for lock in queues(service, &keys(service, b"")?, b"")? {
        totals.locks += 1;
        totals.held += lock.holders().count();
        totals.waiting += lock.waiting().count();
    }
    Ok(totals)
}

/// Returns the locks to which the keys in `all` belong, ordered by name. `all` contains the keys
/// that begin with `prefix`, in ascending order. The result contains neither the values of the keys
/// nor the remaining times of the leases.
fn queues(service: &BlockingClient, all: &[KeyValue], prefix: &[u8]) -> Result<Vec<Lock>, Failure> {
    let (mut recipes, mut of_recipes) = (Vec::new(), BTreeSet::new());
    for ((name, recipe), keys) in recipe::group_claims(all) {
        // A longer prefix than `NAME/` may select only a part of the queue.
        if ![&name[..], b"/"].concat().starts_with(prefix) {
            continue;
        }
        if let Some(lock) = recipe::fetch_rw_lock_or_semaphore(service, &name, recipe, &keys)? {
            recipes.extend(Some(lock).filter(|lock| !lock.queue.is_empty()));
            of_recipes.extend(keys.into_iter().map(|kv| kv.key));
        }
    }
    let others = all.iter().filter(|kv| !of_recipes.contains(&kv.key));
    let names: BTreeSet<Bytes> =
        others.filter_map(claim_from_key_value).map(|claim| claim.name).collect();
    let plain = names.into_iter().map(|name| {
        let begin = [&name[..], b"/"].concat();
        let first = all.partition_point(|kv| kv.key[..] < begin[..]);
        let below = all[first..].partition_point(|kv| kv.key.starts_with(&begin));
        Lock::from_keys(&name, &all[first..first + below])
    });
    let mut locks: Vec<Lock> = plain.chain(recipes).collect();
    locks.sort_by(|one, other| (&one.name, one.recipe).cmp(&(&other.name, other.recipe)));
    Ok(locks)
}

/// Reads all locks whose names begin with a prefix, with the times of their leases. For locks and
/// elections, also reads the values of the holders, but not those of the waiters.
pub(super) fn fetch_locks(service: &BlockingClient, prefix: &str) -> Result<Vec<Lock>, Failure> {
    let all = keys(service, prefix.as_bytes()).map_err(|failure| match failure.to_string() {
        denied if denied.ends_with("permission denied") => Failure::usage(format!(
            "{denied}; give a prefix whose keys the user may read: tenure locks ls jobs/"
        )),
        _ => failure,
    })?;
    let mut locks = Vec::new();
    for mut lock in queues(service, &all, prefix.as_bytes())? {
        if lock.recipe == LockRecipe::Lock {
            fetch_values(service, lock.queue.iter_mut().filter(|claim| claim.is_holder))?;
        }
        fetch_leases(service, &mut lock)?;
        locks.push(lock);
    }
    Ok(locks)
}

/// Reads all keys that begin with a prefix, in ascending order and without values. All reads are of
/// the same revision. Returns an error if there are more than [`MAX_KEYS`] keys.
fn keys(service: &BlockingClient, prefix: &[u8]) -> Result<Vec<KeyValue>, Failure> {
    let mut keys: Vec<KeyValue> = Vec::new();
    let (mut revision, mut limit) = (0, PAGE_SIZE);
    let mut from = if prefix.is_empty() { vec![0] } else { prefix.to_vec() };
    loop {
        let (key, range_end) = (from.clone(), range_end_of(prefix));
        let query = RangeQuery {
            key,
            range_end,
            limit,
            revision,
            keys_only: true,
            ..RangeQuery::default()
        };
        let page = match service.block_on(service.admin.range(query)) {
            // If keys are long, fewer of them fit into a response.
            Err(ClientError::Rejected { code, .. })
                if limit > 1 && [Code::ResourceExhausted, Code::OutOfRange].contains(&code) =>
            {
                limit /= 2;
                continue;
            }
            page => page.map_err(request_failure)?,
        };
        let RangePage { revision: now, keys: found, has_more } = page;
        let (before, is_empty) = (keys.len().saturating_sub(1), found.is_empty());
        keys.extend(found.into_iter().map(|kv| KeyValue {
            key: kv.key.into(),
            create_revision: kv.create_revision,
            lease: u64::from_ne_bytes(kv.lease.to_ne_bytes()),
            ..KeyValue::default()
        }));
        // Without this check, a faulty service could send keys without end.
        if !keys[before..].is_sorted_by(|one, next| one.key < next.key) {
            return Err(Failure::environment("the keys of the response are not sorted"));
        }
        if keys.len() > MAX_KEYS {
            let lines = format!("there are more than {MAX_KEYS} keys: give a longer PREFIX");
            return Err(Failure::environment(lines));
        }
        match keys.last() {
            Some(last) if has_more && !is_empty => from = [&last.key[..], &[0]].concat(),
            _ => return Ok(keys),
        }
        if revision == 0 {
            revision = now;
        }
    }
}

/// Returns the exclusive end of the range of all keys that begin with `prefix`. If the range has no
/// end, returns `\0`, as etcd encodes this case.
fn range_end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

/// Reads the values of the claims, one by one. A single read of the whole range could return long
/// values of other keys. If a claim has ended meanwhile, its value stays empty, and its owner stays
/// unknown.
fn fetch_values<'a>(
    service: &BlockingClient,
    claims: impl Iterator<Item = &'a mut Claim>,
) -> Result<(), Failure> {
    for claim in claims {
        let query = RangeQuery { key: claim.raw_key.clone(), ..RangeQuery::default() };
        let page = service.call(service.admin.range(query))?;
        let found = page.keys.into_iter().find(|kv| kv.create_revision == claim.fence);
        claim.value = found.map(|kv| kv.value).unwrap_or_default();
        claim.owner = ClaimOwner::of_value(&claim.value);
    }
    Ok(())
}

/// Reads the remaining time and the time to live of each lease of the lock.
fn fetch_leases(service: &BlockingClient, lock: &mut Lock) -> Result<(), Failure> {
    let mut known: BTreeMap<u64, Option<(i64, i64)>> = BTreeMap::new();
    for claim in lock.queue.iter_mut().filter(|claim| claim.id != 0) {
        let left = match known.get(&claim.id) {
            Some(known) => *known,
            None => service.call(service.admin.lease_ttls(claim.signed_lease()))?,
        };
        known.insert(claim.id, left);
        // The times are `None` if the lease has expired meanwhile.
        if let Some((left, all)) = left {
            (claim.seconds_left, claim.seconds) = (Some(left), Some(all));
        }
    }
    Ok(())
}

/// Returns the keys that are attached to the lease of a claim. The result is empty if the lease has
/// ended, or if the user may not read the keys.
pub(super) fn fetch_lease_keys(
    service: &BlockingClient,
    claim: &Claim,
) -> Result<Vec<Vec<u8>>, Failure> {
    match service.block_on(service.admin.lease_keys(claim.signed_lease())) {
        Err(ClientError::Rejected { code: Code::PermissionDenied, .. }) => Ok(Vec::new()),
        keys => Ok(keys.map_err(request_failure)?.unwrap_or_default()),
    }
}

/// Returns true if the claim still exists. If the key was deleted and created again, it belongs to
/// a new claim, and the result is false.
pub(super) fn claim_exists(service: &BlockingClient, claim: &Claim) -> Result<bool, Failure> {
    let key = claim.raw_key.clone();
    let query = RangeQuery { key, keys_only: true, ..RangeQuery::default() };
    let page = service.call(service.admin.range(query))?;
    Ok(page.keys.iter().any(|kv| kv.create_revision == claim.fence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_end_excludes_other_prefixes() {
        assert_eq!(range_end_of(b"a/"), b"a0");
        assert_eq!(range_end_of(b"a\xff"), b"b");
        assert_eq!(range_end_of(b"\xff"), b"\0");
    }
}
