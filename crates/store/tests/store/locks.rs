//! Queues of locks: which claims hold a lock, and which locks a change grants.

use tenure_store::{
    AcquireLock, ApplyOutcome, Command, CommandResult, Delete, Error, ExpiredLease, KeySpan,
    LeaseChange, LeaseCheckpoint, LockMode, Put, RangeRead, SortOrder, SortTarget, Txn,
    TxnOperation,
};

use crate::log::Log;

impl Log {
    fn grant(&mut self, lease: u64) {
        let granted = self.apply(Command::Grant { lease, ttl: 10 });
        assert_eq!(granted.result, Ok(CommandResult::Granted { lease, ttl: 10 }));
    }

    fn enqueue(&mut self, name: &str, lease: u64, mode: LockMode) -> (ApplyOutcome, bool) {
        let (name, value) = (name.into(), b"".into());
        let outcome = self.apply(Command::AcquireLock(AcquireLock { name, lease, mode, value }));
        let Ok(CommandResult::Enqueued { holds_lock: inside, .. }) = outcome.result else {
            panic!("{:?}", outcome.result)
        };
        (outcome, inside)
    }

    fn delete(&mut self, key: &str) -> ApplyOutcome {
        self.apply(Command::Delete(Delete { span: KeySpan::single(key), prev_kv: false }))
    }
}

fn granted(outcome: &ApplyOutcome) -> Vec<u64> {
    outcome.granted.iter().map(|claim| claim.lease).collect()
}

fn ended(outcome: &ApplyOutcome) -> Vec<u64> {
    outcome.ended.iter().map(|claim| claim.lease).collect()
}

#[test]
fn mutex_is_granted_in_queue_order() {
    let mut log = Log::new();
    (1..=3).for_each(|lease| log.grant(lease));
    let (first, inside) = log.enqueue("a", 1, LockMode::Exclusive);
    assert_eq!((granted(&first), inside, first.revision), (vec![1], true, 2));
    assert!(!log.enqueue("a", 3, LockMode::Exclusive).1);
    assert!(!log.enqueue("a", 2, LockMode::Exclusive).1);
    let (again, inside) = log.enqueue("a", 1, LockMode::Exclusive);
    assert_eq!((again.revision, again.events.len(), inside), (4, 0, true));
    let left = log.delete("a/1");
    assert_eq!((ended(&left), granted(&left)), (vec![1], vec![3]));
    assert_eq!(left.granted[0].fence, 3);
    let revoked = log.apply(Command::Revoke { lease: 2 });
    assert_eq!((ended(&revoked), granted(&revoked)), (vec![2], vec![]));
    let revoked = log.apply(Command::Revoke { lease: 3 });
    assert_eq!((ended(&revoked), granted(&revoked)), (vec![3], vec![]));
    assert!(log.store.queue(b"a").is_none(), "there is no claim");
}

#[test]
fn shared_holders_join_without_overtaking() {
    let mut log = Log::new();
    (1..=5).for_each(|lease| log.grant(lease));
    assert!(log.enqueue("a", 1, LockMode::Shared).1);
    assert!(log.enqueue("a", 2, LockMode::Shared).1);
    assert!(!log.enqueue("a", 3, LockMode::Exclusive).1, "a writer waits for readers");
    assert!(!log.enqueue("a", 4, LockMode::Shared).1, "a reader waits for an earlier writer");
    assert_eq!(granted(&log.delete("a/1.shared")), vec![]);
    assert_eq!(granted(&log.delete("a/2.shared")), vec![3]);
    assert_eq!(granted(&log.delete("a/3")), vec![4]);
    let slots = LockMode::Slots(2);
    assert!(log.enqueue("b", 1, slots).1 && log.enqueue("b", 2, slots).1);
    assert!(!log.enqueue("b", 3, slots).1 && !log.enqueue("b", 4, slots).1);
    assert_eq!(granted(&log.delete("b/2.slots-2")), vec![3]);
    assert_eq!(granted(&log.delete("b/1.slots-2")), vec![4]);
}

#[test]
fn keys_without_claims_block_the_queue() {
    let mut log = Log::new();
    (1..=2).for_each(|lease| log.grant(lease));
    log.apply(Command::Put(Put { key: "a/note".into(), ..Put::default() }));
    assert!(!log.enqueue("a", 1, LockMode::Exclusive).1);
    assert!(log.enqueue("a/b", 2, LockMode::Exclusive).1, "the queue of a nested name");
    assert_eq!(granted(&log.delete("a/note")), vec![1]);
    assert_eq!(
        granted(&log.delete("a/1")),
        vec![],
        "the nested key comes next and claims another name"
    );
}

#[test]
fn keys_of_one_revision_are_ordered_by_name() {
    let mut log = Log::new();
    log.grant(1);
    log.enqueue("a", 1, LockMode::Exclusive);
    let put = |key: &str| TxnOperation::Put(Put { key: key.into(), ..Put::default() });
    let success = vec![put("a/x"), put("a/y"), put("a/z")];
    log.apply(Command::Txn(Txn { success, ..Txn::default() }));
    for (order, limit, keys) in [
        (SortOrder::Ascend, 2, &["a/1", "a/x"][..]),
        (SortOrder::Descend, 1, &["a/x"]),
        (SortOrder::Descend, 2, &["a/x", "a/y"]),
    ] {
        let (span, target) = (KeySpan::prefix("a/"), SortTarget::Create);
        let found = log.store.range(&RangeRead {
            order,
            target,
            limit,
            ..RangeRead::at_current_revision(span)
        });
        let found = found.expect("the revision is known");
        let read: Vec<_> = found.kvs.iter().map(|kv| kv.key.to_string()).collect();
        assert_eq!(read, keys, "{order:?}");
        assert_eq!((found.more, found.count), (true, 4));
    }
}

#[test]
fn expiry_fails_after_renewal_or_change_of_leader() {
    let mut log = Log::new();
    (1..=2).for_each(|lease| log.grant(lease));
    log.enqueue("a", 1, LockMode::Exclusive);
    log.enqueue("a", 2, LockMode::Exclusive);
    let renewal_index = |log: &Log| log.store.lease(1).expect("the lease exists").renewal_index;
    assert_eq!(renewal_index(&log), 3, "enqueueing renews the lease");
    let spared = |renewal_index| LeaseChange::ExpiryRejected { lease: 1, term: 1, renewal_index };
    let early =
        Command::Expire { term: 1, leases: vec![ExpiredLease { lease: 1, renewal_index: 2 }] };
    assert_eq!(log.apply(early).lease_changes, vec![spared(2)]);
    let expire =
        Command::Expire { term: 1, leases: vec![ExpiredLease { lease: 1, renewal_index: 3 }] };
    log.at.term = 2;
    assert_eq!(
        log.apply(expire.clone()).lease_changes,
        vec![spared(3)],
        "the expiry of another leader"
    );
    log.at.term = 1;
    let note = |lease, left, renewal_index| LeaseCheckpoint { lease, left, renewal_index };
    let notes = |leases| Command::Checkpoint { term: 1, leases };
    let part = log.apply(notes(vec![note(1, 4, 3), note(7, 4, 3)]));
    assert_eq!(part.lease_changes, vec![LeaseChange::Remaining { lease: 1, seconds: 4 }]);
    assert_eq!(renewal_index(&log), 3, "a checkpoint does not renew");
    let expired = log.apply(expire);
    assert_eq!(expired.result, Ok(CommandResult::Expired { ended_lease_count: 1 }));
    assert_eq!((ended(&expired), granted(&expired)), (vec![1], vec![2]));
    assert_eq!(log.apply(Command::Revoke { lease: 1 }).result, Err(Error::LeaseNotFound));
}

/// The leader reads the remaining time of a lease, and then the lease is renewed. A checkpoint with
/// the old time must be ignored, because it would end the lease too early.
#[test]
fn stale_checkpoint_of_renewed_lease_is_ignored() {
    let mut log = Log::new();
    log.grant(1);
    let ttl = log.store.lease(1).expect("the lease exists").ttl;
    let seen = log.store.lease(1).expect("the lease exists").renewal_index;
    let notes = |left| Command::Checkpoint {
        term: 1,
        leases: vec![LeaseCheckpoint { lease: 1, left, renewal_index: seen }],
    };
    let left = |seconds| vec![LeaseChange::Remaining { lease: 1, seconds }];
    assert_eq!(log.apply(notes(4)).lease_changes, left(4));
    assert_eq!(log.apply(notes(ttl)).lease_changes, left(ttl), "the full TTL renews in any case");
    assert_eq!(log.apply(notes(3)).lease_changes, vec![]);
    assert_eq!(log.store.lease(1).expect("the lease exists").left, ttl);
}

#[test]
fn claim_without_lease_ends_but_its_key_blocks() {
    let mut log = Log::new();
    (1..=2).for_each(|lease| log.grant(lease));
    log.enqueue("a", 1, LockMode::Exclusive);
    log.enqueue("a", 2, LockMode::Exclusive);
    let taken = log.apply(Command::Put(Put { key: "a/1".into(), ..Put::default() }));
    assert_eq!((ended(&taken), granted(&taken)), (vec![1], vec![]));
    let back = log.apply(Command::Put(Put { key: "a/1".into(), lease: 1, ..Put::default() }));
    assert_eq!((ended(&back), granted(&back)), (vec![], vec![1]));
}
