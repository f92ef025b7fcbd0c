//! What a lock service promises, judged by what its clients were told and what its log says.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_client::Change;

use super::claim::Claim;
use super::drive::Course;
use super::value::Seen;
use super::values;

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Promise {
    /// Never do two claim to be inside.
    OneHolder,
    /// Each entry has a higher fence than all before it.
    FencesGrow,
    /// Entries come in the order of the queue in the log.
    OrderOfTheQueue,
    /// Nobody is let in whose claim was over while one ahead of it was not, in the log or because
    /// they had said so.
    GrantedAlive,
    /// The resource takes nothing with a lower fence than what it has taken before.
    FencedAccess,
    /// What a client was told is in the log, whoever was killed, and what it put is there, as it
    /// was.
    NothingAcknowledgedLost,
    /// Everybody is served in the end, where a majority is up, and each member has what all have.
    Progress,
}

impl Promise {
    pub(super) const ALL: [Promise; 7] = [
        Promise::OneHolder,
        Promise::FencesGrow,
        Promise::OrderOfTheQueue,
        Promise::GrantedAlive,
        Promise::FencedAccess,
        Promise::NothingAcknowledgedLost,
        Promise::Progress,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Promise::OneHolder => "one-holder",
            Promise::FencesGrow => "fences-grow",
            Promise::OrderOfTheQueue => "order-of-the-queue",
            Promise::GrantedAlive => "granted-alive",
            Promise::FencedAccess => "fenced-access",
            Promise::NothingAcknowledgedLost => "nothing-acknowledged-lost",
            Promise::Progress => "progress",
        }
    }
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    pub(super) promise: Promise,
    pub(super) says: String,
}

/// What the log says of one place in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    /// The revision since which it was first, if it ever was.
    first: Option<u64>,
    /// The revision in which it was gone.
    gone: Option<u64>,
}

/// What was violated: of each promise the first case.
pub(super) fn judge(course: &Course) -> Vec<Fault> {
    let mut claims: Vec<&Claim> = course.claims.iter().collect();
    claims.sort_by_key(|claim| claim.granted);
    let places = places(&course.changes);
    let seen = [one_holder(&claims), fences_grow(&claims), fenced(&claims), progress(course)];
    let mut faults: Vec<Fault> = seen.into_iter().flatten().collect();
    let found = course.found.iter().flat_map(|found| &found.seen);
    let values: Vec<&Seen> = course.seen.iter().chain(found).collect();
    let lost = values::lost(&course.puts, &values);
    faults.extend(lost.map(|says| Fault { promise: Promise::NothingAcknowledgedLost, says }));
    if let Some(last) = course.last.filter(|_| !course.changes.contains(&Change::Forgotten)) {
        let of_log = [
            order(&claims, &places),
            alive(&claims, &places),
            kept(&claims, &places, &course.changes, last),
        ];
        faults.extend(of_log.into_iter().flatten());
    }
    faults
}

/// The queue, replayed: by fence.
fn places(changes: &[Change]) -> BTreeMap<u64, Place> {
    let mut places: BTreeMap<u64, Place> = BTreeMap::new();
    let mut queue: BTreeMap<u64, &[u8]> = BTreeMap::new();
    for same in changes.chunk_by(|one, next| revision(one) == revision(next)) {
        for change in same {
            match change {
                Change::Queued { key, fence, .. } => {
                    queue.insert(*fence, key);
                    places.entry(*fence).or_default();
                }
                Change::Left { key, revision } => {
                    let gone = queue.iter().find(|(_, queued)| **queued == &key[..]);
                    if let Some(fence) = gone.map(|(fence, _)| *fence) {
                        queue.remove(&fence);
                        places.entry(fence).or_default().gone = Some(*revision);
                    }
                }
                Change::Forgotten => {}
            }
        }
        if let Some(fence) = queue.keys().next() {
            let place = places.entry(*fence).or_default();
            place.first = place.first.or(same.first().and_then(revision));
        }
    }
    places
}

/// When something changed.
pub(super) fn revision(change: &Change) -> Option<u64> {
    match change {
        Change::Queued { revision, .. } | Change::Left { revision, .. } => Some(*revision),
        Change::Forgotten => None,
    }
}

fn one_holder(claims: &[&Claim]) -> Option<Fault> {
    let mut last: Option<&Claim> = None;
    for claim in claims {
        if let Some(last) = last.filter(|last| claim.granted < last.until) {
            let says = format!(
                "client {} was let in {} µs before client {} claimed no more (fences {} and {})",
                claim.client,
                (last.until - claim.granted) / 1000,
                last.client,
                claim.fence,
                last.fence
            );
            return Some(Fault { promise: Promise::OneHolder, says });
        }
        if last.is_none_or(|last| last.until < claim.until) {
            last = Some(claim);
        }
    }
    None
}

fn fences_grow(claims: &[&Claim]) -> Option<Fault> {
    let pair = claims.windows(2).find(|pair| pair[1].fence <= pair[0].fence)?;
    let says = format!("fence {} was given out after {}", pair[1].fence, pair[0].fence);
    Some(Fault { promise: Promise::FencesGrow, says })
}

fn order(claims: &[&Claim], places: &BTreeMap<u64, Place>) -> Option<Fault> {
    let first = |claim: &&Claim| Some((claim.fence, places.get(&claim.fence)?.first?));
    let firsts: Vec<(u64, u64)> = claims.iter().filter_map(first).collect();
    let pair = firsts.windows(2).find(|pair| pair[1].1 <= pair[0].1)?;
    let says = format!("fence {} was let in after {}, before it in the log", pair[1].0, pair[0].0);
    Some(Fault { promise: Promise::OrderOfTheQueue, says })
}

fn alive(claims: &[&Claim], places: &BTreeMap<u64, Place>) -> Option<Fault> {
    let never_first =
        |claim: &&&Claim| places.get(&claim.fence).is_some_and(|place| place.first.is_none());
    let (claim, ahead) = claims.iter().filter(never_first).find_map(|claim| {
        let gone = |place: &Place| place.gone.unwrap_or(u64::MAX);
        let own = gone(places.get(&claim.fence)?);
        let ahead = places.range(..claim.fence).filter(|(_, it)| gone(it) >= own);
        // Whoever had left when it was let in was out of its way, whenever that was written.
        let had_left = |fence: u64| {
            claims.iter().any(|other| other.fence == fence && other.until <= claim.granted)
        };
        let mut ahead = ahead.map(|(fence, _)| *fence);
        ahead.find(|fence| !had_left(*fence)).map(|ahead| (claim, ahead))
    })?;
    let says = format!(
        "fence {} was let in, and in the log it was never first, as {ahead} had not left",
        claim.fence
    );
    Some(Fault { promise: Promise::GrantedAlive, says })
}

fn fenced(claims: &[&Claim]) -> Option<Fault> {
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
            let says = format!("the resource took fence {fence} after {highest}");
            return Some(Fault { promise: Promise::FencedAccess, says });
        }
    }
    None
}

fn kept(
    claims: &[&Claim],
    places: &BTreeMap<u64, Place>,
    changes: &[Change],
    last: u64,
) -> Option<Fault> {
    let fault = |says| Some(Fault { promise: Promise::NothingAcknowledgedLost, says });
    let revisions: Vec<u64> = changes.iter().filter_map(revision).collect();
    if let Some(pair) = revisions.windows(2).find(|pair| pair[1] < pair[0]) {
        return fault(format!("revision {} was told after {}", pair[1], pair[0]));
    }
    if let Some(claim) = claims.iter().find(|claim| claim.fence >= last) {
        return fault(format!("fence {} is not below {last}, which came last", claim.fence));
    }
    for claim in claims {
        let Claim { client, fence, left, .. } = claim;
        match places.get(fence) {
            None => {
                return fault(format!(
                    "client {client} was let in with fence {fence}, which is not in the log"
                ));
            }
            Some(Place { gone: None, .. }) if *left => {
                return fault(format!(
                    "client {client} was told that fence {fence} was given up, and it is there"
                ));
            }
            Some(_) => {}
        }
    }
    None
}

fn progress(course: &Course) -> Option<Fault> {
    let behind = course.found.iter().flat_map(|found| &found.behind).next();
    let says = match course.left_waiting {
        0 => {
            let who = behind? + 1;
            format!("m{who} did not come to have what all had, after it was started again")
        }
        1 => "a client did not come to an end".to_owned(),
        many => format!("{many} clients did not come to an end"),
    };
    Some(Fault { promise: Promise::Progress, says })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(fence: u64) -> Change {
        Change::Queued { key: fence.to_string().into(), fence, revision: fence }
    }

    fn left(fence: u64, revision: u64) -> Change {
        Change::Left { key: fence.to_string().into(), revision }
    }

    fn claim(client: u32, fence: u64, granted: u64, until: u64) -> Claim {
        let (accessed, written) = (granted, Some(until));
        Claim { client, fence, granted, accessed, written, until, left: true, ..Claim::default() }
    }

    fn found(claims: Vec<Claim>, changes: Vec<Change>) -> Vec<Promise> {
        let course = Course { claims, changes, last: Some(99), ..Course::default() };
        judge(&course).into_iter().map(|fault| fault.promise).collect()
    }

    #[test]
    fn what_is_promised_is_not_held_against_anybody() {
        let changes = vec![queued(2), queued(3), left(2, 4), left(3, 5)];
        let claims = vec![claim(1, 2, 10, 20), claim(2, 3, 21, 30)];
        assert_eq!(found(claims, changes), []);
    }

    #[test]
    fn each_promise_is_found_to_be_broken() {
        let changes = || vec![queued(2), queued(3), left(2, 4), left(3, 5)];
        let overlap = vec![claim(1, 2, 10, 20), claim(2, 3, 19, 30)];
        assert_eq!(found(overlap, changes()), [Promise::OneHolder]);
        let back = vec![claim(2, 3, 10, 20), claim(1, 2, 21, 30)];
        let broken = [Promise::FencesGrow, Promise::FencedAccess, Promise::OrderOfTheQueue];
        assert_eq!(found(back, changes()), broken);
        // Gone while it waited: its session was over.
        let dead = vec![queued(2), queued(3), left(3, 4), left(2, 5)];
        assert_eq!(found(vec![claim(2, 3, 10, 20)], dead), [Promise::GrantedAlive]);
        // The same where the one ahead of it was inside still, and where it had left before.
        let dead = || vec![queued(2), queued(3), left(3, 4), left(2, 5)];
        let both = vec![claim(1, 2, 10, 20), claim(2, 3, 19, 30)];
        assert_eq!(found(both, dead()), [Promise::OneHolder, Promise::GrantedAlive]);
        assert_eq!(found(vec![claim(1, 2, 10, 20), claim(2, 3, 20, 30)], dead()), []);
        let lost = vec![claim(1, 7, 10, 20)];
        assert_eq!(found(lost, changes()), [Promise::NothingAcknowledgedLost]);
        let kept = vec![claim(1, 2, 10, 20)];
        assert_eq!(found(kept, vec![queued(2)]), [Promise::NothingAcknowledgedLost]);
    }
}
