//! `raft` 0.7 as a protocol of Tenure. It has the same commands, events and saving as `raft-log`,
//! so that both can run with the same driver, disk and users.
//!
//! The driver releases the effects of a step after it has saved the state in the storage of `raft`.
//! A leader of `raft` therefore sends entries only after it has saved them, although the library
//! would allow it to send them earlier.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};

use raft::eraftpb::{self, MessageType};
use raft::storage::MemStorage;
use raft::{RawNode, Ready, StateRole, Storage};
use tenure_core::service::log::{Command, Content, DeclineReason, Entry, Event, Payload};
use tenure_core::{Delay, Effects, Group, ProcessId, Protocol};

use crate::message::Message;
use crate::saved::{self, Saved};

#[derive(Clone, Debug)]
pub struct Config {
    /// Interval between ticks; `None` if only the schedule fires timeouts.
    pub tick: Option<Delay>,
    pub pre_vote: bool,
}

/// Number of ticks between heartbeats, and number of ticks before an election.
const TICKS: (usize, usize) = (1, 6);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    Tick,
    /// Forces an election timeout.
    Election,
    /// Forces a heartbeat.
    Heartbeat,
}

pub struct Peer {
    pub(crate) node: RawNode<MemStorage>,
    group: Group,
    tick: Option<Delay>,
    /// Proposals whose outcome the user does not know yet: log index, and the ticket that names the
    /// proposal.
    proposed: VecDeque<(u64, u64)>,
    /// Index of the last committed entry of which the user was notified; 0 for none.
    pub(crate) notified: u64,
}

impl Protocol for Peer {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = Saved;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Saved>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let voters: Vec<u64> = (1..=u64::from(group.size())).collect();
        let storage = MemStorage::new_with_conf_state((voters, Vec::new()));
        if let Some(saved) = stable {
            saved.restore(&storage);
        }
        let raft_config = raft::Config {
            id: number(group.me()),
            heartbeat_tick: TICKS.0,
            election_tick: TICKS.1,
            max_size_per_msg: 1 << 20,
            max_inflight_msgs: 1024,
            check_quorum: true,
            pre_vote: config.pre_vote,
            ..raft::Config::default()
        };
        let log = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&raft_config, storage, &log).expect("a valid configuration");
        let (proposed, notified) = (VecDeque::new(), 0);
        let peer = Peer { node, group, tick: config.tick, proposed, notified };
        for entry in saved::entries(peer.node.store(), 0) {
            fx.emit(Event::Stored { index: entry.index, entry: entry_of(entry) });
        }
        peer.set_tick(fx);
        peer
    }

    fn stable(&self) -> Saved {
        Saved::behind(0, self.node.store())
    }

    fn unsaved_change(&self, saved: &Saved) -> Option<Saved> {
        saved.unsaved(self.node.store())
    }

    fn apply_change(saved: &mut Saved, change: Saved) {
        saved.apply_change(change);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let ticket = command.ticket();
        match command {
            Command::Append { payload, .. } => {
                // Without this check, `raft` would forward the proposal to the leader.
                let data = payload.bytes().to_vec();
                if !self.leads() || self.node.propose(Vec::new(), data).is_err() {
                    fx.emit(Event::Declined {
                        ticket,
                        reason: DeclineReason::NotLeading,
                        leader: None,
                    });
                    return;
                }
                self.proposed.push_back((self.node.raft.raft_log.last_index(), ticket));
            }
            Command::Transfer { to, .. } => self.node.transfer_leader(number(to)),
            _ => {
                fx.emit(Event::Declined { ticket, reason: DeclineReason::NotLeading, leader: None })
            }
        }
        self.take_effects(fx);
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        // A rejected message is ignored.
        let _ = self.node.step(message.0);
        self.take_effects(fx);
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Tick => {
                self.node.tick();
                self.set_tick(fx);
            }
            Timer::Election if self.leads() => {
                let mut message = eraftpb::Message::default();
                message.set_msg_type(MessageType::MsgCheckQuorum);
                self.node.raft.step(message).expect("a leader checks its quorum");
            }
            Timer::Election => self.node.campaign().expect("any member may stand"),
            Timer::Heartbeat => self.node.ping(),
        }
        self.take_effects(fx);
    }
}

impl Peer {
    pub(crate) fn leads(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    fn set_tick(&self, fx: &mut impl Effects<Self>) {
        if let Some(tick) = self.tick {
            fx.set_timer(Timer::Tick, tick);
        }
    }

    /// Emits all effects that `raft` has ready, and marks them as saved in `raft`. The driver saves
    /// the state later, and releases the effects only then.
    fn take_effects(&mut self, fx: &mut impl Effects<Self>) {
        while self.node.has_ready() {
            let mut ready = self.node.ready();
            self.emit_role(&ready, fx);
            self.store(&ready, fx);
            send(ready.take_messages(), fx);
            send(ready.take_persisted_messages(), fx);
            self.emit_committed(ready.take_committed_entries(), fx);
            let mut light = self.node.advance(ready);
            send(light.take_messages(), fx);
            self.emit_committed(light.take_committed_entries(), fx);
            self.node.advance_apply();
        }
    }

    fn emit_role(&mut self, ready: &Ready, fx: &mut impl Effects<Self>) {
        let Some(state) = ready.ss() else { return };
        let term = self.node.raft.term;
        if state.raft_state == StateRole::Leader {
            return fx.emit(Event::Leading { term });
        }
        let leader = state.leader_id.checked_sub(1).map(|place| ProcessId(place as u32));
        fx.emit(Event::Following { term, leader });
        for (_, ticket) in self.proposed.drain(..) {
            fx.emit(Event::Unknown { ticket });
        }
    }

    fn store(&mut self, ready: &Ready, fx: &mut impl Effects<Self>) {
        let storage = self.node.store();
        if let Some(first) = ready.entries().first() {
            if first.index <= storage.last_index().expect("the storage is in memory") {
                fx.emit(Event::Dropped { from: first.index });
            }
            storage.wl().append(ready.entries()).expect("consecutive entries");
        }
        if let Some(state) = ready.hs() {
            storage.wl().set_hardstate(state.clone());
        }
        for entry in ready.entries() {
            fx.emit(Event::Stored { index: entry.index, entry: entry_of(entry.clone()) });
        }
    }

    fn emit_committed(&mut self, committed: Vec<eraftpb::Entry>, fx: &mut impl Effects<Self>) {
        for entry in committed {
            let index = entry.index;
            self.notified = index;
            fx.emit(Event::Committed { index, entry: entry_of(entry) });
            while let Some((_, ticket)) = self.proposed.pop_front_if(|(at, _)| *at <= index) {
                fx.emit(Event::Acknowledged { ticket, index });
            }
        }
    }
}

fn send(messages: Vec<eraftpb::Message>, fx: &mut impl Effects<Peer>) {
    for message in messages {
        fx.send(ProcessId(message.to as u32 - 1), Message(message));
    }
}

/// Returns the number of a process in `raft`, which counts from 1.
fn number(process: ProcessId) -> u64 {
    u64::from(process.0) + 1
}

fn entry_of(entry: eraftpb::Entry) -> Entry {
    let content = match entry.data.is_empty() {
        true => Content::Nothing,
        false => Content::Payload(Payload::new(&entry.data[..])),
    };
    Entry { term: entry.term, content }
}

/// Panics: a `raft` node cannot be copied, and the driver copies none.
impl Clone for Peer {
    fn clone(&self) -> Self {
        unreachable!("a driver copies no process")
    }
}

impl PartialEq for Peer {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Peer {}

impl Hash for Peer {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.group.me().hash(to);
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("me", &self.group.me()).finish_non_exhaustive()
    }
}
