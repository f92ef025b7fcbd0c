//! Reads the values that clients put, either from one member or from all members.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_client::{RangePage, RangeQuery};
use tenure_trace::unix_time_nanos;

use super::value_record::{ReadRecord, ResponseRecord, ValueDigest};
use crate::cmd::failure::Failure;
use crate::cmd::service::BlockingClient;

/// Time limit for all members together to catch up with the log. After this time, no failed request
/// of the final reads is repeated.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(20);

const RETRY_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(super) struct FinalReads {
    pub(super) reads: Vec<ReadRecord>,
    /// Indices of the members that did not catch up in time, or from which a value could not be
    /// read.
    pub(super) lagging: Vec<usize>,
}

/// Reads a key from a member. If `is_local` is true, the member responds with its own state, which
/// may be old. Otherwise, the read is linearizable.
pub(super) fn read_value(member: &str, key: &str, is_local: bool) -> Result<ReadRecord, Failure> {
    let requested = unix_time_nanos();
    let response = request(member, key, is_local)?;
    let first = response.keys.first();
    let value = first.map(|it| ValueDigest::of(&it.value));
    let response =
        ResponseRecord { at: unix_time_nanos(), revision: first.map_or(0, |it| it.mod_revision) };
    Ok(ReadRecord { key: key.to_owned(), by: member.to_owned(), requested, response, value })
}

fn request(member: &str, key: &str, is_local: bool) -> Result<RangePage, Failure> {
    let query = RangeQuery { key: key.into(), serializable: is_local, ..RangeQuery::default() };
    let service = BlockingClient::for_endpoint(member)?;
    service.call(service.admin.range(query))
}

/// Waits until each member has caught up with the log, and then reads each key from this member:
/// once linearizably, and once from its own state. After `is_cancelled` is set, sends no further
/// requests, and the result is meaningless.
pub(super) fn read_after_catch_up(
    members: &[String],
    keys: &BTreeSet<String>,
    is_cancelled: &AtomicBool,
) -> FinalReads {
    let mut found = FinalReads::default();
    let deadline = &Deadline { at: Instant::now() + CATCH_UP_TIMEOUT, is_cancelled };
    let agreed =
        retry_until(deadline, || members.iter().find_map(|member| revision(member, false)));
    for (place, member) in members.iter().enumerate() {
        let has_come = || revision(member, true).filter(|is_local| Some(*is_local) >= agreed);
        let reads: Option<Vec<ReadRecord>> =
            agreed.and_then(|_| retry_until(deadline, has_come)).and_then(|_| {
                let both = keys.iter().flat_map(|key| [(key, false), (key, true)]);
                both.map(|(key, is_local)| {
                    retry_until(deadline, || read_value(member, key, is_local).ok())
                })
                .collect()
            });
        match reads {
            Some(reads) => found.reads.extend(reads),
            None => found.lagging.push(place),
        }
    }
    found
}

/// Returns the revision of the store; `None` if the member does not respond. If `is_local` is true,
/// it is the revision that the member has applied. Otherwise, it is the latest committed revision.
fn revision(member: &str, is_local: bool) -> Option<u64> {
    Some(request(member, "values", is_local).ok()?.revision)
}

/// Conditions under which requests are no longer repeated: the time `at` has come, or
/// `is_cancelled` is set.
struct Deadline<'a> {
    at: Instant,
    is_cancelled: &'a AtomicBool,
}

/// Repeats a request until there is a response, or until the deadline. Tries at least once, unless
/// the reads are cancelled. Returns `None` if there is no response.
fn retry_until<T>(deadline: &Deadline<'_>, mut request: impl FnMut() -> Option<T>) -> Option<T> {
    while !deadline.is_cancelled.load(Ordering::Relaxed) {
        let response = request();
        if response.is_some() || Instant::now() >= deadline.at {
            return response;
        }
        sleep(RETRY_PAUSE);
    }
    None
}
