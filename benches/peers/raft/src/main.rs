//! `raft-log` compared with `raft` 0.7, the library of TiKV.
//!
//! `cargo run --release` in this directory prints the entries per second that three nodes commit.
//! Both libraries run under Tenure's driver, on the same disk, one after the other. They write to
//! the default folder for temporary files, or to the folder in an argument. The default folder may
//! be in memory, so pass a folder on a disk. To measure the costs without a disk, pass `/dev/shm`.
//! The printed table has a column for each library. Its column *ahead* is `raft-log` as
//! `tenure serve` runs it: a leader sends entries while it stores them. The last two columns divide
//! *ahead* by `raft`, and by a loop that only flushes records.
//!
//! `cargo run --release -- steps` prints the steps per second of both libraries in a bare loop. It
//! also prints those of `raft-log` in the simulator with all monitors.
//!
//! `cargo run --release -- driver` runs the benchmark `commit` of `tenure-runtime`, which measures
//! the cost of saves in the driver alone.
//!
//! `cargo run --release -- differ` runs both libraries through the same random schedules, and
//! compares the entries that they commit. `-- differ --seed 7` prints the schedule of one seed step
//! by step.

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
use tenure_algorithms::agreement::RaftReplica;
use tenure_algorithms::agreement::raft_log::{self, VariantId};
use tenure_core::Delay;

use peer::Peer;

const REPETITIONS: usize = 5;

/// Numbers of pending proposals, one for each row of the table.
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
    println!("entries of {} bytes, {} nodes; medians\n", cluster::PAYLOAD_BYTES, cluster::SIZE);
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
            rates[row][0].push(bare::flush_rate(&folder("bare")));
            rates[row][1].push(cluster::commit_rate::<Peer>(&theirs(), &folder("theirs"), waiting));
            rates[row][2].push(cluster::commit_rate::<RaftReplica>(
                &ours(),
                &folder("ours"),
                waiting,
            ));
            rates[row][3].push(cluster::commit_rate::<RaftReplica>(
                &ahead(),
                &folder("ahead"),
                waiting,
            ));
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

/// Returns a configuration of `raft-log` with long timeouts, so that a busy disk rarely causes an
/// election.
fn ours() -> raft_log::Config {
    let milliseconds = |min, max| Delay { min: min * MILLISECOND, max: max * MILLISECOND };
    raft_log::Config {
        election_timeout: milliseconds(1200, 2400),
        heartbeat_interval: milliseconds(200, 200),
        ..raft_log::Config::with_defaults(cluster::SIZE, 1)
    }
}

/// Returns the configuration of [`ours`] with three of the variants that `tenure serve` uses: the
/// leader stores entries while it sends them, batches proposals, and announces commits at once.
fn ahead() -> raft_log::Config {
    let variants = Variants::none()
        .with(VariantId::Ahead)
        .with(VariantId::Together)
        .with(VariantId::Announcing);
    raft_log::Config { variants, ..ours() }
}

/// Returns equivalent timeouts for the other library: an election after 6 to 12 ticks, and a
/// heartbeat at each tick.
fn theirs() -> peer::Config {
    let tick = Some(Delay { min: 200 * MILLISECOND, max: 200 * MILLISECOND });
    peer::Config { tick, pre_vote: true }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_unstable_by(f64::total_cmp);
    rates[rates.len() / 2]
}
