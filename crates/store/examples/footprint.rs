//! What a key, a lease, a claim and a watcher hold in memory, what a command allocates, and how
//! long it takes to copy a store and to take a snapshot of it:
//! `cargo run --release -p tenure-store --features snapshot --example footprint`.
#![allow(clippy::print_stdout, reason = "an example is here to print")]

use std::time::Instant;

use allocation_counter::{AllocationInfo, measure};
use tenure_store::{At, Command, Enqueue, Limits, Put, Share, Span, Store, Watchers};

/// How many of each.
const MANY: u64 = 100_000;

/// A log that only has what is asked here.
struct Log {
    store: Store,
    at: At,
}

impl Log {
    fn new() -> Self {
        // What the history keeps of a change is held for a while only, and is told apart.
        let store = Store::new(Limits { events: 0, revisions: 0, ..Limits::default() });
        Log { store, at: At { index: 0, term: 1 } }
    }

    fn take(&mut self, command: Command) {
        self.at.index += 1;
        let outcome = self.store.apply(self.at, command);
        assert!(outcome.answer.is_ok(), "nothing speaks against it");
    }
}

fn tell(what: &str, info: &AllocationInfo) {
    let each = |all: u64| all as f64 / MANY as f64;
    println!(
        "{what}: {:.0} bytes in {:.1} allocations; {:.1} allocations to make it",
        each(info.bytes_current as u64),
        each(info.count_current as u64),
        each(info.count_total),
    );
}

/// How long something takes, the fastest of five times, and what it holds then.
fn time<T>(what: &str, mut make: impl FnMut() -> T) {
    let mut made = Vec::new();
    let info = measure(|| made.push(make()));
    let times = (0..5).map(|_| {
        let begun = Instant::now();
        made.push(make());
        let took = begun.elapsed();
        made.clear();
        took
    });
    let fastest = times.min().unwrap_or_default();
    let (allocations, mib) = (info.count_total, info.bytes_current as f64 / f64::from(1 << 20));
    println!("{what}: {fastest:.1?}, {mib:.1} MiB in {allocations} allocations");
}

fn main() {
    let mut keys = Log::new();
    let info = measure(|| {
        for place in 0..MANY {
            let key = format!("jobs/nightly/{place:06}").into_bytes().into();
            let value = b"a value of 24 bytes ok..".into();
            keys.take(Command::Put(Put { key, value, ..Put::default() }));
        }
    });
    tell("a key of 19 bytes and its value of 24", &info);
    let mut leases = Log::new();
    let grant = |lease: u64| Command::Grant { lease, ttl: 10 };
    let info = measure(|| (1..=MANY).for_each(|lease| leases.take(grant(lease))));
    tell("a lease", &info);
    let enqueue = |lease: u64| {
        let name = format!("locks/{lease:06}").into_bytes().into();
        Command::Enqueue(Enqueue { name, lease, share: Share::Exclusive, value: b"".into() })
    };
    let info = measure(|| (1..=MANY).for_each(|lease| leases.take(enqueue(lease))));
    tell("a claim on a lock of its own, beside its lease", &info);
    time("  a copy of all these", || leases.store.clone());
    time("  a snapshot of all these", || leases.store.snapshot());
    let mut queue = Log::new();
    (1..=MANY).for_each(|lease| queue.take(grant(lease)));
    let enqueue = |lease: u64| {
        let (name, value) = (b"lock".into(), b"".into());
        Command::Enqueue(Enqueue { name, lease, share: Share::Exclusive, value })
    };
    let info = measure(|| (1..=MANY).for_each(|lease| queue.take(enqueue(lease))));
    tell("a claim in one queue, beside its lease", &info);
    let mut watchers = Watchers::new();
    let info = measure(|| {
        for who in 1..=MANY {
            watchers.insert(&Span::one(format!("jobs/nightly/{who:06}").into_bytes()), who);
        }
    });
    tell("a watcher of a key of its own", &info);
    let mut watchers = Watchers::new();
    let info = measure(|| (1..=MANY).for_each(|who| watchers.insert(&Span::prefix("jobs/"), who)));
    tell("a watcher of a prefix that all watch", &info);
}
