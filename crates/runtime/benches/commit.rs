//! Cost of saves on one disk. The benchmark compares three rates:
//!
//! - steps per second of a driver whose state changes in every step
//! - saves per second of a store without a driver
//! - flushes per second of plain files
//!
//! `cargo bench -p tenure-runtime --bench commit` prints medians over interleaved repetitions. By
//! default, the benchmark writes to the directory for temporary files, which may be in memory. An
//! argument behind `--` that contains a `/` names another directory.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, Fence, Group, ProcessId, Protocol};
use tenure_runtime::store::StateOwner;
use tenure_runtime::transport::{Listen, MeshSettings};
use tenure_runtime::{NodeComponents, PassthroughApplication, StableStorage, start_node};
use tokio::sync::mpsc;

const REPETITIONS: usize = 5;
const MEASUREMENT_TIME: Duration = Duration::from_millis(600);
const PLAIN_RECORD_BYTES: usize = 64;
const INITIAL_ENTRIES: u64 = 10_000;

/// Function that measures steps or flushes per second in the given directory.
type Measure<'a> = &'a dyn Fn(&Path) -> f64;

/// Runs the benchmark. It is visible in the crate because `benches/peers/raft` calls it.
pub(crate) fn main() {
    let named = std::env::args().skip(1).find(|word| word.contains('/'));
    let place = named.map_or_else(std::env::temp_dir, PathBuf::from);
    let directory = tempfile::tempdir_in(place).expect("a temporary directory");
    let measures: [(&str, Measure<'_>); 11] = [
        ("whole state for each step, without a driver", &whole_state_rate),
        ("driver, 1 pending request", &|path| driver::<Counting>((), path, 1)),
        ("driver, 64 pending requests", &|path| driver::<Counting>((), path, 64)),
        ("log of 10,000 by changes, 1 pending request", &|path| driver::<Log>(true, path, 1)),
        ("log of 10,000 by changes, 64 pending requests", &|path| driver::<Log>(true, path, 64)),
        ("log of 10,000 as a whole, 1 pending request", &|path| driver::<Log>(false, path, 1)),
        ("log of 10,000 as a whole, 64 pending requests", &|path| driver::<Log>(false, path, 64)),
        ("plain data flush, preallocated file", &|path| bare(path, true)),
        ("plain data flush, growing file", &|path| bare(path, false)),
        ("two preallocated files, one after the other", &sequential_files_rate),
        ("two preallocated files, concurrently", &concurrent_files_rate),
    ];
    let mut rates = vec![Vec::new(); measures.len()];
    for repetition in 0..REPETITIONS {
        for (place, (_, measure)) in measures.iter().enumerate() {
            rates[place].push(measure(&directory.path().join(format!("{repetition}-{place}"))));
        }
    }
    for ((name, _), mut rates) in measures.into_iter().zip(rates) {
        rates.sort_unstable_by(f64::total_cmp);
        println!("{name:<48}{:>12.0} a second", rates[rates.len() / 2]);
    }
}

/// Protocol that counts its commands and saves the count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counting(u64);

impl Protocol for Counting {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = u64;

    fn boot(_: Group, (): &(), stable: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        Counting(stable.unwrap_or_default())
    }

    fn stable(&self) -> u64 {
        self.0
    }

    fn on_command(&mut self, _: Command, fx: &mut impl Effects<Self>) {
        self.0 += 1;
        fx.emit(Event::Entered { fence: Fence(0, self.0) });
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

/// Protocol that appends an entry to its log for each command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Log {
    entries: Vec<u64>,
    by_changes: bool,
}

/// Entries of a log from position `from` on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Entries {
    from: u64,
    entries: Vec<u64>,
}

impl Protocol for Log {
    type Config = bool;
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = ();
    type Stable = Entries;

    fn boot(_: Group, by: &bool, saved: Option<Entries>, _: &mut impl Effects<Self>) -> Self {
        let entries = saved.map_or_else(|| (0..INITIAL_ENTRIES).collect(), |saved| saved.entries);
        Log { entries, by_changes: *by }
    }

    fn stable(&self) -> Entries {
        Entries { from: 0, entries: self.entries.clone() }
    }

    fn unsaved_change(&self, saved: &Entries) -> Option<Entries> {
        if !self.by_changes {
            let stable = self.stable();
            return (stable != *saved).then_some(stable);
        }
        let entries = &self.entries[saved.entries.len()..];
        let change = Entries { from: saved.entries.len() as u64, entries: entries.to_vec() };
        (!entries.is_empty()).then_some(change)
    }

    fn apply_change(saved: &mut Entries, change: Entries) {
        saved.entries.truncate(usize::try_from(change.from).unwrap_or(usize::MAX));
        saved.entries.extend(change.entries);
    }

    fn on_command(&mut self, _: Command, fx: &mut impl Effects<Self>) {
        self.entries.push(7);
        fx.emit(Event::Entered { fence: Fence(0, self.entries.len() as u64) });
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}
}

/// Returns the number of steps per second of a driver. The driver saves the state after each step,
/// and then emits the event of the step. The user keeps `waiting` requests pending.
fn driver<P>(config: P::Config, directory: &Path, waiting: u64) -> f64
where
    P: Protocol<Command = Command, Event = Event>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addresses = vec![listener.local_addr().expect("an address").to_string()];
    let me = ProcessId(0);
    let owner = StateOwner { cluster: "commit".into(), process: me, group_size: 1 };
    let (local, mut events) = PassthroughApplication::<P>::new();
    let (commands, receiver) = mpsc::unbounded_channel();
    runtime.block_on(async {
        start_node::<P, PassthroughApplication<P>>(NodeComponents::new(
            config,
            MeshSettings::on_loopback("commit", me, 1, addresses, Listen::Listener(listener)),
            StableStorage::open(directory, &owner, "commit").expect("a store"),
            local,
            receiver,
        ))
        .expect("a node");
        let send = || commands.send(Command::Enter).expect("a running node");
        (0..waiting).for_each(|_| send());
        // The first save creates the file.
        for _ in 0..2 * waiting {
            events.recv().await.expect("a running node");
            send();
        }
        let (started, mut steps) = (Instant::now(), 0_u32);
        while started.elapsed() < MEASUREMENT_TIME {
            events.recv().await.expect("a running node");
            send();
            steps += 1;
        }
        f64::from(steps) / started.elapsed().as_secs_f64()
    })
}

/// Returns the number of saves per second of a store that saves its whole state, without a driver.
/// A driver that saves after each step cannot be faster.
fn whole_state_rate(path: &Path) -> f64 {
    let owner = StateOwner { cluster: "commit".into(), process: ProcessId(0), group_size: 1 };
    let mut store = StableStorage::open(path, &owner, "commit").expect("a store");
    let mut count = 0_u64;
    rate(|| {
        count += 1;
        store.save(&count.to_le_bytes()).expect("room on the disk");
    })
}

fn file(path: &Path, is_filled: bool) -> File {
    let mut file = File::create(path).expect("a file");
    if is_filled {
        file.write_all(&vec![0; 4 << 20]).expect("room on the disk");
        file.seek(SeekFrom::Start(0)).expect("its beginning");
    }
    file.sync_all().expect("a disk");
    file
}

fn write(mut file: &File) {
    file.write_all(&[7; PLAIN_RECORD_BYTES]).expect("room on the disk");
    file.sync_data().expect("a disk");
}

/// Writes records to a plain file and flushes each of them separately. Returns the number of
/// records per second.
fn bare(path: &Path, is_filled: bool) -> f64 {
    let file = file(path, is_filled);
    rate(|| write(&file))
}

/// Measures a leader that first saves a record and then sends the record to a follower. The two
/// disks write the record one after the other. Returns the number of records per second.
fn sequential_files_rate(path: &Path) -> f64 {
    let files = [path.with_extension("1"), path.with_extension("2")].map(|path| file(&path, true));
    rate(|| files.iter().for_each(write))
}

/// Measures a leader that sends a record to a follower before the record is on the leader's disk.
/// The two disks write the record at the same time. Returns the number of records per second.
fn concurrent_files_rate(path: &Path) -> f64 {
    let files = [path.with_extension("1"), path.with_extension("2")].map(|path| file(&path, true));
    rate(|| {
        std::thread::scope(|scope| {
            scope.spawn(|| write(&files[0]));
            write(&files[1]);
        });
    })
}

fn rate(mut once: impl FnMut()) -> f64 {
    let (started, mut times) = (Instant::now(), 0_u32);
    while started.elapsed() < MEASUREMENT_TIME {
        once();
        times += 1;
    }
    f64::from(times) / started.elapsed().as_secs_f64()
}
