//! Chains of waits over several locks, in which a client that holds one lock waits for another.
//!
//! Two claims with the same lease belong to the same client. If a client holds one lock and waits
//! for another, and both claims have the same lease, the chain leads from the held lock to the
//! other. Each `tenure lock` command has a lease of its own, so it is a separate client.

use std::collections::{BTreeSet, VecDeque};

use serde::Serialize;
use tenure_store::{Bytes, KeyValue, claim_from_key_value};

use super::queue::{Claim, Lock};
use super::read;
use super::stored_text::StoredText;
use crate::cmd::failure::Failure;
use crate::cmd::service::endpoint::BlockingClient;

/// Maximum number of locks that a chain contains.
const MAX_LOCKS: usize = 32;

/// A client that holds one lock and waits for another. Scripts depend on the keys of its JSON form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct WaitChainStep {
    client: String,
    holds: StoredText,
    waits_for: StoredText,
    /// Short names of the holders of the lock `waits_for`.
    held_by: Vec<String>,
    /// True if earlier steps lead from the lock `waits_for` to the lock `holds`. The clients may
    /// then wait for each other.
    closes_cycle: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitChain {
    pub(super) steps: Vec<WaitChainStep>,
}

impl WaitChain {
    /// Returns true if the steps lead from the lock `from` to the lock `to`.
    fn leads(&self, from: &StoredText, to: &StoredText) -> bool {
        let mut reached = BTreeSet::from([from]);
        loop {
            let steps = self.steps.iter().filter(|step| reached.contains(&step.holds));
            let next: Vec<&StoredText> = steps.map(|step| &step.waits_for).collect();
            let before = reached.len();
            reached.extend(next);
            if reached.len() == before {
                return reached.contains(to);
            }
        }
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        self.steps.iter().map(|step| {
            let WaitChainStep { client, holds, waits_for, held_by, closes_cycle } = step;
            let cycle = if *closes_cycle { "; this closes a cycle of waits" } else { "" };
            let holders = held_by.join(", ");
            format!("{client} holds {holds} and waits for {waits_for}, held by {holders}{cycle}")
        })
    }
}

/// Returns the chain of waits that begins at a lock. The holders of the lock may wait for other
/// locks, the holders of these locks for further locks, and so on.
///
/// The chain ends at a lease whose keys the user may not read, and contains at most [`MAX_LOCKS`]
/// locks. The function reads the locks one after the other, and the locks may change meanwhile. A
/// cycle in the chain may therefore no longer exist.
pub(super) fn fetch_wait_chain(
    service: &BlockingClient,
    lock: &Lock,
) -> Result<WaitChain, Failure> {
    let mut chain = WaitChain::default();
    let mut seen = BTreeSet::from([lock.name.clone()]);
    let mut pending = VecDeque::from([lock.clone()]);
    while let Some(lock) = pending.pop_front() {
        for holder in lock.holders().filter(|holder| holder.id != 0) {
            for name in locks_of(service, holder)? {
                if StoredText::new(&name) == lock.name || seen.len() >= MAX_LOCKS {
                    continue;
                }
                let other = read::fetch_lock_queue(service, &name)?;
                // `name` may be a folder for claims, such as `NAME/read`, while the name of the
                // lock is `NAME`.
                let shown = other.name.clone();
                if shown == lock.name || !other.waiting().any(|claim| claim.id == holder.id) {
                    continue;
                }
                let closes_cycle = chain.leads(&shown, &lock.name);
                chain.steps.push(WaitChainStep {
                    client: holder.label(),
                    holds: lock.name.clone(),
                    waits_for: shown.clone(),
                    held_by: other.holders().map(Claim::label).collect(),
                    closes_cycle,
                });
                if seen.insert(shown) {
                    pending.push_back(other);
                }
            }
        }
    }
    Ok(chain)
}

/// Returns the names of all locks on which the client of `claim` has a claim with the same lease.
/// The client holds these locks or waits for them.
fn locks_of(service: &BlockingClient, claim: &Claim) -> Result<BTreeSet<Bytes>, Failure> {
    let keys = read::fetch_lease_keys(service, claim)?.into_iter();
    let claims = keys.filter_map(|key| {
        claim_from_key_value(&KeyValue { key: key.into(), lease: claim.id, ..KeyValue::default() })
    });
    Ok(claims.map(|claim| claim.name).collect())
}
