//! Queues: who is inside, and whom a change lets in.

use tenure_store::{
    Answer, At, Command, Delete, Enqueue, Error, Expiry, LeaseChange, Limits, Note, Operation,
    Outcome, Put, Range, Share, SortOrder, SortTarget, Span, Store, Txn,
};

struct Log {
    store: Store,
    at: At,
}

impl Log {
    fn new() -> Self {
        Log { store: Store::new(Limits::default()), at: At { index: 0, term: 1 } }
    }

    fn take(&mut self, command: Command) -> Outcome {
        self.at.index += 1;
        self.store.apply(self.at, command)
    }

    fn grant(&mut self, lease: u64) {
        let granted = self.take(Command::Grant { lease, ttl: 10 });
        assert_eq!(granted.answer, Ok(Answer::Granted { lease, ttl: 10 }));
    }

    fn enqueue(&mut self, name: &str, lease: u64, share: Share) -> (Outcome, bool) {
        let (name, value) = (name.into(), b"".into());
        let outcome = self.take(Command::Enqueue(Enqueue { name, lease, share, value }));
        let Ok(Answer::Enqueued { inside, .. }) = outcome.answer else {
            panic!("{:?}", outcome.answer)
        };
        (outcome, inside)
    }

    fn delete(&mut self, key: &str) -> Outcome {
        self.take(Command::Delete(Delete { span: Span::one(key), prev_kv: false }))
    }
}

fn admitted(outcome: &Outcome) -> Vec<u64> {
    outcome.admitted.iter().map(|claim| claim.lease).collect()
}

fn ended(outcome: &Outcome) -> Vec<u64> {
    outcome.ended.iter().map(|claim| claim.lease).collect()
}

#[test]
fn a_mutex_is_handed_over_in_the_order_of_its_queue() {
    let mut log = Log::new();
    (1..=3).for_each(|lease| log.grant(lease));
    let (first, inside) = log.enqueue("a", 1, Share::Exclusive);
    assert_eq!((admitted(&first), inside, first.revision), (vec![1], true, 2));
    assert!(!log.enqueue("a", 3, Share::Exclusive).1);
    assert!(!log.enqueue("a", 2, Share::Exclusive).1);
    let (again, inside) = log.enqueue("a", 1, Share::Exclusive);
    assert_eq!((again.revision, again.events.len(), inside), (4, 0, true));
    let left = log.delete("a/1");
    assert_eq!((ended(&left), admitted(&left)), (vec![1], vec![3]));
    assert_eq!(left.admitted[0].fence, 3);
    let revoked = log.take(Command::Revoke { lease: 2 });
    assert_eq!((ended(&revoked), admitted(&revoked)), (vec![2], vec![]));
    let revoked = log.take(Command::Revoke { lease: 3 });
    assert_eq!((ended(&revoked), admitted(&revoked)), (vec![3], vec![]));
    assert!(log.store.queue(b"a").is_none(), "nobody claims it");
}

#[test]
fn readers_and_slots_are_inside_together_and_nobody_overtakes() {
    let mut log = Log::new();
    (1..=5).for_each(|lease| log.grant(lease));
    assert!(log.enqueue("a", 1, Share::Shared).1);
    assert!(log.enqueue("a", 2, Share::Shared).1);
    assert!(!log.enqueue("a", 3, Share::Exclusive).1, "a writer waits for readers");
    assert!(!log.enqueue("a", 4, Share::Shared).1, "a reader waits for a writer before it");
    assert_eq!(admitted(&log.delete("a/1.shared")), vec![]);
    assert_eq!(admitted(&log.delete("a/2.shared")), vec![3]);
    assert_eq!(admitted(&log.delete("a/3")), vec![4]);
    let slots = Share::Slots(2);
    assert!(log.enqueue("b", 1, slots).1 && log.enqueue("b", 2, slots).1);
    assert!(!log.enqueue("b", 3, slots).1 && !log.enqueue("b", 4, slots).1);
    assert_eq!(admitted(&log.delete("b/2.slots-2")), vec![3]);
    assert_eq!(admitted(&log.delete("b/1.slots-2")), vec![4]);
}

#[test]
fn a_key_below_a_name_has_its_place_in_the_queue_though_it_claims_nothing() {
    let mut log = Log::new();
    (1..=2).for_each(|lease| log.grant(lease));
    log.take(Command::Put(Put { key: "a/note".into(), ..Put::default() }));
    assert!(!log.enqueue("a", 1, Share::Exclusive).1);
    assert!(log.enqueue("a/b", 2, Share::Exclusive).1, "of another name, below this one");
    assert_eq!(admitted(&log.delete("a/note")), vec![1]);
    assert_eq!(admitted(&log.delete("a/1")), vec![], "the one below is next, and claims another");
}

#[test]
fn keys_that_came_into_a_queue_together_are_read_by_their_names_whichever_way_it_is_read() {
    let mut log = Log::new();
    log.grant(1);
    log.enqueue("a", 1, Share::Exclusive);
    let put = |key: &str| Operation::Put(Put { key: key.into(), ..Put::default() });
    let success = vec![put("a/x"), put("a/y"), put("a/z")];
    log.take(Command::Txn(Txn { success, ..Txn::default() }));
    for (order, limit, keys) in [
        (SortOrder::Ascend, 2, &["a/1", "a/x"][..]),
        (SortOrder::Descend, 1, &["a/x"]),
        (SortOrder::Descend, 2, &["a/x", "a/y"]),
    ] {
        let (span, target) = (Span::prefix("a/"), SortTarget::Create);
        let found = log.store.range(&Range { order, target, limit, ..Range::of(span) });
        let found = found.expect("what is known is asked for");
        let read: Vec<_> = found.kvs.iter().map(|kv| kv.key.to_string()).collect();
        assert_eq!(read, keys, "{order:?}");
        assert_eq!((found.more, found.count), (true, 4));
    }
}

#[test]
fn a_lease_expires_for_the_leader_that_saw_it_and_unless_it_was_renewed() {
    let mut log = Log::new();
    (1..=2).for_each(|lease| log.grant(lease));
    log.enqueue("a", 1, Share::Exclusive);
    log.enqueue("a", 2, Share::Exclusive);
    let renewed = |log: &Log| log.store.lease(1).expect("it lives").renewed;
    assert_eq!(renewed(&log), 3, "who queues renews");
    let spared = |renewed| LeaseChange::Spared { lease: 1, term: 1, renewed };
    let early = Command::Expire { term: 1, leases: vec![Expiry { lease: 1, renewed: 2 }] };
    assert_eq!(log.take(early).leases, vec![spared(2)]);
    let expire = Command::Expire { term: 1, leases: vec![Expiry { lease: 1, renewed: 3 }] };
    log.at.term = 2;
    assert_eq!(log.take(expire.clone()).leases, vec![spared(3)], "of another leader");
    log.at.term = 1;
    let note = |lease, left, renewed| Note { lease, left, renewed };
    let notes = |leases| Command::Checkpoint { term: 1, leases };
    let part = log.take(notes(vec![note(1, 4, 3), note(7, 4, 3)]));
    assert_eq!(part.leases, vec![LeaseChange::Left { lease: 1, seconds: 4 }]);
    assert_eq!(renewed(&log), 3, "what is left was noted, nothing was renewed");
    let expired = log.take(expire);
    assert_eq!(expired.answer, Ok(Answer::Expired { leases: 1 }));
    assert_eq!((ended(&expired), admitted(&expired)), (vec![1], vec![2]));
    assert_eq!(log.take(Command::Revoke { lease: 1 }).answer, Err(Error::LeaseNotFound));
}

/// A note that was on its way when all of the lease was noted would end it too early.
#[test]
fn what_is_left_is_not_noted_of_a_lease_that_was_renewed_since() {
    let mut log = Log::new();
    log.grant(1);
    let ttl = log.store.lease(1).expect("it lives").ttl;
    let seen = log.store.lease(1).expect("it lives").renewed;
    let notes = |left| Command::Checkpoint {
        term: 1,
        leases: vec![Note { lease: 1, left, renewed: seen }],
    };
    let left = |seconds| vec![LeaseChange::Left { lease: 1, seconds }];
    assert_eq!(log.take(notes(4)).leases, left(4));
    assert_eq!(log.take(notes(ttl)).leases, left(ttl), "all of it renews, whatever was seen");
    assert_eq!(log.take(notes(3)).leases, vec![]);
    assert_eq!(log.store.lease(1).expect("it lives").left, ttl);
}

#[test]
fn a_claim_that_loses_its_lease_is_over_though_its_key_stays_in_the_way() {
    let mut log = Log::new();
    (1..=2).for_each(|lease| log.grant(lease));
    log.enqueue("a", 1, Share::Exclusive);
    log.enqueue("a", 2, Share::Exclusive);
    let taken = log.take(Command::Put(Put { key: "a/1".into(), ..Put::default() }));
    assert_eq!((ended(&taken), admitted(&taken)), (vec![1], vec![]));
    let back = log.take(Command::Put(Put { key: "a/1".into(), lease: 1, ..Put::default() }));
    assert_eq!((ended(&back), admitted(&back)), (vec![], vec![1]));
}
