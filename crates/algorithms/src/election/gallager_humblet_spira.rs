//! Gallager, Humblet and Spira: fragments of the minimum spanning tree merge until one is left, and
//! its core elects.
//!
//! R. G. Gallager, P. A. Humblet, P. M. Spira, *A distributed algorithm for minimum-weight spanning
//! trees*, ACM TOPLAS 5(1), 1983.
//!
//! | | |
//! |---|---|
//! | assumes | a connected graph with distinct weights, first-in-first-out channels, no crash |
//! | messages for the tree | at most 2E + 5N⌊log₂N⌋, where the paper states 2E + 5N log₂N |
//! | messages to announce the leader | N − 2 |
//! | levels | at most ⌊log₂N⌋ |
//!
//! **Why it is right.** A *fragment* is a subtree of the minimum spanning tree. With distinct
//! weights the tree is unique, and the lightest edge that leaves a fragment belongs to the tree.
//! Fragments add only such edges, and may add them in any order. A fragment searches for its
//! lightest leaving edge from its *core*, the edge over which its last two parts merged. The weight
//! of the core names the fragment. Each process tests its lightest remaining edges. The answers
//! flow back to the core, and the fragment connects over the best edge.
//!
//! *Levels* bound the cost. Two fragments of the same level that choose the same edge merge, and
//! their level rises by one. A fragment that connects to a fragment of a higher level is absorbed.
//! So a fragment of level L has at least 2^L processes. Fragments wait for each other, but not
//! forever: among the fragments of the lowest level, the fragment with the lightest leaving edge
//! can always proceed.
//!
//! A process may learn late that it belongs to a new fragment of a higher level. Until then, it
//! could accept an edge inside of the new fragment. Therefore it postpones a Test message from a
//! fragment of a higher level than its own. For any other Test message, the process compares the
//! names of the two fragments.
//!
//! If two edges have equal weights, the identities of their ends decide. A pair of processes has at
//! most one edge, so no two edges compare as equal.
//!
//! The tree is complete when both ends of the core find no leaving edge. Here the paper halts. For
//! an election the end with the larger identity becomes the leader. Each end of the core announces
//! the leader to its side of the tree. The tree and the leader are final, so a later request to
//! elect needs no messages.
//!
//! The field `postponed` implements "place received message on end of queue". The paper handles
//! these messages again at any later time. Here a process handles them again whenever its state has
//! changed.

mod card;
mod edges;
mod message;
mod rules;

use alloc::vec::Vec;

use tenure_core::service::election::{Command, Event};
use tenure_core::{Effects, Group, Never, ProcessId, Protocol, Term};

use edges::{EdgeState, Edges};
pub use message::{BestWeight, Message, SearchState, Weight};
use rules::Rules;
pub use rules::VariantId;

use crate::Variants;
use crate::graph_config::GraphConfig;

/// State of one process in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GallagerHumbletSpira {
    me: ProcessId,
    variants: Variants<VariantId>,
    edges: Edges,
    phase: Phase,
    /// Level of the fragment that this process belongs to (`LN` in the paper).
    level: u32,
    /// Weight of the core edge of the fragment. This weight serves as the name of the fragment
    /// (`FN` in the paper). `None` at level 0.
    fragment: Option<Weight>,
    /// Neighbour that is nearer to the core of the fragment (`in-branch` in the paper). `None`
    /// before the first Initiate.
    in_branch: Option<ProcessId>,
    /// Lightest known edge that leaves the fragment. The first element is the neighbour at which
    /// the path to this edge begins (`best-edge` in the paper). The second element is the weight of
    /// this edge (`best-wt`). `None` if no such edge is known.
    best: Option<(ProcessId, Weight)>,
    /// Messages that cannot be handled before the state of this process changes, in order of
    /// arrival.
    postponed: Vec<(ProcessId, Message)>,
    leader: Option<ProcessId>,
}

/// State of a process in the search for the tree (`SN` in the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The process has not started. The process wakes up when its user requests an election, or
    /// when it receives a message.
    Sleeping,
    /// The process searches for the lightest edge that leaves the fragment.
    Find {
        /// Number of neighbours whose Report this process still expects (`find-count` in the
        /// paper).
        awaited: u32,
        /// Neighbour at the edge that this process is testing (`test-edge` in the paper), if any.
        test_edge: Option<ProcessId>,
    },
    /// The process does not search. It has just woken up, has reported the lightest edge to the
    /// neighbour nearer to the core, or has joined a fragment too late for the search.
    Found,
}

/// Configuration of one process, with a graph that has weights.
pub type Config = GraphConfig<VariantId>;

impl Protocol for GallagerHumbletSpira {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        GallagerHumbletSpira {
            me: group.me(),
            variants: config.variants,
            edges: Edges::new(&config.graph, group, Rules(config.variants)),
            phase: Phase::Sleeping,
            level: 0,
            fragment: None,
            in_branch: None,
            best: None,
            postponed: Vec::new(),
            leader: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.leader) {
            (Command::Elect, Some(leader)) => report_leader(leader, fx),
            (Command::Elect, None) if self.phase == Phase::Sleeping => self.wake_up(fx),
            // The tree determines the leader, which cannot resign.
            (Command::Elect | Command::Resign, _) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if self.phase == Phase::Sleeping {
            self.wake_up(fx);
        }
        self.postponed.push((from, message));
        let ready =
            |process: &Self| process.postponed.iter().position(|it| !process.must_wait(*it));
        while let Some(place) = ready(self) {
            let (from, message) = self.postponed.remove(place);
            self.respond(from, message, fx);
        }
    }
}

impl GallagerHumbletSpira {
    /// Returns the neighbours to which this process has an edge of the minimum spanning tree, the
    /// lightest edge first. The result contains only neighbours at edges that this process already
    /// knows to be in the tree.
    pub fn branch_neighbours(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.edges.branch_neighbours()
    }

    /// Returns the leader; `None` until this process knows that the tree is complete.
    pub fn leader(&self) -> Option<ProcessId> {
        self.leader
    }

    /// Returns the level of the fragment, from 0.
    pub fn fragment_level(&self) -> u32 {
        self.level
    }

    /// Returns true if a received message waits because this process cannot handle it yet.
    pub fn has_postponed_messages(&self) -> bool {
        !self.postponed.is_empty()
    }

    /// Makes this process a fragment of its own, and connects the fragment over the lightest edge.
    /// A process without edges becomes the leader.
    fn wake_up(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Found;
        let Some(lightest) = self.edges.lightest_basic_neighbour() else {
            return self.settle(self.me, None, fx);
        };
        self.edges.add_branch(lightest);
        fx.send(lightest, Message::Connect { level: 0 });
    }

    /// Returns true if this process cannot handle the message yet. The paper places such a message
    /// at the end of the queue.
    fn must_wait(&self, (from, message): (ProcessId, Message)) -> bool {
        match message {
            Message::Connect { level } => {
                self.is_basic(from) && !self.rules().absorbs(level, self.level)
            }
            Message::Test { level, .. } => self.rules().postpones_test(level, self.level),
            Message::Report { .. } => self.is_searching() && self.in_branch == Some(from),
            _ => false,
        }
    }

    fn respond(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Connect { level } => self.on_connect(from, level, fx),
            Message::Initiate { level, fragment, search } => {
                self.on_initiate(from, (level, fragment, search), fx);
            }
            Message::Test { fragment, .. } => self.on_test(from, fragment, fx),
            Message::Accept => {
                let accepted = self.edges.weight(from);
                self.end_test();
                self.improve(from, BestWeight::from_weight(accepted));
                self.report(fx);
            }
            Message::Reject => {
                self.edges.reject_if_basic(from);
                self.test(fx);
            }
            Message::Report { best } => self.on_report(from, best, fx),
            Message::ChangeRoot => self.change_root(fx),
            Message::Elected { leader } if self.leader.is_none() => {
                self.settle(leader, Some(from), fx);
            }
            Message::Elected { .. } => {}
        }
    }

    /// Handles a Connect: absorbs a fragment of a lower level, or merges with a fragment that has
    /// chosen the same edge.
    fn on_connect(&mut self, from: ProcessId, level: u32, fx: &mut impl Effects<Self>) {
        let absorbs = level < self.level || self.is_basic(from);
        let Some(weight) = self.edges.weight(from) else { return };
        let merged = (level.saturating_add(1), weight, SearchState::Find);
        let (level, fragment, search) = match self.fragment.filter(|_| absorbs) {
            Some(fragment) => {
                self.edges.add_branch(from);
                (self.level, fragment, self.search())
            }
            None => merged,
        };
        fx.send(from, Message::Initiate { level, fragment, search });
        if let Phase::Find { awaited, .. } = &mut self.phase
            && absorbs
        {
            *awaited += 1;
        }
    }

    /// Handles an Initiate: joins the fragment of the sender, and passes the Initiate on to all
    /// other neighbours in the tree. If the fragment is searching, this process also searches for
    /// the lightest leaving edge.
    fn on_initiate(
        &mut self,
        from: ProcessId,
        (level, fragment, search): (u32, Weight, SearchState),
        fx: &mut impl Effects<Self>,
    ) {
        (self.level, self.fragment) = (level, Some(fragment));
        (self.in_branch, self.best) = (Some(from), None);
        let mut awaited = 0;
        for peer in self.branch_neighbours().filter(|peer| *peer != from) {
            fx.send(peer, Message::Initiate { level, fragment, search });
            awaited += 1;
        }
        self.phase = match search {
            SearchState::Find => Phase::Find { awaited, test_edge: None },
            SearchState::Found => Phase::Found,
        };
        self.test(fx);
    }

    /// Tests the lightest undecided edge of this process, if the process is searching. Without such
    /// an edge, reports the search result.
    fn test(&mut self, fx: &mut impl Effects<Self>) {
        let lightest = self.edges.lightest_basic_neighbour();
        let (Phase::Find { test_edge, .. }, Some(fragment)) = (&mut self.phase, self.fragment)
        else {
            return;
        };
        *test_edge = lightest;
        match lightest {
            Some(peer) => fx.send(peer, Message::Test { level: self.level, fragment }),
            None => self.report(fx),
        }
    }

    /// Handles a Test from `from`. If `from` is in another fragment, answers Accept. Otherwise
    /// answers Reject. If this process is itself testing the same edge, its own Test serves as the
    /// rejection.
    fn on_test(&mut self, from: ProcessId, fragment: Weight, fx: &mut impl Effects<Self>) {
        if self.fragment != Some(fragment) {
            return fx.send(from, Message::Accept);
        }
        self.edges.reject_if_basic(from);
        match self.phase {
            Phase::Find { test_edge: Some(peer), .. } if peer == from => self.test(fx),
            _ => fx.send(from, Message::Reject),
        }
    }

    /// Ends the search of this process and reports the lightest known leaving edge to the neighbour
    /// that is nearer to the core. Does nothing while a Report or the answer to a Test is missing,
    /// or if this process is not searching.
    fn report(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Find { awaited, test_edge: None } = self.phase else { return };
        if self.rules().can_report(awaited)
            && let Some(core) = self.in_branch
        {
            self.phase = Phase::Found;
            fx.send(core, Message::Report { best: self.best_weight() });
        }
    }

    /// Handles a Report. A Report contains the lightest leaving edge on the sender's side. If the
    /// sender is a child in the tree, this process records the edge if it is the lightest so far.
    /// If the sender is the other end of the core, this process compares the edge with the lightest
    /// edge on its own side. If its own edge is lighter, the fragment connects over this edge. If
    /// neither side has a leaving edge, the tree is complete, and the end of the core with the
    /// larger identity becomes the leader.
    fn on_report(&mut self, from: ProcessId, theirs: BestWeight, fx: &mut impl Effects<Self>) {
        if self.in_branch != Some(from) {
            if let Phase::Find { awaited, .. } = &mut self.phase {
                *awaited = awaited.saturating_sub(1);
            }
            self.improve(from, theirs);
            return self.report(fx);
        }
        let ours = self.best_weight();
        if ours < theirs {
            self.change_root(fx);
        } else if ours == BestWeight::None && theirs == BestWeight::None && self.leader.is_none() {
            self.settle(self.me.max(from), Some(from), fx);
        }
    }

    /// Starts to connect the fragment over its lightest leaving edge. If this process is at that
    /// edge, it sends the Connect. Otherwise this process passes the task on to the neighbour in
    /// the direction of that edge.
    fn change_root(&mut self, fx: &mut impl Effects<Self>) {
        let Some((peer, _)) = self.best else { return };
        if self.edges.has_edge_in_state(EdgeState::Branch, peer) {
            return fx.send(peer, Message::ChangeRoot);
        }
        fx.send(peer, Message::Connect { level: self.level });
        self.edges.add_branch(peer);
    }

    /// Accepts the leader. Announces it over all edges of the tree except the edge to `from`.
    fn settle(&mut self, leader: ProcessId, from: Option<ProcessId>, fx: &mut impl Effects<Self>) {
        self.leader = Some(leader);
        for peer in self.branch_neighbours().filter(|peer| Some(*peer) != from) {
            fx.send(peer, Message::Elected { leader });
        }
        report_leader(leader, fx);
    }

    fn end_test(&mut self) {
        if let Phase::Find { test_edge, .. } = &mut self.phase {
            *test_edge = None;
        }
    }

    /// Records a leaving edge in the direction of `peer`, if it is lighter than the best known
    /// edge.
    fn improve(&mut self, peer: ProcessId, found: BestWeight) {
        if let BestWeight::Edge(weight) = found
            && found < self.best_weight()
        {
            self.best = Some((peer, weight));
        }
    }

    fn best_weight(&self) -> BestWeight {
        BestWeight::from_weight(self.best.map(|(_, weight)| weight))
    }

    fn is_basic(&self, peer: ProcessId) -> bool {
        self.edges.has_edge_in_state(EdgeState::Basic, peer)
    }

    fn is_searching(&self) -> bool {
        matches!(self.phase, Phase::Find { .. })
    }

    fn search(&self) -> SearchState {
        if self.is_searching() { SearchState::Find } else { SearchState::Found }
    }

    fn rules(&self) -> Rules {
        Rules(self.variants)
    }
}

fn report_leader(leader: ProcessId, fx: &mut impl Effects<GallagerHumbletSpira>) {
    fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
}
