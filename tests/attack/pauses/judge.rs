//! Checks the times during which processes claimed to hold a lock. There are three kinds of
//! evidence: the claims of other processes, the log of the service, and the writes that the guarded
//! resources accepted.

use std::collections::BTreeMap;

use tenure_client::LockQueueChange;

use super::claim_record::ClaimRecord;

/// The time at which the observer received a change of a queue, and the change. The service
/// committed the change earlier.
pub(super) type Observed = (u64, LockQueueChange);

#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) claims: Vec<ClaimRecord>,
    pub(super) log: Vec<Observed>,
    /// Fencing tokens of the writes that the guard of each resource accepted, in the order of the
    /// writes.
    pub(super) accepted: Vec<Vec<u64>>,
}

/// Checks all rules. For each violated rule, returns a description of the first violation.
pub(super) fn violations(evidence: &Evidence) -> Vec<String> {
    let log = [claims_after_the_log(evidence), overlapping_claims(&evidence.claims)];
    let order = [claims_against_the_order(&evidence.claims), late_write(&evidence.accepted)];
    log.into_iter().chain(order).flatten().collect()
}

/// Returns the number of tokens that are lower than an earlier token in the list.
pub(super) fn late_writes(tokens: &[u64]) -> usize {
    let mut highest = 0;
    let late = tokens.iter().filter(|token| {
        highest = highest.max(**token);
        **token < highest
    });
    late.count()
}

/// Checks the claims against the log of the service. Once the service has removed the request of a
/// process from the queue, another client may hold the lock. From then on, the process must not
/// claim the lock. Returns a violation, if there is one.
fn claims_after_the_log(evidence: &Evidence) -> Option<String> {
    let mut fences: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut left: BTreeMap<(&[u8], u64), u64> = BTreeMap::new();
    for (received, change) in &evidence.log {
        match change {
            LockQueueChange::AddedOrChanged { key, fence, .. } => {
                fences.insert(key, *fence);
            }
            LockQueueChange::Left { key, .. } => {
                if let Some(fence) = fences.remove(&key[..]) {
                    left.insert((&key[..], fence), *received);
                }
            }
            LockQueueChange::HistoryCompacted => return Some("changes are missing".to_owned()),
        }
    }
    evidence.claims.iter().find_map(|claim| match left.get(&(claim.key.as_bytes(), claim.fence)) {
        None => Some(format!("{}: the log lacks the end of the claim", show(claim))),
        Some(removed) if claim.until > *removed => {
            let late = (claim.until - removed) / 1_000;
            Some(format!("{} was claimed {late} µs after its removal", show(claim)))
        }
        Some(_) => None,
    })
}

/// Checks that the claims of a group never exceed its capacity. Returns a violation, if there is
/// one.
fn overlapping_claims(claims: &[ClaimRecord]) -> Option<String> {
    claims.iter().find_map(|claim| {
        let holds = |other: &&ClaimRecord| {
            other.group == claim.group
                && other.fence != claim.fence
                && (other.granted..other.until).contains(&claim.granted)
        };
        let others: Vec<&ClaimRecord> = claims.iter().filter(holds).collect();
        let sum: u64 = others.iter().map(|other| other.weight).sum();
        // A claim may have ended before its suspended process recorded the grant.
        let is_empty = claim.until <= claim.granted;
        (!is_empty && sum + claim.weight > claim.capacity).then(|| {
            let others: Vec<String> = others.iter().map(|other| show(other)).collect();
            format!("{} was granted beside {}", show(claim), others.join(", "))
        })
    })
}

/// Checks that the exclusive claims of a group are granted in the order of their fencing tokens.
/// Returns a violation, if there is one.
fn claims_against_the_order(claims: &[ClaimRecord]) -> Option<String> {
    let mut last: BTreeMap<&str, &ClaimRecord> = BTreeMap::new();
    let mut in_time: Vec<&ClaimRecord> = claims
        .iter()
        .filter(|claim| claim.weight == claim.capacity && claim.granted < claim.until)
        .collect();
    in_time.sort_by_key(|claim| claim.granted);
    in_time.into_iter().find_map(|claim| {
        let before = last.insert(&claim.group, claim)?;
        (claim.fence <= before.fence)
            .then(|| format!("{} was granted after {}", show(claim), show(before)))
    })
}

fn late_write(accepted: &[Vec<u64>]) -> Option<String> {
    let late: usize = accepted.iter().map(|tokens| late_writes(tokens)).sum();
    (late > 0).then(|| format!("the guard accepted {late} late writes"))
}

fn show(claim: &ClaimRecord) -> String {
    format!("{} with token {}", claim.group, claim.fence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(fence: u64, weight: u64, granted: u64, until: u64) -> ClaimRecord {
        let key = fence.to_string();
        ClaimRecord { group: "a".into(), key, fence, weight, capacity: 2, granted, until }
    }

    fn log(entries: &[(u64, u64)]) -> Vec<Observed> {
        let of = |fence: u64| fence.to_string().into_bytes();
        let queued =
            |fence| LockQueueChange::AddedOrChanged { key: of(fence), fence, revision: fence };
        let left = |fence| LockQueueChange::Left { key: of(fence), revision: fence + 100 };
        let changes =
            entries.iter().flat_map(|(fence, at)| [(0, queued(*fence)), (*at, left(*fence))]);
        changes.collect()
    }

    fn found(claims: Vec<ClaimRecord>, removed: &[(u64, u64)]) -> Vec<String> {
        violations(&Evidence { claims, log: log(removed), accepted: vec![vec![1, 1, 4]] })
    }

    #[test]
    fn accepts_claims_within_the_capacity() {
        let claims = vec![claim(1, 2, 10, 20), claim(2, 1, 20, 40), claim(3, 1, 30, 50)];
        assert_eq!(found(claims, &[(1, 20), (2, 41), (3, 50)]), [""; 0]);
        // The process of the second claim was suspended when it received the lock.
        let late = vec![claim(1, 2, 10, 90), claim(2, 2, 50, 40)];
        assert_eq!(found(late, &[(1, 90), (2, 45)]), [""; 0]);
    }

    #[test]
    fn finds_violation_of_each_rule() {
        let beyond = found(vec![claim(1, 2, 10, 21)], &[(1, 20)]);
        assert!(beyond[0].contains("after its removal"), "{beyond:?}");
        let unknown = found(vec![claim(1, 2, 10, 21)], &[]);
        assert!(unknown[0].contains("the log lacks"), "{unknown:?}");
        let beside = found(vec![claim(1, 1, 10, 20), claim(2, 2, 15, 30)], &[(1, 25), (2, 30)]);
        assert!(beside[0].contains("was granted beside a with token 1"), "{beside:?}");
        let back = found(vec![claim(2, 2, 10, 20), claim(1, 2, 25, 30)], &[(1, 40), (2, 40)]);
        assert!(back[0].contains("token 1 was granted after a with token 2"), "{back:?}");
        let accepted = vec![vec![1, 2], vec![3, 2, 4, 1]];
        let late = violations(&Evidence { accepted, ..Evidence::default() });
        assert_eq!(late, ["the guard accepted 2 late writes"]);
        let gap = vec![(1, LockQueueChange::HistoryCompacted)];
        let gap = violations(&Evidence { log: gap, ..Evidence::default() });
        assert_eq!(gap, ["changes are missing"]);
    }
}
