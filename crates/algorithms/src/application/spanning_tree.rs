//! A spanning tree whose root is the leader: whoever says "explore" first is the parent.
//!
//! E. Chang, *Echo algorithms: depth parallel operations on general graphs*, IEEE Transactions on
//! Software Engineering SE-8(4), 1982; A. Segall, *Distributed network protocols*, IEEE
//! Transactions on Information Theory IT-29(1), 1983 (propagation of information with feedback).
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable channels; neighbours that know each other; a connected graph |
//! | messages | 2E − (N − 1) explore; with echoes N − 1 more, which makes 2E |
//! | time | the eccentricity of the root, and back with echoes |
//!
//! **Why it is right.** Everybody says "explore" to all neighbours but the parent, once: the root
//! to each of its own, and so all who can be reached are told. A parent was in the tree before its
//! child, so there is no cycle; everybody but the root has one, so there are N − 1 edges and all
//! reach the root. Over an edge of the tree passes one "explore", over each other edge two.
//!
//! Whoever has heard of every neighbour but the parent echoes to the parent, and says how many are
//! below it. So each edge of the tree has one message more, and when the root has heard of all its
//! neighbours, all have been told: what is told with "explore" is broadcast with feedback.
//!
//! A tree belongs to a wave: a term and a number. When the leader suspects a process or trusts it
//! again, another wave grows a tree of who is there now; a process follows the newest.

use alloc::sync::Arc;

use tenure_core::service::tree::{Command, Event, Wave};
use tenure_core::{
    Effects, Fixed, Group, Never, ProcessId, ProcessSet, Protocol, Term, Verdict, labelled,
};

use super::{Allegiance, Application};

/// One process of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpanningTree {
    group: Group,
    neighbours: Fixed<ProcessSet>,
    echoes: bool,
    allegiance: Allegiance,
    suspected: ProcessSet,
    /// Where we are in the newest tree that we have heard of.
    place: Option<Place>,
}

/// A place in a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    wave: Wave,
    /// Nobody at the root.
    parent: Option<ProcessId>,
    /// The neighbours that we have not heard of, the parent left out.
    awaited: ProcessSet,
    /// How many processes are here and below, as far as we have heard.
    size: u32,
}

/// What processes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I am in the tree."
    Explore {
        /// Which tree.
        wave: Wave,
    },
    /// "All below me have been told."
    Echo {
        /// Which tree.
        wave: Wave,
        /// How many processes that is, the sender included.
        size: u32,
    },
    /// "There is a newer term than yours."
    Newer {
        /// The newest that the sender knows.
        term: Term,
    },
}

labelled!(Message, Application, Explore => "explore", Echo => "echo", Newer => "newer");

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By process: its neighbours. Whoever is a neighbour has the other for one.
    pub graph: Arc<[ProcessSet]>,
    /// Whether processes echo.
    pub echoes: bool,
}

impl Config {
    /// A graph of `size` processes with these edges, and echoes.
    pub fn of(size: u32, edges: impl IntoIterator<Item = (ProcessId, ProcessId)>) -> Self {
        let mut graph = alloc::vec![ProcessSet::new(); size as usize];
        for (one, other) in edges {
            assert!(one != other, "nobody is a neighbour of itself");
            graph[one.index()].insert(other);
            graph[other.index()].insert(one);
        }
        Config { graph: graph.into(), echoes: true }
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
            neighbours: Fixed::new(config.graph[group.me().index()].clone()),
            echoes: config.echoes,
            allegiance: Allegiance::default(),
            suspected: ProcessSet::new(),
            place: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Grow = command;
        self.grow(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Explore { wave } => {
                if let Some(term) = self.allegiance.newer_than(wave.term) {
                    return fx.send(from, Message::Newer { term });
                }
                self.allegiance.follow(wave.term);
                if self.place.as_ref().is_none_or(|place| place.wave < wave) {
                    self.join(wave, Some(from), fx);
                } else {
                    self.hear(from, wave, 0, fx);
                }
            }
            Message::Echo { wave, size } => self.hear(from, wave, size, fx),
            Message::Newer { term } => {
                self.allegiance.follow(term);
            }
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                if let Some(Place { wave, .. }) = self.place
                    && self.allegiance.reign().is_none()
                {
                    self.hear(peer, wave, 0, fx);
                }
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
            }
        }
        self.grow(fx);
    }
}

impl Application for SpanningTree {
    fn on_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.allegiance.on_elected(term, self.group) {
            self.grow(fx);
        }
    }

    fn on_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.allegiance.on_deposed(term);
    }
}

impl SpanningTree {
    /// Whose child this process is; `None` outside of a tree and at its root.
    pub fn parent(&self) -> Option<ProcessId> {
        self.place.as_ref().and_then(|place| place.parent)
    }

    /// The leader begins another wave.
    fn grow(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.allegiance.reign() else { return };
        let ours = self.place.as_ref().filter(|place| place.wave.term == term);
        let number = ours.map_or(0, |place| place.wave.number) + 1;
        self.join(Wave { term, number }, None, fx);
    }

    fn join(&mut self, wave: Wave, parent: Option<ProcessId>, fx: &mut impl Effects<Self>) {
        let told = |peer: &ProcessId| Some(*peer) != parent && !self.suspected.contains(*peer);
        let awaited: ProcessSet = self.neighbours.iter().filter(told).collect();
        fx.broadcast(&awaited, Message::Explore { wave });
        self.place = Some(Place { wave, parent, awaited, size: 1 });
        fx.emit(Event::Joined { wave, parent });
        self.finish(fx);
    }

    /// A neighbour has been told, and so many are below it because of us.
    fn hear(&mut self, from: ProcessId, wave: Wave, size: u32, fx: &mut impl Effects<Self>) {
        let Some(place) = self.place.as_mut().filter(|place| place.wave == wave) else { return };
        if place.awaited.remove(from) {
            place.size = place.size.saturating_add(size);
            self.finish(fx);
        }
    }

    /// Tells the parent, or the user of the root, when there is nobody left to hear of.
    fn finish(&mut self, fx: &mut impl Effects<Self>) {
        let Some(place) = &self.place else { return };
        if !self.echoes || !place.awaited.is_empty() {
            return;
        }
        let (wave, size) = (place.wave, place.size);
        match place.parent {
            Some(parent) => fx.send(parent, Message::Echo { wave, size }),
            None => fx.emit(Event::Completed { wave, size }),
        }
    }
}
