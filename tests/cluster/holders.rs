//! Tests of isolated holders of a lock. They measure the time until a holder that receives no
//! responses leaves the critical section.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tenure_daemon::resource::CounterServer;
use tenure_trace::unix_time_nanos;

use crate::hosts::Hosts;
use crate::killed::Killed;
use crate::network_cluster::{CUTS, Cluster, Cut, SIZE};
use crate::waiting::{cluster_slot, eventually};

/// Environment variable that makes this test program serve a counter. The value of the variable is
/// the path of a file. The counter writes its address to this file.
const COUNTER_VARIABLE: &str = "TENURE_TEST_COUNTER";

/// Default time to live of the lease of a critical-section entry: nine times 40 ms.
const ENTRY_LEASE: Duration = Duration::from_millis(360);

/// Default time to live of the lease of a leader.
const LEADER_LEASE: Duration = Duration::from_millis(320);

/// Tolerance of measured times. A measured time may be too long, because all processes of the test
/// may share two processor cores.
const TOLERANCE: Duration = Duration::from_millis(60);

/// Starts a counter at a host, and returns its process and its address. The counter writes the
/// address to the file `place`.
fn start_counter(hosts: &Hosts, host: u32, place: PathBuf) -> (Killed, String) {
    let [program, within @ ..] = &hosts.at(host)[..] else { unreachable!("a command") };
    let child = Command::new(program)
        .args(within)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "holders::in_a_process", "--ignored"])
        .env(COUNTER_VARIABLE, &place)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (Killed(child), eventually("a counter", || fs::read_to_string(&place).ok()))
}

#[test]
#[ignore = "a counter for other tests, which start it"]
fn in_a_process() {
    let Some(place) = std::env::var_os(COUNTER_VARIABLE).map(PathBuf::from) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = CounterServer::start(SIZE, None).await.unwrap();
        let half = place.with_extension("half");
        fs::write(&half, server.address().to_string()).unwrap();
        fs::rename(half, place).unwrap();
        // Reads the standard input until the test that started this process ends.
        let read = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = tokio::task::spawn_blocking(read).await;
    });
}

/// Number of nodes that enter the critical section. It is small, so that the leader is often a node
/// that never enters.
const USERS: u32 = 2;

/// A cluster in which processes wait for a lock whose holder never exits by itself.
struct Queue {
    cluster: Cluster,
    /// Counters, one for each node that enters. Each counter runs on the host of its node, because
    /// a partitioned node reaches no other host.
    _counters: Vec<Killed>,
    _places: TempDir,
}

/// Measured times of a partition. `claimed` is the time from the start of the partition to the
/// release of the lock. `vacant` is the time from the start to the next entry. `led` is true if the
/// holder was also the leader.
struct Change {
    led: bool,
    claimed: Duration,
    vacant: Duration,
}

impl Queue {
    /// Starts the cluster. Returns `None` if network namespaces are unavailable.
    fn new() -> Option<Queue> {
        let (hosts, places) = (Hosts::new(SIZE)?, tempfile::tempdir().unwrap());
        let place = |host: u32| places.path().join(host.to_string());
        let counters = (1..=USERS).map(|host| start_counter(&hosts, host, place(host)));
        let (counters, addresses): (Vec<_>, Vec<_>) = counters.unzip();
        let sections = |host: u32| {
            let counter = addresses.get(host as usize - 1);
            counter.map_or(String::new(), |counter| {
                let work = "hold_us = 3600000000\nentries = 1000000\n";
                format!("[work]\nresource = \"{counter}\"\n{work}")
            })
        };
        let cluster = Cluster::at(hosts, "raft", sections);
        Some(Queue { cluster, _counters: counters, _places: places })
    }

    /// Returns the times at which a node entered and exited, according to its trace. The first time
    /// is an entry, the second an exit, and so on.
    fn times_of_entries_and_exits(&self, host: u32) -> Vec<u64> {
        let text = fs::read_to_string(self.cluster.nodes.trace(host)).unwrap_or_default();
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let turn = |record: Value| {
            let what = &record["data"]["Mutex"];
            let turn =
                record["kind"] == "event" && (what == "Exited" || what.get("Entered").is_some());
            turn.then(|| record["time"].as_u64().unwrap())
        };
        records.filter_map(turn).collect()
    }

    fn is_inside(&self, host: u32) -> bool {
        self.times_of_entries_and_exits(host).len() % 2 == 1
    }

    /// Isolates the holder of the lock, and waits until another node has entered. Returns the
    /// measured times.
    fn cut_the_holder_off(&self, cut: Cut) -> Change {
        let cluster = &self.cluster;
        let leader = cluster.agreed(&cluster.all());
        eventually("trust in all nodes", || {
            cluster.hosts.all().all(|it| cluster.suspected(it).is_empty()).then_some(())
        });
        let holder =
            eventually("a holder", || cluster.hosts.all().find(|host| self.is_inside(*host)));
        cluster.cut_off(holder, cut);
        let started = unix_time_nanos();
        let since = |time: u64| Duration::from_nanos(time.saturating_sub(started));
        eventually("the end of an entry", || (!self.is_inside(holder)).then_some(()));
        let claimed = since(*self.times_of_entries_and_exits(holder).last().unwrap());
        let vacant = eventually("another inside", || {
            let heir = cluster.hosts.all().find(|host| *host != holder && self.is_inside(*host))?;
            self.times_of_entries_and_exits(heir).last().copied().map(since)
        });
        cluster.mend(holder, cut);
        let led = leader == holder;
        eprintln!("{cut:?}: inside for {claimed:?}, leader: {led}, another after {vacant:?}");
        Change { led, claimed, vacant }
    }
}

#[test]
fn isolated_holder_releases_and_another_enters() {
    let _slot = cluster_slot();
    let Some(queue) = Queue::new() else { return };
    for cut in CUTS {
        // On a busy machine, the holder may not run when its lease expires. One attempt of three is
        // enough.
        let is_exclusive = (0..3).any(|_| {
            let Change { claimed, vacant, .. } = queue.cut_the_holder_off(cut);
            claimed < vacant
        });
        assert!(is_exclusive, "{cut:?}: two inside, three times");
    }
}

/// Isolates twenty holders, one after the other. Each holder must leave the critical section when
/// the lease of its entry expires. A holder that is also the leader can renew the lease of its
/// entry until its lease as leader expires. For such a holder, the limit is the sum of both
/// durations.
#[test]
#[ignore = "needs a quiet machine, and a minute"]
fn twenty_isolated_holders_release_within_their_lease() {
    let _slot = cluster_slot();
    let Some(queue) = Queue::new() else { return };
    for cut in CUTS.into_iter().cycle().take(20) {
        let Change { led, claimed, vacant } = queue.cut_the_holder_off(cut);
        let stated = ENTRY_LEASE + if led { LEADER_LEASE } else { Duration::ZERO };
        assert!(claimed < stated + TOLERANCE, "{cut:?}: inside for {claimed:?}, leader: {led}");
        assert!(claimed < vacant, "{cut:?}: two inside");
    }
    assert_eq!(queue.cluster.verdict("mutual-exclusion"), "holds");
}
