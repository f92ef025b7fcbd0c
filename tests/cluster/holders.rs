//! Whoever is inside and cut off: nodes on hosts of their own, and how soon a holder that nobody
//! answers lets go of the lock.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tenure_daemon::resource::Server;
use tenure_trace::now;

use crate::hosted::{CUTS, Cluster, Cut, SIZE};
use crate::hosts::Hosts;
use crate::waiting::{eventually, place};

/// By this a test that is started by another knows that it is a server, and where to say its
/// address.
const PLACE: &str = "TENURE_TEST_COUNTER";

/// The lease of an entry, as nodes are configured: nine times 40 ms.
const ENTRY: Duration = Duration::from_millis(360);

/// The lease of a leader, as nodes are configured.
const OFFICE: Duration = Duration::from_millis(320);

/// How much later than a time is over somebody may be seen to have let go: the cut is made, and
/// the time is noticed, by processes that share two cores with others.
const LATE: Duration = Duration::from_millis(60);

/// A counter at a host. Dropping it ends it.
struct Counter(Child);

impl Counter {
    /// Starts one, and says where it listens.
    fn start(hosts: &Hosts, host: u32, place: PathBuf) -> (Counter, String) {
        let [program, within @ ..] = &hosts.at(host)[..] else { unreachable!("a command") };
        let child = Command::new(program)
            .args(within)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "holders::in_a_process", "--ignored"])
            .env(PLACE, &place)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        (Counter(child), eventually("a counter", || fs::read_to_string(&place).ok()))
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "a counter for other tests, which start it"]
fn in_a_process() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(SIZE, None).await.unwrap();
        let half = place.with_extension("half");
        fs::write(&half, server.address().to_string()).unwrap();
        fs::rename(half, place).unwrap();
        // Until the other test is gone.
        let read = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = tokio::task::spawn_blocking(read).await;
    });
}

/// How many want to enter: so few that whoever leads is often none of them.
const USERS: u32 = 2;

/// Some want to enter, and nobody leaves of itself.
struct Queue {
    cluster: Cluster,
    /// At each of their hosts its own, as no other can be reached in a cut.
    _counters: Vec<Counter>,
    _places: TempDir,
}

/// Who let go, when, and when the next was let in, since the cut was made.
struct Change {
    led: bool,
    claimed: Duration,
    vacant: Duration,
}

impl Queue {
    /// Nothing where there can be no hosts.
    fn new() -> Option<Queue> {
        let (hosts, places) = (Hosts::new(SIZE)?, tempfile::tempdir().unwrap());
        let place = |host: u32| places.path().join(host.to_string());
        let counters = (1..=USERS).map(|host| Counter::start(&hosts, host, place(host)));
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

    /// When a node entered and left, in turns, by its trace.
    fn turns(&self, host: u32) -> Vec<u64> {
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

    /// Whether a node is inside, by its trace.
    fn is_inside(&self, host: u32) -> bool {
        self.turns(host).len() % 2 == 1
    }

    /// Cuts whoever is inside off.
    fn cut_the_holder_off(&self, cut: Cut) -> Change {
        let cluster = &self.cluster;
        let leader = cluster.agreed(&cluster.all());
        eventually("trust in everybody", || {
            cluster.hosts.all().all(|it| cluster.suspected(it).is_empty()).then_some(())
        });
        let holder = eventually("somebody inside", || {
            cluster.hosts.all().find(|host| self.is_inside(*host))
        });
        cluster.cut_off(holder, cut);
        let begun = now();
        let since = |time: u64| Duration::from_nanos(time.saturating_sub(begun));
        eventually("the end of an entry", || (!self.is_inside(holder)).then_some(()));
        let claimed = since(*self.turns(holder).last().unwrap());
        let vacant = eventually("another inside", || {
            let heir = cluster.hosts.all().find(|host| *host != holder && self.is_inside(*host))?;
            self.turns(heir).last().copied().map(since)
        });
        cluster.mend(holder, cut);
        let led = leader == holder;
        eprintln!("{cut:?}: inside for {claimed:?}, leader: {led}, another after {vacant:?}");
        Change { led, claimed, vacant }
    }
}

#[test]
fn who_is_inside_and_cut_off_lets_go_and_another_is_let_in() {
    let _place = place();
    let Some(queue) = Queue::new() else { return Hosts::say_skipped() };
    for cut in CUTS {
        queue.cut_the_holder_off(cut);
    }
}

/// Whoever leads answers itself until its office is over, so that it may be inside for both times.
#[test]
#[ignore = "needs a quiet machine, and a minute"]
fn twenty_holders_that_are_cut_off_let_go_within_their_lease() {
    let _place = place();
    let Some(queue) = Queue::new() else { return Hosts::say_skipped() };
    for cut in CUTS.into_iter().cycle().take(20) {
        let Change { led, claimed, vacant } = queue.cut_the_holder_off(cut);
        let stated = ENTRY + if led { OFFICE } else { Duration::ZERO };
        assert!(claimed < stated + LATE, "{cut:?}: inside for {claimed:?}, leader: {led}");
        assert!(claimed < vacant, "{cut:?}: two inside");
    }
    assert_ne!(queue.cluster.verdict("mutual-exclusion"), "violated");
}
