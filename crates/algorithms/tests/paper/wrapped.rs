//! Tests of protocols that wrap another protocol. If the inner protocol may defer a save, the
//! wrapper can defer this save as well.

use tenure_algorithms::agreement::{RaftReplica, raft_log};
use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::compose::{WithDetector, with_detector};
use tenure_algorithms::detector::{AdaptiveTimeoutDetector, heartbeat};
use tenure_core::service::log::{Command, Payload};
use tenure_core::{
    ConstantEnvironment, Delay, Group, Input, Node, ProcessId, Protocol, TICKS_PER_TIME_UNIT,
    TimerChange,
};

/// A replicated log whose group has one process. `P` is the protocol of the log, or a protocol that
/// wraps the log.
struct LogHarness<P: Protocol> {
    node: Node<P>,
    wrap: fn(Command) -> P::Command,
}

impl<P: Protocol> LogHarness<P> {
    /// Creates a log with a single process, and makes this process the leader.
    fn new_leader(config: &P::Config, wrap: fn(Command) -> P::Command) -> Self {
        let node = Node::boot(Group::new(ProcessId(0), 1), config, None, ConstantEnvironment);
        let mut harness = LogHarness { node, wrap };
        let set = |change| match change {
            TimerChange::Set(timer, _) => Some(timer),
            TimerChange::Cancel(_) => None,
        };
        let timers: Vec<P::Timer> =
            harness.node.boot_step().mark_saved().timers.filter_map(set).collect();
        let election = timers.into_iter().find(|timer| format!("{timer:?}").contains("Election"));
        drop(harness.node.step(Input::Timer(election.expect("an election timeout"))).mark_saved());
        harness
    }

    /// Gives a command to the log, and marks the resulting state as saved. Returns true if the log
    /// had to save this state before it could send any message.
    fn saves(&mut self, command: Command) -> bool {
        let step = self.node.step(Input::Command((self.wrap)(command)));
        let saves = !step.can_release();
        drop(step.mark_saved());
        saves
    }
}

/// Checks that the save of a snapshot may be deferred, and that the snapshot is written together
/// with the next entries.
fn check_deferred_snapshot<P: Protocol>(config: &P::Config, wrap: fn(Command) -> P::Command) {
    let mut harness = LogHarness::<P>::new_leader(config, wrap);
    let append = |ticket| Command::Append { ticket, payload: Payload::from(ticket) };
    assert!(harness.saves(append(1)), "an entry must be saved");
    assert!(!harness.node.needs_rewrite());
    let state = Payload::from(7);
    assert!(!harness.saves(Command::Compact { ticket: 2, index: 2, state }));
    assert!(harness.node.needs_rewrite(), "the saved log is longer than necessary");
    assert_eq!(harness.node.begin_rewrite(), Some(harness.node.process().stable()));
    assert!(harness.saves(append(3)));
    harness.node.finish_rewrite();
    assert_eq!(harness.node.latest_save_state(), Some(&harness.node.process().stable()));
    assert!(!harness.node.needs_rewrite());
}

fn config() -> raft_log::Config {
    raft_log::Config {
        trailing_entries: 0,
        ..raft_log::Config::with_defaults(1, TICKS_PER_TIME_UNIT)
    }
}

#[test]
fn log_with_detector_defers_snapshots() {
    let detector =
        heartbeat::Config { period: Delay::time_units(2), ..heartbeat::Config::default() };
    let config = with_detector::Config { detector, inner: config() };
    check_deferred_snapshot::<WithDetector<AdaptiveTimeoutDetector, RaftReplica>>(
        &config,
        |command| command,
    );
}

#[test]
fn log_over_fifo_defers_snapshots() {
    check_deferred_snapshot::<FifoChannel<RaftReplica>>(
        &fifo::Config::with_inner_config(config()),
        |command| command,
    );
}
