//! A spanning tree rooted at the leader: the first neighbour from which a process receives
//! "explore" becomes its parent.
//!
//! E. Chang, *Echo algorithms: depth parallel operations on general graphs*, IEEE Transactions on
//! Software Engineering SE-8(4), 1982; A. Segall, *Distributed network protocols*, IEEE
//! Transactions on Information Theory IT-29(1), 1983 (propagation of information with feedback).
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable channels; neighbours that know each other; a connected graph |
//! | messages | 2E − (N − 1) explore; with echoes N − 1 more, which makes 2E |
//! | time | the eccentricity of the root; twice this time with echoes |
//!
//! **Why it is right.** Each process sends "explore" once to all neighbours but its parent; the
//! root sends it to all. So every reachable process receives it. A parent joins the tree before its
//! child, so there is no cycle. All but the root have a parent, so there are N − 1 edges, and all
//! lead to the root. One "explore" crosses each tree edge, two cross every other edge.
//!
//! A process that has heard from every neighbour but its parent echoes to the parent, with the size
//! of its subtree. So each tree edge carries one more message. When the root has received a message
//! from every neighbour, it knows that the wave has reached all processes.
//!
//! Each tree is built by a *wave*, which is identified by a term and a number. When the leader
//! suspects a process or trusts it again, it starts another wave. This wave builds a new tree of
//! the processes that are up. A process follows the newest wave.
//!
//! A process excludes the neighbours that it suspects. The leader may trust a process before a
//! neighbour of that process does, and this neighbour then excludes it from the new wave too. So a
//! process that trusts a neighbour again informs its parent, and the message passes on to the
//! leader. The leader starts another wave, unless it has started one in the meantime.

use alloc::sync::Arc;

use tenure_core::service::leader_tree::{Command, Event, WaveId};
use tenure_core::{
    Effects, Group, Never, PeerVerdict, ProcessId, ProcessSet, Protocol, Term, UncomparedConfig,
    labelled,
};

use super::{Application, Leadership};

/// One process of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpanningTree {
    group: Group,
    neighbours: UncomparedConfig<ProcessSet>,
    echoes: bool,
    leadership: Leadership,
    suspected: ProcessSet,
    /// Position of this process in the newest known tree; `None` if it is in no tree.
    position: Option<Position>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Position {
    wave: WaveId,
    /// Parent; `None` at the root.
    parent: Option<ProcessId>,
    /// Neighbours, except the parent, from which no message has arrived.
    awaited: ProcessSet,
    /// Number of processes in the subtree of this process, as far as this process knows.
    size: u32,
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Informs a neighbour that the sender has joined the tree.
    Explore {
        /// Identifier of the tree.
        wave: WaveId,
    },
    /// Informs the parent that the whole subtree of the sender has joined the tree.
    Echo {
        /// Identifier of the tree.
        wave: WaveId,
        /// Number of processes in the subtree, including the sender.
        size: u32,
    },
    /// Informs the parent that the sender, or a process in its subtree, trusts a neighbour again.
    Trusted {
        /// Newest wave of the process that trusts its neighbour again.
        wave: WaveId,
    },
    /// Informs the receiver of a newer term.
    Newer {
        /// Newest term known to the sender.
        term: Term,
    },
}

labelled!(
    Message, Application,
    Explore => "explore", Echo => "echo", Trusted => "trusted", Newer => "newer",
);

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Neighbours of each process; the relation is symmetric.
    pub graph: Arc<[ProcessSet]>,
    /// True if processes send echoes, so that the root learns when the tree is complete.
    pub sends_echoes: bool,
}

impl Config {
    /// Returns a configuration for a graph of `size` processes with these edges. In this
    /// configuration processes send echoes, so that the root learns when the tree is complete.
    pub fn with_edges_and_echoes(
        size: u32,
        edges: impl IntoIterator<Item = (ProcessId, ProcessId)>,
    ) -> Self {
        let mut graph = alloc::vec![ProcessSet::new(); size as usize];
        for (one, other) in edges {
            assert!(one != other, "a process cannot be its own neighbour");
            graph[one.index()].insert(other);
            graph[other.index()].insert(one);
        }
        Config { graph: graph.into(), sends_echoes: true }
    }
}

impl Protocol for SpanningTree {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        SpanningTree {
            group,
            neighbours: UncomparedConfig::new(config.graph[group.me().index()].clone()),
            echoes: config.sends_echoes,
            leadership: Leadership::default(),
            suspected: ProcessSet::new(),
            position: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Grow = command;
        self.start_wave(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Explore { wave } => {
                if let Some(term) = self.leadership.newer_than(wave.term) {
                    return fx.send(from, Message::Newer { term });
                }
                self.leadership.follow(wave.term);
                if self.position.as_ref().is_none_or(|position| position.wave < wave) {
                    self.join(wave, Some(from), fx);
                } else {
                    self.on_neighbour(from, wave, 0, fx);
                }
            }
            Message::Echo { wave, size } => self.on_neighbour(from, wave, size, fx),
            Message::Trusted { wave } => {
                if self.position.as_ref().is_some_and(|position| position.wave == wave) {
                    self.request_wave(fx);
                }
            }
            Message::Newer { term } => {
                self.leadership.follow(term);
            }
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => self.suspected.insert(peer),
            PeerVerdict::Trust => self.suspected.remove(peer),
        };
        if self.leadership.leading_term().is_some() {
            return self.start_wave(fx);
        }
        let Some(Position { wave, .. }) = self.position else { return };
        match verdict {
            PeerVerdict::Suspect => self.on_neighbour(peer, wave, 0, fx),
            PeerVerdict::Trust if self.neighbours.contains(peer) => self.request_wave(fx),
            PeerVerdict::Trust => {}
        }
    }
}

impl Application for SpanningTree {
    fn on_leader_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.leadership.on_elected(term, self.group) {
            self.start_wave(fx);
        }
    }

    fn on_leader_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.leadership.on_deposed(term);
    }
}

impl SpanningTree {
    /// Returns the parent of this process. `None` if the process is in no tree, or is the root.
    pub fn parent(&self) -> Option<ProcessId> {
        self.position.as_ref().and_then(|position| position.parent)
    }

    /// Starts another wave, which builds a new tree. Has no effect if this process does not lead.
    fn start_wave(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.leadership.leading_term() else { return };
        let ours = self.position.as_ref().filter(|position| position.wave.term == term);
        let number = ours.map_or(0, |position| position.wave.number) + 1;
        self.join(WaveId { term, number }, None, fx);
    }

    /// Asks the parent for another wave. A process without a parent starts the wave itself, if it
    /// leads.
    fn request_wave(&mut self, fx: &mut impl Effects<Self>) {
        match self.position {
            Some(Position { wave, parent: Some(parent), .. }) => {
                fx.send(parent, Message::Trusted { wave });
            }
            _ => self.start_wave(fx),
        }
    }

    fn join(&mut self, wave: WaveId, parent: Option<ProcessId>, fx: &mut impl Effects<Self>) {
        let is_explored =
            |peer: &ProcessId| Some(*peer) != parent && !self.suspected.contains(*peer);
        let awaited: ProcessSet = self.neighbours.iter().filter(is_explored).collect();
        fx.broadcast(&awaited, Message::Explore { wave });
        self.position = Some(Position { wave, parent, awaited, size: 1 });
        fx.emit(Event::Joined { wave, parent });
        self.finish(fx);
    }

    /// Records that this process need not wait for the neighbour `from` any more: a message of the
    /// wave has arrived from it, or it is suspected. If the message is an echo, `size` is the
    /// number of processes in the subtree of `from`. Otherwise, `size` is 0.
    fn on_neighbour(
        &mut self,
        from: ProcessId,
        wave: WaveId,
        size: u32,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(position) = self.position.as_mut().filter(|position| position.wave == wave) else {
            return;
        };
        if position.awaited.remove(from) {
            position.size = position.size.saturating_add(size);
            self.finish(fx);
        }
    }

    /// Ends the participation of this process in the wave if it awaits no neighbour any more. Then
    /// the process sends an echo to its parent. The root has no parent, and reports that the tree
    /// is complete. Does nothing if the configuration is without echoes.
    fn finish(&mut self, fx: &mut impl Effects<Self>) {
        let Some(position) = &self.position else { return };
        if !self.echoes || !position.awaited.is_empty() {
            return;
        }
        let (wave, size) = (position.wave, position.size);
        match position.parent {
            Some(parent) => fx.send(parent, Message::Echo { wave, size }),
            None => fx.emit(Event::Completed { wave, size }),
        }
    }
}
