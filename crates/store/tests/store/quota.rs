//! The size of a store, and what it rejects while it is full.

use tenure_store::{
    Alarm, AlarmChange, Answer, At, Command, Delete, Enqueue, Error, Operation, Outcome, Put,
    Share, Span, Store, Txn,
};

struct Log {
    store: Store,
    index: u64,
}

impl Log {
    fn new() -> Self {
        Log { store: Store::default(), index: 0 }
    }

    fn take(&mut self, command: Command) -> Outcome {
        self.index += 1;
        self.store.apply(At { index: self.index, term: 1 }, command)
    }

    fn answer(&mut self, command: Command) -> Result<Answer, Error> {
        self.take(command).answer
    }

    fn alarm(&mut self, member: u64, is_active: bool) -> bool {
        let change = AlarmChange { member, alarm: Alarm::NoSpace, is_active };
        let answer = self.answer(Command::Alarm(change)).expect("it is not rejected");
        answer == Answer::Alarm { has_changed: true }
    }
}

fn put(key: &str, value: &str, lease: u64) -> Command {
    Command::Put(Put { key: key.into(), value: value.into(), lease, ..Put::default() })
}

fn delete(span: Span) -> Command {
    Command::Delete(Delete { span, ..Delete::default() })
}

fn enqueue(lease: u64) -> Command {
    let (name, value) = ("lock".into(), "".into());
    Command::Enqueue(Enqueue { name, lease, share: Share::Exclusive, value })
}

fn txn(success: Vec<Operation>, failure: Vec<Operation>) -> Command {
    Command::Txn(Txn { success, failure, ..Txn::default() })
}

fn put_operation() -> Operation {
    Operation::Put(Put { key: "a".into(), ..Put::default() })
}

#[test]
fn full_store_rejects_what_adds_and_accepts_what_removes() {
    let mut log = Log::new();
    for command in [Command::Grant { lease: 1, ttl: 60 }, put("a", "1", 1), put("b", "1", 0)] {
        log.answer(command).expect("there is room");
    }
    log.answer(enqueue(1)).expect("there is room");
    assert!(log.alarm(7, true));
    assert!(!log.alarm(7, true), "it is active");
    let nested = Operation::Txn(Txn { failure: vec![put_operation()], ..Txn::default() });
    for adds in [
        put("a", "", 0),
        Command::Grant { lease: 2, ttl: 60 },
        enqueue(1),
        txn(vec![], vec![put_operation()]),
        txn(vec![nested], vec![]),
    ] {
        let before = log.store.clone();
        let outcome = log.take(adds.clone());
        assert_eq!((outcome.answer, outcome.events.len()), (Err(Error::NoSpace), 0), "{adds:?}");
        assert_eq!(log.store.revision(), before.revision());
    }
    let remove = Operation::Delete(Delete { span: Span::one("b"), ..Delete::default() });
    for removes in [
        txn(vec![remove], vec![]),
        Command::Compact { revision: 2 },
        delete(Span::one("lock/1")),
        Command::Revoke { lease: 1 },
    ] {
        assert_eq!(log.answer(removes.clone()).err(), None, "{removes:?}");
    }
    assert_eq!((log.store.len(), log.store.size()), (0, 0));
    // The alarm stays until it is cleared, however small the store is.
    assert_eq!(log.answer(put("a", "", 0)), Err(Error::NoSpace));
    assert!(!log.alarm(8, false), "another member's");
    assert!(log.alarm(7, false));
    assert_eq!(log.answer(put("a", "", 0)).err(), None);
}

#[test]
fn each_member_has_an_alarm_of_its_own() {
    let mut log = Log::new();
    assert!(log.alarm(2, true) && log.alarm(1, true));
    let listed: Vec<_> = log.store.alarms().collect();
    assert_eq!(listed, [(1, Alarm::NoSpace), (2, Alarm::NoSpace)]);
    assert!(log.alarm(1, false));
    assert_eq!(log.answer(put("a", "", 0)), Err(Error::NoSpace));
    assert!(log.alarm(2, false));
    assert!(!log.store.is_full());
}

#[test]
fn a_command_makes_the_store_larger_by_its_cost_at_most() {
    let mut log = Log::new();
    let long = "x".repeat(1000);
    for command in [
        Command::Grant { lease: 1, ttl: 60 },
        put("a", "", 0),
        put("a", &long, 1),
        put("a", "", 0),
        enqueue(1),
        enqueue(1),
        txn(vec![put_operation()], vec![put_operation(), put_operation()]),
        delete(Span::all()),
        Command::Revoke { lease: 1 },
    ] {
        let before = log.store.size();
        log.take(command.clone());
        let size = log.store.size();
        assert!(size <= before + command.cost(), "{command:?}: from {before} to {size}");
    }
    assert_eq!(log.store.size(), 0);
}

#[test]
#[cfg(feature = "snapshot")]
fn a_snapshot_keeps_alarms_and_a_new_cluster_has_none() {
    let mut log = Log::new();
    log.answer(put("a", "1", 0)).expect("there is room");
    log.alarm(7, true);
    let read = Store::decode(&log.store.snapshot().encode()).expect("a snapshot");
    assert_eq!((read.is_full(), read.size()), (true, log.store.size()));
    assert_eq!(read, log.store);
    assert!(!read.restored(10).is_full());
}
