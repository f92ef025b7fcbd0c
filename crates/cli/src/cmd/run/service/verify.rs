//! Checks the promises of a lock service against the observations of its clients and the changes of
//! the queue of the lock.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_client::LockQueueChange;

use super::drive::ServiceObservations;
use super::entry_record::EntryRecord;
use super::value_check;
use super::value_record::ReadRecord;
use crate::cmd::output::json_name;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ServicePromise {
    /// At most one client holds the lock at any time.
    OneHolder,
    /// Each acquisition has a higher fencing token than all earlier acquisitions.
    FencesGrow,
    /// Clients acquire the lock in the order of the queue, according to the log.
    OrderOfTheQueue,
    /// A client acquires the lock only while its claim exists. A claim that expires in the queue is
    /// never granted.
    GrantedAlive,
    /// After the resource has accepted an access, it rejects every access with a lower fencing
    /// token.
    FencedAccess,
    /// Acknowledged changes survive kills of members: the log contains each granted claim and each
    /// confirmed release, and acknowledged values are unchanged unless they are overwritten.
    NothingAcknowledgedLost,
    /// If a majority of the members is up, each waiting client eventually acquires the lock. Each
    /// restarted member catches up with the log.
    Progress,
}

impl ServicePromise {
    pub(super) const ALL: [ServicePromise; 7] = [
        ServicePromise::OneHolder,
        ServicePromise::FencesGrow,
        ServicePromise::OrderOfTheQueue,
        ServicePromise::GrantedAlive,
        ServicePromise::FencedAccess,
        ServicePromise::NothingAcknowledgedLost,
        ServicePromise::Progress,
    ];

    pub(super) fn name(self) -> String {
        json_name(&self)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct PromiseViolation {
    pub(super) promise: ServicePromise,
    pub(super) description: String,
}

/// History of a claim in the queue of the lock, according to the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct QueueHistory {
    /// Revision in which the claim became the first in the queue; `None` if it was never the first.
    first: Option<u64>,
    /// Revision in which the claim left the queue; `None` if the claim is still in the queue.
    gone: Option<u64>,
}

/// Checks the promises, and returns the violations. A promise has at most one violation, except
/// [`ServicePromise::NothingAcknowledgedLost`], which may have one for claims and one for values.
///
/// Some checks compare the claims with the recorded changes of the queue. These checks are
/// skipped if changes are missing because the history was compacted, or if the run did not
/// acquire the lock at its end.
pub(super) fn find_promise_violations(observations: &ServiceObservations) -> Vec<PromiseViolation> {
    let mut claims: Vec<&EntryRecord> = observations.entry_records.iter().collect();
    claims.sort_by_key(|claim| claim.granted);
    let queue_histories = queue_histories(&observations.changes);
    let checks = [
        check_one_holder(&claims),
        check_fences_grow(&claims),
        check_fenced_access(&claims),
        check_progress(observations),
    ];
    let mut violations: Vec<PromiseViolation> = checks.into_iter().flatten().collect();
    let found = observations.final_reads.iter().flat_map(|found| &found.reads);
    let values: Vec<&ReadRecord> = observations.reads.iter().chain(found).collect();
    let lost = value_check::find_violation(&observations.puts, &values);
    violations.extend(lost.map(|description| PromiseViolation {
        promise: ServicePromise::NothingAcknowledgedLost,
        description,
    }));
    if let Some(last) = observations
        .final_fence
        .filter(|_| !observations.changes.contains(&LockQueueChange::HistoryCompacted))
    {
        let of_log = [
            check_queue_order(&claims, &queue_histories),
            check_granted_alive(&claims, &queue_histories),
            check_nothing_lost(&claims, &queue_histories, &observations.changes, last),
        ];
        violations.extend(of_log.into_iter().flatten());
    }
    violations
}

/// Computes the history of each claim from the changes of the queue. The keys of the result are the
/// fencing tokens of the claims.
fn queue_histories(changes: &[LockQueueChange]) -> BTreeMap<u64, QueueHistory> {
    let mut queue_histories: BTreeMap<u64, QueueHistory> = BTreeMap::new();
    let mut queue: BTreeMap<u64, &[u8]> = BTreeMap::new();
    for same in changes.chunk_by(|one, next| revision_of_change(one) == revision_of_change(next)) {
        for change in same {
            match change {
                LockQueueChange::AddedOrChanged { key, fence, .. } => {
                    queue.insert(*fence, key);
                    queue_histories.entry(*fence).or_default();
                }
                LockQueueChange::Left { key, revision } => {
                    let gone = queue.iter().find(|(_, queued)| **queued == &key[..]);
                    if let Some(fence) = gone.map(|(fence, _)| *fence) {
                        queue.remove(&fence);
                        queue_histories.entry(fence).or_default().gone = Some(*revision);
                    }
                }
                LockQueueChange::HistoryCompacted => {}
            }
        }
        if let Some(fence) = queue.keys().next() {
            let position = queue_histories.entry(*fence).or_default();
            position.first = position.first.or(same.first().and_then(revision_of_change));
        }
    }
    queue_histories
}

/// Returns the revision of a change; `None` for [`LockQueueChange::HistoryCompacted`], which has no
/// revision.
pub(super) fn revision_of_change(change: &LockQueueChange) -> Option<u64> {
    match change {
        LockQueueChange::AddedOrChanged { revision, .. }
        | LockQueueChange::Left { revision, .. } => Some(*revision),
        LockQueueChange::HistoryCompacted => None,
    }
}

fn check_one_holder(claims: &[&EntryRecord]) -> Option<PromiseViolation> {
    let mut last: Option<&EntryRecord> = None;
    for claim in claims {
        if let Some(last) = last.filter(|last| claim.granted < last.until) {
            let description = format!(
                "client {} acquired the lock {} µs before client {} released it (fencing tokens \
                 {} and {})",
                claim.client,
                (last.until - claim.granted) / 1000,
                last.client,
                claim.fence,
                last.fence
            );
            return Some(PromiseViolation { promise: ServicePromise::OneHolder, description });
        }
        if last.is_none_or(|last| last.until < claim.until) {
            last = Some(claim);
        }
    }
    None
}

fn check_fences_grow(claims: &[&EntryRecord]) -> Option<PromiseViolation> {
    let pair = claims.windows(2).find(|pair| pair[1].fence <= pair[0].fence)?;
    let description = format!("fencing token {} was issued after {}", pair[1].fence, pair[0].fence);
    Some(PromiseViolation { promise: ServicePromise::FencesGrow, description })
}

fn check_queue_order(
    claims: &[&EntryRecord],
    queue_histories: &BTreeMap<u64, QueueHistory>,
) -> Option<PromiseViolation> {
    let first =
        |claim: &&EntryRecord| Some((claim.fence, queue_histories.get(&claim.fence)?.first?));
    let firsts: Vec<(u64, u64)> = claims.iter().filter_map(first).collect();
    let pair = firsts.windows(2).find(|pair| pair[1].1 <= pair[0].1)?;
    let description = format!(
        "fencing token {} acquired the lock after {}, but precedes it in the log",
        pair[1].0, pair[0].0
    );
    Some(PromiseViolation { promise: ServicePromise::OrderOfTheQueue, description })
}

fn check_granted_alive(
    claims: &[&EntryRecord],
    queue_histories: &BTreeMap<u64, QueueHistory>,
) -> Option<PromiseViolation> {
    let never_first = |claim: &&&EntryRecord| {
        queue_histories.get(&claim.fence).is_some_and(|position| position.first.is_none())
    };
    let (claim, ahead) = claims.iter().filter(never_first).find_map(|claim| {
        let gone = |position: &QueueHistory| position.gone.unwrap_or(u64::MAX);
        let own = gone(queue_histories.get(&claim.fence)?);
        let ahead = queue_histories.range(..claim.fence).filter(|(_, it)| gone(it) >= own);
        // Skips a client that had given up the lock before this acquisition. The log may record the
        // release later.
        let had_left = |fence: u64| {
            claims.iter().any(|other| other.fence == fence && other.until <= claim.granted)
        };
        let mut ahead = ahead.map(|(fence, _)| *fence);
        ahead.find(|fence| !had_left(*fence)).map(|ahead| (claim, ahead))
    })?;
    let description = format!(
        "fencing token {} acquired the lock, but was never first in the log: {ahead} was ahead",
        claim.fence
    );
    Some(PromiseViolation { promise: ServicePromise::GrantedAlive, description })
}

fn check_fenced_access(claims: &[&EntryRecord]) -> Option<PromiseViolation> {
    let mut written: Vec<(u64, u64)> =
        claims.iter().filter_map(|claim| Some((claim.written?, claim.fence))).collect();
    written.sort_unstable();
    let mut taken: Vec<(u64, u64)> = claims
        .iter()
        .filter(|claim| claim.written.is_some())
        .map(|claim| (claim.accessed, claim.fence))
        .collect();
    taken.sort_unstable();
    let (mut before, mut highest) = (written.iter().peekable(), 0);
    for (accessed, fence) in taken {
        while let Some((_, earlier)) = before.next_if(|(done, _)| *done < accessed) {
            highest = highest.max(*earlier);
        }
        if fence < highest {
            let description =
                format!("the resource accepted fencing token {fence} after {highest}");
            return Some(PromiseViolation { promise: ServicePromise::FencedAccess, description });
        }
    }
    None
}

fn check_nothing_lost(
    claims: &[&EntryRecord],
    queue_histories: &BTreeMap<u64, QueueHistory>,
    changes: &[LockQueueChange],
    last: u64,
) -> Option<PromiseViolation> {
    let fault = |description| {
        Some(PromiseViolation { promise: ServicePromise::NothingAcknowledgedLost, description })
    };
    let revisions: Vec<u64> = changes.iter().filter_map(revision_of_change).collect();
    if let Some(pair) = revisions.windows(2).find(|pair| pair[1] < pair[0]) {
        return fault(format!("revision {} was reported after {}", pair[1], pair[0]));
    }
    if let Some(claim) = claims.iter().find(|claim| claim.fence >= last) {
        return fault(format!("fencing token {} is not below {last}, the last one", claim.fence));
    }
    for claim in claims {
        let EntryRecord { client, fence, left, .. } = claim;
        match queue_histories.get(fence) {
            None => {
                return fault(format!(
                    "client {client} acquired the lock with fencing token {fence}, which is not \
                     in the log"
                ));
            }
            Some(QueueHistory { gone: None, .. }) if *left => {
                return fault(format!(
                    "the release of fencing token {fence} was confirmed to client {client}, but \
                     it is still in the queue"
                ));
            }
            Some(_) => {}
        }
    }
    None
}

fn check_progress(record: &ServiceObservations) -> Option<PromiseViolation> {
    let lagging = record.final_reads.iter().flat_map(|found| &found.lagging).next();
    let description = match record.unfinished_clients {
        0 => {
            let member = lagging? + 1;
            format!("m{member} did not catch up after its restart")
        }
        1 => "a client did not finish".to_owned(),
        many => format!("{many} clients did not finish"),
    };
    Some(PromiseViolation { promise: ServicePromise::Progress, description })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(fence: u64) -> LockQueueChange {
        LockQueueChange::AddedOrChanged { key: fence.to_string().into(), fence, revision: fence }
    }

    fn left(fence: u64, revision: u64) -> LockQueueChange {
        LockQueueChange::Left { key: fence.to_string().into(), revision }
    }

    fn claim(client: u32, fence: u64, granted: u64, until: u64) -> EntryRecord {
        let (accessed, written) = (granted, Some(until));
        EntryRecord {
            client,
            fence,
            granted,
            accessed,
            written,
            until,
            left: true,
            ..EntryRecord::default()
        }
    }

    fn found(claims: Vec<EntryRecord>, changes: Vec<LockQueueChange>) -> Vec<ServicePromise> {
        let record = ServiceObservations {
            entry_records: claims,
            changes,
            final_fence: Some(99),
            ..ServiceObservations::default()
        };
        find_promise_violations(&record).into_iter().map(|fault| fault.promise).collect()
    }

    #[test]
    fn accepts_valid_history() {
        let changes = vec![queued(2), queued(3), left(2, 4), left(3, 5)];
        let claims = vec![claim(1, 2, 10, 20), claim(2, 3, 21, 30)];
        assert_eq!(found(claims, changes), []);
    }

    #[test]
    fn finds_violation_of_each_promise() {
        let changes = || vec![queued(2), queued(3), left(2, 4), left(3, 5)];
        let overlap = vec![claim(1, 2, 10, 20), claim(2, 3, 19, 30)];
        assert_eq!(found(overlap, changes()), [ServicePromise::OneHolder]);
        let back = vec![claim(2, 3, 10, 20), claim(1, 2, 21, 30)];
        let broken = [
            ServicePromise::FencesGrow,
            ServicePromise::FencedAccess,
            ServicePromise::OrderOfTheQueue,
        ];
        assert_eq!(found(back, changes()), broken);
        // The claim 3 left the queue while it waited, because its session had expired.
        let dead = vec![queued(2), queued(3), left(3, 4), left(2, 5)];
        assert_eq!(found(vec![claim(2, 3, 10, 20)], dead), [ServicePromise::GrantedAlive]);
        // The claim 3 again leaves the queue before the claim 2. In the first case, the claim 2
        // still holds the lock when the claim 3 acquires it. In the second case, the claim 2 has
        // been released.
        let dead = || vec![queued(2), queued(3), left(3, 4), left(2, 5)];
        let both = vec![claim(1, 2, 10, 20), claim(2, 3, 19, 30)];
        assert_eq!(found(both, dead()), [ServicePromise::OneHolder, ServicePromise::GrantedAlive]);
        assert_eq!(found(vec![claim(1, 2, 10, 20), claim(2, 3, 20, 30)], dead()), []);
        let lost = vec![claim(1, 7, 10, 20)];
        assert_eq!(found(lost, changes()), [ServicePromise::NothingAcknowledgedLost]);
        let check_nothing_lost = vec![claim(1, 2, 10, 20)];
        assert_eq!(
            found(check_nothing_lost, vec![queued(2)]),
            [ServicePromise::NothingAcknowledgedLost]
        );
    }
}
