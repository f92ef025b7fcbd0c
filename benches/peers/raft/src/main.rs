//! `raft-log` beside `raft` 0.7, the library below TiKV.
//!
//! `cargo run --release` in this directory prints how many entries a second three nodes commit,
//! both under the driver of this house, on one disk, in one run, in turns; a folder behind it is
//! used instead of that of temporary files, which may be in memory. What no disk slows down is
//! measured in `/dev/shm`. *Ahead* is `raft-log` as `tenure serve` runs it: a leader sends entries
//! while it stores them. What is behind the rates is of that one.
//!
//! `cargo run --release -- steps` prints how many steps a second both take in a bare loop, and ours
//! in the simulator with all its judges.
//!
//! `cargo run --release -- driver` prints what saving costs the driver alone: the bench `commit` of
//! `tenure-runtime`.
//!
//! `cargo run --release -- differ` leads both through the same seeded schedules and compares what
//! they commit; `-- differ --seed 7` is one of them, told step by step.

mod bare;
mod cluster;
#[path = "../../../../crates/runtime/benches/commit.rs"]
mod commit;
mod differ;
mod message;
mod peer;
mod saved;
mod steps;

use std::path::{Path, PathBuf};

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::RaftLog;
use tenure_algorithms::agreement::raft_log::{self, Switch};
use tenure_core::Delay;

use peer::Peer;

/// How often each measurement is repeated.
const REPETITIONS: usize = 5;

/// The proposers of the table's rows.
const WAITING: [u64; 2] = [1, 64];

const MILLISECOND: u64 = 1_000_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("differ") => return differ::main(&words[1..]),
        Some("steps") => return steps::main(),
        Some("driver") => return commit::main(),
        _ => {}
    }
    let place = words.first().map_or_else(std::env::temp_dir, PathBuf::from);
    println!("entries of {} bytes, {} nodes; medians\n", cluster::PAYLOAD, cluster::SIZE);
    println!(
        "{:<34}{:>12}{:>12}{:>12}{:>12}{:>14}{:>12}",
        "", "bare flush/s", "raft 0.7/s", "raft-log/s", "ahead/s", "of raft 0.7", "of the bare"
    );
    table("on a disk", &place);
    table("in memory", Path::new("/dev/shm"));
}

fn table(name: &str, place: &Path) {
    let directory = tempfile::tempdir_in(place).expect("a temporary directory");
    let mut rates = vec![[const { Vec::new() }; 4]; WAITING.len()];
    for repetition in 0..REPETITIONS {
        for (row, waiting) in WAITING.into_iter().enumerate() {
            let folder =
                |name: &str| directory.path().join(format!("{repetition}-{waiting}-{name}"));
            rates[row][0].push(bare::flushes(&folder("bare")));
            rates[row][1].push(cluster::commits::<Peer>(&theirs(), &folder("theirs"), waiting));
            rates[row][2].push(cluster::commits::<RaftLog>(&ours(), &folder("ours"), waiting));
            rates[row][3].push(cluster::commits::<RaftLog>(&ahead(), &folder("ahead"), waiting));
        }
    }
    for (waiting, rates) in WAITING.into_iter().zip(rates) {
        let [bare, theirs, ours, ahead] = rates.map(median);
        let row = format!("{name}, {waiting} proposed at a time");
        let (part, times) = (ahead / theirs, ahead / bare);
        print!("{row:<34}{bare:>12.0}{theirs:>12.0}{ours:>12.0}{ahead:>12.0}");
        println!("{part:>13.2}×{times:>11.2}×");
    }
}

/// Timeouts that a busy disk hardly comes near.
fn ours() -> raft_log::Config {
    let milliseconds = |min, max| Delay { min: min * MILLISECOND, max: max * MILLISECOND };
    raft_log::Config {
        election: milliseconds(1200, 2400),
        heartbeat: milliseconds(200, 200),
        ..raft_log::Config::plain(cluster::SIZE, 1)
    }
}

/// The same, with a leader whose disk works at the same time as those of the others, and that sends
/// together what was proposed at the same time.
fn ahead() -> raft_log::Config {
    let variants =
        Variants::none().with(Switch::Ahead).with(Switch::Together).with(Switch::Announcing);
    raft_log::Config { variants, ..ours() }
}

/// The same: an election after 6 to 12 ticks, a heartbeat at each.
fn theirs() -> peer::Config {
    let tick = Some(Delay { min: 200 * MILLISECOND, max: 200 * MILLISECOND });
    peer::Config { tick, pre_vote: true }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}
