//! Protocols around others: what of the inner one may be saved later may be with them, too.

use tenure_algorithms::agreement::{RaftLog, raft_log};
use tenure_algorithms::channel::{Fifo, fifo};
use tenure_algorithms::compose::{Detected, detected};
use tenure_algorithms::detector::{Heartbeat, heartbeat};
use tenure_core::service::log::{Command, Payload};
use tenure_core::{
    Delay, Group, Input, Node, ProcessId, Protocol, Still, TICKS_PER_UNIT, TimerChange,
};

/// A log of one process around which there may be something.
struct Keeper<P: Protocol> {
    node: Node<P>,
    say: fn(Command) -> P::Command,
}

impl<P: Protocol> Keeper<P> {
    /// One that leads.
    fn leading(config: &P::Config, say: fn(Command) -> P::Command) -> Self {
        let node = Node::boot(Group::new(ProcessId(0), 1), config, None, Still);
        let mut keeper = Keeper { node, say };
        let set = |change| match change {
            TimerChange::Set(timer, _) => Some(timer),
            TimerChange::Cancel(_) => None,
        };
        let timers: Vec<P::Timer> = keeper.node.pending().saved().timers.filter_map(set).collect();
        let election = timers.into_iter().find(|timer| format!("{timer:?}").contains("Election"));
        drop(keeper.node.step(Input::Timer(election.expect("an election timeout"))).saved());
        keeper
    }

    /// Gives a command, and saves what is to be saved before its effects leave: if anything is.
    fn saves(&mut self, command: Command) -> bool {
        let step = self.node.step(Input::Command((self.say)(command)));
        let saves = !step.may_leave();
        drop(step.saved());
        saves
    }
}

/// A snapshot of entries that are saved is not waited for, and is part of what is written beside
/// the next ones.
fn owes_no_snapshot<P: Protocol>(config: &P::Config, say: fn(Command) -> P::Command) {
    let mut keeper = Keeper::<P>::leading(config, say);
    let append = |ticket| Command::Append { ticket, payload: Payload::from(ticket) };
    assert!(keeper.saves(append(1)), "an entry is waited for");
    assert!(!keeper.node.is_long());
    let state = Payload::from(7);
    assert!(!keeper.saves(Command::Compact { ticket: 2, index: 2, state }));
    assert!(keeper.node.is_long(), "there is more than need be");
    assert_eq!(keeper.node.rewrite(), Some(keeper.node.process().stable()));
    assert!(keeper.saves(append(3)));
    keeper.node.rewritten();
    assert_eq!(keeper.node.written(), Some(&keeper.node.process().stable()));
    assert!(!keeper.node.is_long());
}

fn config() -> raft_log::Config {
    raft_log::Config { trailing: 0, ..raft_log::Config::plain(1, TICKS_PER_UNIT) }
}

#[test]
fn a_log_beside_a_detector_owes_no_snapshot() {
    let detector = heartbeat::Config { period: Delay::units(2), ..heartbeat::Config::default() };
    let config = detected::Config { detector, inner: config() };
    owes_no_snapshot::<Detected<Heartbeat, RaftLog>>(&config, |command| command);
}

#[test]
fn nor_does_one_over_a_channel() {
    owes_no_snapshot::<Fifo<RaftLog>>(&fifo::Config::around(config()), |command| command);
}
