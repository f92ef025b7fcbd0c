//! Measures the memory of keys, leases, claims and watchers. Also measures the allocations of
//! commands, and the times to copy a store and to take a snapshot. The command is
//! `cargo run --release -p tenure-store --features snapshot --example footprint`.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::time::Instant;

use allocation_counter::{AllocationInfo, measure};
use tenure_store::{
    AcquireLock, Command, KeySpan, LockMode, LogPosition, Put, Store, StoreLimits, WatcherIndex,
};

/// Number of objects of each kind: keys, leases, claims and watchers.
const COUNT: u64 = 100_000;

/// Store to which commands are applied as if they were entries of a log.
struct Log {
    store: Store,
    at: LogPosition,
}

impl Log {
    fn new() -> Self {
        // The store keeps no history, so that the measurement excludes the memory of past events.
        let store =
            Store::new(StoreLimits { max_events: 0, max_revisions: 0, ..StoreLimits::default() });
        Log { store, at: LogPosition { index: 0, term: 1 } }
    }

    fn apply(&mut self, command: Command) {
        self.at.index += 1;
        let outcome = self.store.apply(self.at, command);
        assert!(outcome.result.is_ok(), "the command is valid");
    }
}

fn report(subject: &str, info: &AllocationInfo) {
    let each = |all: u64| all as f64 / COUNT as f64;
    println!(
        "{subject}: {:.0} bytes in {:.1} allocations; {:.1} allocations to make it",
        each(info.bytes_current as u64),
        each(info.count_current as u64),
        each(info.count_total),
    );
}

/// Runs `make` six times. Prints the shortest duration of the last five runs, and the memory of the
/// first result.
fn time<T>(subject: &str, mut make: impl FnMut() -> T) {
    let mut values = Vec::new();
    let info = measure(|| values.push(make()));
    let times = (0..5).map(|_| {
        let started = Instant::now();
        values.push(make());
        let took = started.elapsed();
        values.clear();
        took
    });
    let fastest = times.min().unwrap_or_default();
    let (allocations, mib) = (info.count_total, info.bytes_current as f64 / f64::from(1 << 20));
    println!("{subject}: {fastest:.1?}, {mib:.1} MiB in {allocations} allocations");
}

fn main() {
    let mut keys = Log::new();
    let info = measure(|| {
        for place in 0..COUNT {
            let key = format!("jobs/nightly/{place:06}").into_bytes().into();
            let value = b"a value of 24 bytes ok..".into();
            keys.apply(Command::Put(Put { key, value, ..Put::default() }));
        }
    });
    report("a key of 19 bytes and its value of 24", &info);
    let mut leases = Log::new();
    let grant = |lease: u64| Command::Grant { lease, ttl: 10 };
    let info = measure(|| (1..=COUNT).for_each(|lease| leases.apply(grant(lease))));
    report("a lease", &info);
    let enqueue = |lease: u64| {
        let name = format!("locks/{lease:06}").into_bytes().into();
        let value = b"".into();
        Command::AcquireLock(AcquireLock { name, lease, mode: LockMode::Exclusive, value })
    };
    let info = measure(|| (1..=COUNT).for_each(|lease| leases.apply(enqueue(lease))));
    report("a claim on a lock of its own, beside its lease", &info);
    time("  a copy of all these", || leases.store.clone());
    time("  a snapshot of all these", || leases.store.snapshot());
    let mut queue = Log::new();
    (1..=COUNT).for_each(|lease| queue.apply(grant(lease)));
    let enqueue = |lease: u64| {
        let (name, value) = (b"lock".into(), b"".into());
        Command::AcquireLock(AcquireLock { name, lease, mode: LockMode::Exclusive, value })
    };
    let info = measure(|| (1..=COUNT).for_each(|lease| queue.apply(enqueue(lease))));
    report("a claim in one queue, beside its lease", &info);
    let mut watchers = WatcherIndex::new();
    let info = measure(|| {
        for watcher in 1..=COUNT {
            watchers.insert(
                &KeySpan::single(format!("jobs/nightly/{watcher:06}").into_bytes()),
                watcher,
            );
        }
    });
    report("a watcher of a key of its own", &info);
    let mut watchers = WatcherIndex::new();
    let info = measure(|| {
        (1..=COUNT).for_each(|watcher| watchers.insert(&KeySpan::prefix("jobs/"), watcher))
    });
    report("a watcher of a prefix that all watch", &info);
}
