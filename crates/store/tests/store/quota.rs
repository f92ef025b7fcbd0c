//! Size of a store, and rejection of commands at its quota.

use tenure_store::{
    AcquireLock, Alarm, AlarmChange, Command, CommandResult, Delete, Error, KeySpan, LockMode,
    MAX_NAME_SLASHES, Put, Txn, TxnOperation,
};

use crate::log::Log;

impl Log {
    fn result(&mut self, command: Command) -> Result<CommandResult, Error> {
        self.apply(command).result
    }

    fn alarm(&mut self, member: u64, activates: bool) -> bool {
        let change = AlarmChange { member, alarm: Alarm::NoSpace, activates };
        let result = self.result(Command::Alarm(change)).expect("alarms are accepted");
        result == CommandResult::Alarm { has_changed: true }
    }
}

fn put(key: &str, value: &str, lease: u64) -> Command {
    Command::Put(Put { key: key.into(), value: value.into(), lease, ..Put::default() })
}

fn delete(span: KeySpan) -> Command {
    Command::Delete(Delete { span, ..Delete::default() })
}

fn enqueue(lease: u64) -> Command {
    let (name, value) = ("lock".into(), "".into());
    Command::AcquireLock(AcquireLock { name, lease, mode: LockMode::Exclusive, value })
}

fn txn(success: Vec<TxnOperation>, failure: Vec<TxnOperation>) -> Command {
    Command::Txn(Txn { success, failure, ..Txn::default() })
}

/// Puts the claim of the lease 1 with this key.
fn claim(key: &str) -> TxnOperation {
    TxnOperation::Put(Put { key: key.into(), lease: 1, ..Put::default() })
}

fn put_operation() -> TxnOperation {
    TxnOperation::Put(Put { key: "a".into(), ..Put::default() })
}

#[test]
fn full_store_rejects_additions_and_accepts_removals() {
    let mut log = Log::new();
    for command in [Command::Grant { lease: 1, ttl: 60 }, put("a", "1", 1), put("b", "1", 0)] {
        log.result(command).expect("the store is not full");
    }
    log.result(enqueue(1)).expect("the store is not full");
    assert!(log.alarm(7, true));
    assert!(!log.alarm(7, true), "the alarm is active already");
    let nested = TxnOperation::Txn(Txn { failure: vec![put_operation()], ..Txn::default() });
    for adds in [
        put("a", "", 0),
        Command::Grant { lease: 2, ttl: 60 },
        enqueue(1),
        txn(vec![], vec![put_operation()]),
        txn(vec![nested], vec![]),
    ] {
        let before = log.store.clone();
        let outcome = log.apply(adds.clone());
        assert_eq!((outcome.result, outcome.events.len()), (Err(Error::NoSpace), 0), "{adds:?}");
        assert_eq!(log.store.revision(), before.revision());
    }
    let remove = TxnOperation::Delete(Delete { span: KeySpan::single("b"), ..Delete::default() });
    for removes in [
        txn(vec![remove], vec![]),
        Command::Compact { revision: 2 },
        delete(KeySpan::single("lock/1")),
        Command::Revoke { lease: 1 },
    ] {
        assert_eq!(log.result(removes.clone()).err(), None, "{removes:?}");
    }
    assert_eq!((log.store.len(), log.store.quota_usage()), (0, 0));
    // The alarm stays active until an operator clears it, even if the store becomes smaller.
    assert_eq!(log.result(put("a", "", 0)), Err(Error::NoSpace));
    assert!(!log.alarm(8, false), "the alarm of another member");
    assert!(log.alarm(7, false));
    assert_eq!(log.result(put("a", "", 0)).err(), None);
}

#[test]
fn each_member_has_its_own_alarm() {
    let mut log = Log::new();
    assert!(log.alarm(2, true) && log.alarm(1, true));
    let listed: Vec<_> = log.store.alarms().collect();
    assert_eq!(listed, [(1, Alarm::NoSpace), (2, Alarm::NoSpace)]);
    assert!(log.alarm(1, false));
    assert_eq!(log.result(put("a", "", 0)), Err(Error::NoSpace));
    assert!(log.alarm(2, false));
    assert!(!log.store.has_nospace_alarm());
}

#[test]
fn added_bytes_bound_the_growth_of_the_store() {
    let mut log = Log::new();
    let long = "x".repeat(1000);
    for command in [
        Command::Grant { lease: 1, ttl: 60 },
        put("a", "", 0),
        put("a", &long, 1),
        put("a", "", 0),
        enqueue(1),
        enqueue(1),
        put("lock/1", "", 0),
        put("lock/1", "", 1),
        put("other/1", "", 1),
        put("other/nested/key/1", "", 1),
        txn(vec![claim("a/b/1"), claim("a/1")], vec![]),
        txn(vec![put_operation()], vec![put_operation(), put_operation()]),
        delete(KeySpan::all()),
        Command::Revoke { lease: 1 },
    ] {
        let before = log.store.quota_usage();
        log.apply(command.clone());
        let size = log.store.quota_usage();
        assert!(
            size <= before + command.estimated_growth(),
            "{command:?}: from {before} to {size}"
        );
    }
    assert_eq!(log.store.quota_usage(), 0);
}

/// A key is in the queue of each claimed name before one of its slashes.
#[test]
fn nested_claims_add_few_queue_entries_each() {
    const KEYS: usize = 2000;
    let mut log = Log::new();
    log.result(Command::Grant { lease: 1, ttl: 60 }).expect("a lease");
    for slashes in 1..=KEYS {
        log.result(put(&format!("{}1", "/".repeat(slashes)), "", 1)).expect("a put");
    }
    let entries: usize = log.store.queues().map(|(_, queue)| queue.len()).sum();
    assert!((KEYS..=KEYS * (MAX_NAME_SLASHES + 1)).contains(&entries), "{entries}");
    assert_eq!(log.store.queues().count(), MAX_NAME_SLASHES + 1);
    // A map takes about 75 bytes for an entry.
    assert!(log.store.quota_usage() > entries * 75);
    for (slashes, result) in [(MAX_NAME_SLASHES, None), (MAX_NAME_SLASHES + 1, Some(()))] {
        let (name, value) = ("/".repeat(slashes).as_str().into(), "".into());
        let enqueue = AcquireLock { name, lease: 1, mode: LockMode::Shared, value };
        let error = log.result(Command::AcquireLock(enqueue)).err();
        assert_eq!(error, result.map(|()| Error::NameTooDeep), "{slashes}");
    }
}

/// The first claim on a name adds all keys below the name to a queue.
#[test]
fn command_adds_bounded_number_of_keys_to_queues() {
    const MAX_ADOPTED_KEYS: usize = 1 << 20;
    let mut log = Log::new();
    log.result(Command::Grant { lease: 1, ttl: 60 }).expect("a lease");
    let deepest = "/a".repeat(MAX_NAME_SLASHES);
    let keys = MAX_ADOPTED_KEYS / (MAX_NAME_SLASHES + 1) + 1;
    for number in 0..keys {
        log.result(put(&format!("{deepest}/{number}"), "", 0)).expect("a put");
    }
    let name = |slashes: usize| "/a".repeat(slashes);
    let claims = |count| (0..count).map(|slashes| claim(&format!("{}/1", name(slashes)))).collect();
    let before = (log.store.revision(), log.store.len());
    let rejected = log.result(txn(claims(MAX_NAME_SLASHES + 1), vec![]));
    assert_eq!(rejected.err(), Some(Error::QueuesTooLong));
    assert_eq!((log.store.revision(), log.store.len()), before);
    assert_eq!(log.store.queues().count(), 0);
    // A command for each name adds less, and further claims on these names add nothing.
    for slashes in 0..=MAX_NAME_SLASHES {
        log.result(put(&format!("{}/1", name(slashes)), "", 1)).expect("a claim");
    }
    log.result(txn(claims(MAX_NAME_SLASHES + 1), vec![])).expect("further claims");
}

#[test]
#[cfg(feature = "snapshot")]
fn snapshot_keeps_alarms_and_new_cluster_clears_them() {
    let mut log = Log::new();
    log.result(put("a", "1", 0)).expect("the store is not full");
    log.alarm(7, true);
    let read =
        tenure_store::Store::decode_snapshot(&log.store.snapshot().encode()).expect("a snapshot");
    assert_eq!((read.has_nospace_alarm(), read.quota_usage()), (true, log.store.quota_usage()));
    assert_eq!(read, log.store);
    assert!(!read.into_new_cluster(10).has_nospace_alarm());
}
