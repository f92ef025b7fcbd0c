//! Many locks that are distinguished by their names.

use tenure_algorithms::compose::keyed::{LockName, LockNameError};
use tenure_algorithms::compose::{CoordinatedLock, Keyed};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Central, central};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::service::{election, mutex_and_election};
use tenure_core::{ChannelOrder, PeerVerdict, ProcessId, TICKS_PER_TIME_UNIT, Tagged};

use crate::support::{command_and_drain, command_and_settle, events, p, restart};
use tenure_trace::TestCluster;

type Locks = Keyed<LockName, Central>;

fn cluster(coordinator: ProcessId) -> TestCluster<Locks> {
    let config = central::Config { coordinator, ..central::Config::default() };
    TestCluster::with_same_config(3, ChannelOrder::Reordered, config)
}

fn ask(cluster: &mut TestCluster<Locks>, at: u32, key: &str, command: Command) {
    command_and_drain(cluster, at, Tagged { key: LockName::new(key).unwrap(), inner: command });
}

fn entered(cluster: &mut TestCluster<Locks>) -> Vec<(u32, String)> {
    let entry = |(at, event): (u32, Tagged<LockName, Event>)| match event {
        Tagged { key, inner: Event::Entered { .. } } => Some((at, key.into())),
        Tagged { inner: Event::Exited, .. } => None,
    };
    events(cluster).into_iter().filter_map(entry).collect()
}

#[test]
fn locks_are_independent() {
    let mut cluster = cluster(p(1));
    for (at, key) in [(1, "büro"), (2, "办公室"), (3, "🔒")] {
        ask(&mut cluster, at, key, Command::Enter);
        assert_eq!(entered(&mut cluster), [(at, key.to_string())]);
    }
    ask(&mut cluster, 2, "büro", Command::Enter);
    assert!(entered(&mut cluster).is_empty());
    ask(&mut cluster, 1, "büro", Command::Exit);
    assert_eq!(entered(&mut cluster), [(2, "büro".to_string())]);
}

/// Both names show é: one as a single character, the other as an e with a combining accent.
#[test]
fn distinguishes_names_that_look_alike() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    let mut cluster = cluster(p(1));
    for (at, key) in [(2, composed), (3, decomposed), (1, "CAF\u{c9}")] {
        ask(&mut cluster, at, key, Command::Enter);
        assert_eq!(entered(&mut cluster), [(at, key.to_string())]);
    }
    ask(&mut cluster, 3, composed, Command::Enter);
    assert!(entered(&mut cluster).is_empty());
}

#[test]
fn rejects_empty_and_oversized_names() {
    let empty = LockName::new("").unwrap_err();
    assert_eq!(empty, LockNameError::Empty);
    assert_eq!(empty.to_string(), "the lock name is empty: expected 1 to 255 bytes");
    // The limit is 255 bytes: 85 characters of three bytes each.
    let longest = "办".repeat(85);
    assert_eq!(LockName::new(&longest).unwrap().as_str(), longest);
    assert_eq!(format!("{:?}", LockName::new("büro").unwrap()), "\"büro\"");
    let long = LockName::new(&(longest + "!")).unwrap_err();
    assert_eq!(long, LockNameError::TooLong { bytes: 256 });
    assert_eq!(long.to_string(), "the lock name has 256 bytes: expected at most 255");
}

#[test]
fn opposite_order_deadlocks() {
    let mut cluster = cluster(p(3));
    ask(&mut cluster, 1, "a", Command::Enter);
    ask(&mut cluster, 2, "b", Command::Enter);
    assert_eq!(entered(&mut cluster).len(), 2);
    ask(&mut cluster, 1, "b", Command::Enter);
    ask(&mut cluster, 2, "a", Command::Enter);
    assert_eq!((entered(&mut cluster), cluster.links_in_use()), (vec![], vec![]));
}

#[test]
fn persisted_state_survives_crash_by_name() {
    let config = bully::Config::with_defaults(2, TICKS_PER_TIME_UNIT).into();
    let mut cluster = TestCluster::<Keyed<u8, CoordinatedLock<Bully>>>::with_same_config(
        2,
        ChannelOrder::Fifo,
        config,
    );
    for key in [7, 9] {
        let inner = mutex_and_election::Command::Election(election::Command::Elect);
        cluster.issue_command(p(2), Tagged { key, inner });
    }
    cluster.run_until_quiescent();
    restart(&mut cluster, 2);
    cluster.run_until_quiescent();
    let events = format!("{:?}", cluster.take_events());
    for key in [7, 9] {
        let again = format!(
            "Tagged {{ key: {key}, inner: Election(Elected {{ leader: P2, \
                             term: Term {{ number: 2, leader: P2 }} }}) }}"
        );
        assert!(events.contains(&again), "{events}");
    }
}

#[test]
fn new_lock_is_informed_of_suspicions() {
    let config = bully::Config::with_defaults(3, TICKS_PER_TIME_UNIT).into();
    let mut cluster = TestCluster::<Keyed<u8, CoordinatedLock<Bully>>>::with_same_config(
        3,
        ChannelOrder::Fifo,
        config,
    );
    cluster.crash(p(1));
    cluster.report_suspicion(p(3), p(1), PeerVerdict::Suspect);
    let inner = mutex_and_election::Command::Mutex(Command::Enter);
    command_and_settle(&mut cluster, 3, Tagged { key: 7, inner });
    let events = format!("{:?}", cluster.take_events());
    assert!(events.contains("Entered"), "P3 leads and waits only for P2's report: {events}");
}
