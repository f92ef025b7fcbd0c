//! Records of candidates beside the queue of an election, and the transactions that write them.
//!
//! A candidate with options has two keys with the same lease: its claim `NAME/SEGMENT` in the
//! queue, and its record `NAME#election/candidate-SEGMENT` with the priority and the identity. One
//! transaction creates both keys, so they have the same creation revision. This revision determines
//! the place of the candidate in the queue. The libraries of etcd treat all keys in the range
//! `NAME/` as the queue, so the records lie outside of this range.
//!
//! A request for a transfer to a candidate writes the record of this candidate a second time,
//! without a change. If a record has several versions, its last write was therefore a request for a
//! transfer to its candidate. When the record is deleted, the request is deleted too.

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::request_op::Request;
use tenure_etcd::mvccpb::KeyValue;

use crate::requests::{
    create_revision_equals, delete_all_txn, key_values, mod_revision_equals, op, put, queue_range,
    read_key, read_newest_two_op, revision, unsigned,
};

const RECORDS: &str = "#election";

/// Prefix of the last segment of a record's key. An election with the name `NAME#election` has its
/// claims in the same range. The prefix distinguishes the records from these claims.
const CANDIDATE: &str = "candidate-";

/// Candidate that takes part in an election with [`CampaignOptions`](crate::CampaignOptions).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Identity, as the candidate chose it.
    pub identity: String,
    /// Priority, as the candidate chose it. Candidates with a higher priority lead first.
    pub priority: i32,
    /// Key of the candidate's claim in the store of the service.
    pub key: Vec<u8>,
    /// Creation revision of the candidate's claim. The revision determines the place in the queue.
    /// If this claim leads, the revision is the fencing token of the leadership. A candidate that
    /// yields gets a new claim with another key and a larger revision.
    pub fence: u64,
    /// Revision of the last write of the candidate's record.
    written: u64,
}

impl Candidate {
    /// Returns the rank of this candidate: a revision and a priority. The revision is that of the
    /// last request for a transfer to this candidate, or 0 if there was no request.
    const fn rank(&self) -> (u64, i32) {
        (if self.written > self.fence { self.written } else { 0 }, self.priority)
    }
}

/// Input of the transaction that creates the claim and the record of a new candidate.
#[derive(Clone, Debug)]
pub(crate) struct NewCandidate<'a> {
    /// Name of the election.
    pub(crate) name: &'a str,
    /// Key of the new claim.
    pub(crate) key: &'a [u8],
    /// Value of the claim, which observers receive if the claim leads.
    pub(crate) value: &'a [u8],
    pub(crate) identity: &'a str,
    pub(crate) priority: i32,
    /// Lease of the claim and the record.
    pub(crate) lease: i64,
}

impl NewCandidate<'_> {
    fn puts(&self) -> [rpc::RequestOp; 2] {
        let record = format!("{} {}", self.priority, self.identity).into_bytes();
        [
            op(put(self.key, self.value.to_vec(), self.lease)),
            op(put(&candidate_record_key(self.name, self.key), record, self.lease)),
        ]
    }

    /// Returns a request that adds the candidate to the end of the queue, and reads the claim and
    /// its predecessor. A repeated request changes nothing, and reads only the claim.
    pub(crate) fn enqueue_txn(&self) -> rpc::TxnRequest {
        rpc::TxnRequest {
            compare: vec![create_revision_equals(self.key, Vec::new(), 0)],
            success: self.puts().into_iter().chain([read_newest_two_op(self.name)]).collect(),
            failure: vec![op(read_key(self.key))],
        }
    }

    /// Returns a request that replaces the claim `old` of this candidate. The request deletes this
    /// claim and its record, and adds a new claim with a new record to the end of the queue.
    /// `better` is the candidate to which this candidate yields.
    ///
    /// The request has no effect if the claim `old` or the claim of `better` does not exist. It
    /// also has no effect if another client has requested a transfer to the claim `old` since
    /// `view` was read. A repetition of the request changes nothing.
    pub(crate) fn yield_txn(
        &self,
        (old, fence): (&[u8], u64),
        better: &Candidate,
        view: &ElectionView,
    ) -> rpc::TxnRequest {
        let record = candidate_record_key(self.name, old);
        let deletions = delete_all_txn(&[(old, 0), (&record, 0)]).success;
        let written = view.candidates.iter().find(|it| it.key == old).map_or(0, |it| it.written);
        rpc::TxnRequest {
            compare: vec![
                create_revision_equals(old, Vec::new(), fence),
                create_revision_equals(&better.key, Vec::new(), better.fence),
                mod_revision_equals(&record, written),
            ],
            success: deletions
                .into_iter()
                .chain(self.puts())
                .chain([read_newest_two_op(self.name)])
                .collect(),
            failure: vec![op(read_key(self.key))],
        }
    }
}

/// Returns a request for the transfer of the leadership to `candidate`. The request has no effect
/// if the claim of the candidate does not exist, or if its record has changed since `candidate` was
/// read. A delayed copy of the request therefore does not take precedence over a later request.
pub(crate) fn nominate_txn(name: &str, candidate: &Candidate) -> rpc::TxnRequest {
    let record = candidate_record_key(name, &candidate.key);
    let exists = |key: &[u8]| create_revision_equals(key, Vec::new(), candidate.fence);
    let unchanged = mod_revision_equals(&record, candidate.written);
    let compare = vec![exists(&candidate.key), exists(&record), unchanged];
    let touch = rpc::PutRequest {
        key: record,
        ignore_value: true,
        ignore_lease: true,
        ..Default::default()
    };
    let success = vec![op(Request::RequestPut(touch))];
    rpc::TxnRequest { compare, success, failure: Vec::new() }
}

/// Returns a request that reads all records of an election and, if `key` is given, the claim with
/// this key.
pub(crate) fn read_candidate_records_txn(name: &str, key: Option<&[u8]>) -> rpc::TxnRequest {
    let (first, range_end) = candidate_record_range(name);
    let records = rpc::RangeRequest { key: first, range_end, ..Default::default() };
    let mut success = vec![op(Request::RequestRange(records))];
    success.extend(key.map(|key| op(read_key(key))));
    rpc::TxnRequest { success, ..Default::default() }
}

pub(crate) fn candidate_record_range(name: &str) -> (Vec<u8>, Vec<u8>) {
    queue_range(&format!("{name}{RECORDS}"))
}

pub(crate) fn candidate_record_key(name: &str, claim_key: &[u8]) -> Vec<u8> {
    let segment = claim_key.get(name.len() + 1..).unwrap_or_default();
    [format!("{name}{RECORDS}/{CANDIDATE}").as_bytes(), segment].concat()
}

/// State of the records of an election at one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElectionView {
    /// Revision of the store at the time of the read.
    pub(crate) revision: u64,
    /// Creation revision of the caller's claim; `None` if the claim does not exist.
    pub(crate) own_create_revision: Option<u64>,
    /// Candidates, in the order of the queue. If another program deletes a claim, the candidate's
    /// record remains. The list may therefore contain candidates without a claim.
    pub(crate) candidates: Vec<Candidate>,
}

impl ElectionView {
    /// Parses the response to the request of [`read_candidate_records_txn`]. `key` is the key of
    /// the caller's claim.
    pub(crate) fn new(response: &rpc::TxnResponse, name: &str, key: Option<&[u8]>) -> ElectionView {
        let mut view = ElectionView { revision: revision(response), ..ElectionView::default() };
        for kv in key_values(response) {
            if key == Some(&kv.key[..]) {
                view.own_create_revision = Some(unsigned(kv.create_revision));
            } else {
                view.candidates.extend(candidate(kv, name));
            }
        }
        view.candidates.sort_by_key(|candidate| candidate.fence);
        view
    }

    /// Returns the candidate that should lead instead of the owner of the claim `key`, which was
    /// created in the revision `fence`. This is the candidate with the highest rank behind this
    /// claim in the queue. Of several candidates with this rank, returns the first one in the
    /// queue. Returns `None` if no candidate behind the claim has a higher rank than the claim.
    ///
    /// Ranks are compared first by the last request for a transfer, and then by the priority. A
    /// claim without a record has priority 0. Ignores candidates for which `is_absent` returns
    /// true.
    pub(crate) fn preferred_over(
        &self,
        key: &[u8],
        fence: u64,
        is_absent: impl Fn(&Candidate) -> bool,
    ) -> Option<&Candidate> {
        let own = self.candidates.iter().find(|it| it.key == key);
        let own = own.map_or((0, 0), Candidate::rank);
        let behind = self.candidates.iter().filter(|it| it.fence > fence && !is_absent(it));
        // `max_by_key` returns the last of several equal ranks. The order is reversed, so this is
        // the first of them in the queue.
        behind.filter(|it| it.rank() > own).rev().max_by_key(|it| it.rank())
    }
}

/// Parses the record of a candidate. Returns `None` if the key or the value does not have the form
/// of a record.
fn candidate(kv: &KeyValue, name: &str) -> Option<Candidate> {
    let records = format!("{name}{RECORDS}/{CANDIDATE}");
    let segment = kv.key.strip_prefix(records.as_bytes()).filter(|it| !it.contains(&b'/'))?;
    let (priority, identity) = str::from_utf8(&kv.value).ok()?.split_once(' ')?;
    Some(Candidate {
        identity: identity.to_owned(),
        priority: priority.parse().ok()?,
        key: [name.as_bytes(), b"/", segment].concat(),
        fence: unsigned(kv.create_revision),
        written: unsigned(kv.mod_revision),
    })
}

#[cfg(test)]
mod tests {
    use tenure_etcd::etcdserverpb::response_op::Response;

    use super::*;
    use crate::requests::is_in_queue;

    fn record(segment: &str, value: &str, create_revision: i64) -> KeyValue {
        let key = candidate_record_key("boss", format!("boss/{segment}").as_bytes());
        let mod_revision = create_revision;
        KeyValue { key, value: value.into(), create_revision, mod_revision, ..Default::default() }
    }

    fn view(kvs: Vec<KeyValue>) -> ElectionView {
        let range = rpc::RangeResponse { kvs, ..Default::default() };
        let operation = rpc::ResponseOp { response: Some(Response::ResponseRange(range)) };
        let response = rpc::TxnResponse { responses: vec![operation], ..Default::default() };
        ElectionView::new(&response, "boss", Some(b"boss/none"))
    }

    /// Returns the identity of the candidate that should lead instead of the holder of the claim
    /// with the key `boss/SEGMENT`. Returns `None` if there is no such candidate.
    fn preferred(view: &ElectionView, segment: &str, fence: u64) -> Option<String> {
        let key = format!("boss/{segment}");
        let better = view.preferred_over(key.as_bytes(), fence, |it| it.identity == "gone");
        better.map(|it| it.identity.clone())
    }

    #[test]
    fn records_are_outside_of_queues() {
        let key = candidate_record_key("a/b", b"a/b/1f.2");
        assert_eq!(key, b"a/b#election/candidate-1f.2");
        for name in ["a", "a/b", "a/b#elections", ""] {
            assert!(!is_in_queue(name, &key), "{name}");
        }
        let (first, end) = queue_range("a/b");
        assert!(key < first || key >= end, "libraries of etcd do not read it");
        let (first, end) = candidate_record_range("a/b");
        assert!(first <= key && key < end);
    }

    #[test]
    fn candidates_are_sorted_and_foreign_records_ignored() {
        let view = view(vec![
            record("2", "0 two words", 9),
            record("1", "-3 one", 5),
            record("3", "no number", 6),
            record("4", "5", 7),
            KeyValue { key: b"boss#election/other".into(), ..Default::default() },
        ]);
        let found: Vec<_> =
            view.candidates.iter().map(|it| (&it.identity[..], it.priority, it.fence)).collect();
        assert_eq!(found, [("one", -3, 5), ("two words", 0, 9)]);
        assert_eq!(view.candidates[0].key, b"boss/1");
    }

    #[test]
    fn claim_yields_to_higher_rank_behind_it() {
        let mut kvs = vec![
            record("1", "0 one", 1),
            record("2", "1 two", 2),
            record("3", "2 three", 3),
            record("4", "2 four", 4),
            record("5", "9 gone", 5),
        ];
        let before = view(kvs.clone());
        assert_eq!(
            preferred(&before, "1", 1).as_deref(),
            Some("three"),
            "the first of the highest"
        );
        assert_eq!(preferred(&before, "2", 2).as_deref(), Some("three"));
        assert_eq!(preferred(&before, "3", 3), None);
        assert_eq!(preferred(&before, "4", 4), None, "`three` is ahead");
        assert_eq!(preferred(&before, "ordinary", 3).as_deref(), Some("four"));
        kvs[1].mod_revision = 6;
        let after = view(kvs.clone());
        assert_eq!(preferred(&after, "1", 1).as_deref(), Some("two"), "a request names it");
        assert_eq!(preferred(&after, "2", 2), None);
        assert_eq!(preferred(&after, "3", 3), None, "`two` is ahead");
        kvs[3].mod_revision = 7;
        let later = view(kvs);
        assert_eq!(preferred(&later, "2", 2).as_deref(), Some("four"), "a later request names it");
    }

    /// Tests four candidates with every combination of four priorities. Candidates yield one after
    /// another, until no candidate has to yield. Checks that the yielding ends, and that the final
    /// queue is ordered by descending rank.
    #[test]
    fn yielding_ends_with_the_highest_rank_first() {
        for order in 0..256_u32 {
            let priorities = (0..4).map(|place| (order >> (2 * place) & 3).to_string());
            let mut queue: Vec<(String, String)> =
                priorities.enumerate().map(|(it, value)| (it.to_string(), value)).collect();
            let mut steps = 0;
            loop {
                let kvs = queue.iter().zip(1..).map(|((segment, priority), revision)| {
                    record(segment, &format!("{priority} {segment}"), revision)
                });
                let view = view(kvs.collect());
                let yields = queue
                    .iter()
                    .zip(1..)
                    .position(|((segment, _), fence)| preferred(&view, segment, fence).is_some());
                let Some(place) = yields else { break };
                let candidate = queue.remove(place);
                queue.push(candidate);
                steps += 1;
                assert!(steps < 100, "the queue changes forever");
            }
            assert!(queue.is_sorted_by(|(_, one), (_, other)| one >= other), "{queue:?}");
        }
    }
}
