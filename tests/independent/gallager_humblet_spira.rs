//! R. G. Gallager, P. A. Humblet, P. M. Spira, *A distributed algorithm for minimum-weight spanning
//! trees*, ACM TOPLAS 5(1), 1983, with the variables of its appendix. When the algorithm halts, one
//! edge of the tree is the core. The core connects two processes, and the process with the larger
//! number is the leader. Both processes announce the leader, each to its side of the tree.
//!
//! Each process has a queue of messages. Of the messages that it can answer, it handles the first
//! one. It repeats this until it can answer no message in the queue.

use std::collections::BTreeMap;

use super::search::{Outbox, Process, Step};
use super::user::Reported;

/// Weight of an edge that does not exist.
const INFINITE: u64 = u64::MAX;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    /// Edges of the process, each with the neighbour, the weight and the state (SE).
    edges: Vec<(usize, u64, Edge)>,
    sn: Sn,
    ln: u32,
    /// Name of the fragment (FN); 0 at level 0.
    fragment: u64,
    find_count: u32,
    in_branch: Option<usize>,
    best_edge: Option<usize>,
    best_wt: u64,
    test_edge: Option<usize>,
    queue: Vec<(usize, Message)>,
    leader: Option<usize>,
    /// True if the user will request an election and has not requested it yet.
    asks: bool,
    reported: Reported,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Edge {
    Basic,
    Branch,
    Rejected,
}

/// State of a process (SN). The message Initiate also contains such a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Sn {
    Sleeping,
    Find,
    Found,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Connect(u32),
    Initiate(u32, u64, Sn),
    Test(u32, u64),
    Accept,
    Reject,
    Report(u64),
    ChangeRoot,
    Elected(usize),
}

/// Edges of a graph, each with its two ends and its weight. The weights must be distinct.
pub(crate) type Edges = [(usize, usize, u64)];

/// Creates the sleeping processes of a graph. Each user requests one election.
pub(crate) fn sites(size: usize, graph: &Edges) -> Vec<Site> {
    let site = |me| Site {
        me,
        edges: graph.iter().filter_map(|edge| adjacent(me, *edge)).collect(),
        sn: Sn::Sleeping,
        ln: 0,
        fragment: 0,
        find_count: 0,
        in_branch: None,
        best_edge: None,
        best_wt: INFINITE,
        test_edge: None,
        queue: Vec::new(),
        leader: None,
        asks: true,
        reported: Reported::Nothing,
    };
    (0..size).map(site).collect()
}

fn adjacent(me: usize, (one, other, weight): (usize, usize, u64)) -> Option<(usize, u64, Edge)> {
    let peer = if one == me { Some(other) } else { (other == me).then_some(one) };
    peer.map(|peer| (peer, weight, Edge::Basic))
}

pub(crate) fn minimum_tree(size: usize, graph: &Edges) -> Vec<(usize, usize)> {
    let mut edges = graph.to_vec();
    edges.sort_unstable_by_key(|edge| edge.2);
    let mut part: Vec<usize> = (0..size).collect();
    let mut tree = Vec::new();
    for (one, other, _) in edges {
        let (kept, merged) = (part[one], part[other]);
        if kept != merged {
            part.iter_mut().filter(|it| **it == merged).for_each(|it| *it = kept);
            tree.push((one.min(other), one.max(other)));
        }
    }
    tree.sort_unstable();
    tree
}

/// Returns the edges that the processes at both ends regard as branches of the tree.
pub(crate) fn tree(sites: &[Site]) -> Vec<(usize, usize)> {
    let branches = |site: &Site| site.edges.clone().into_iter().filter(|it| it.2 == Edge::Branch);
    let has = |one: usize, other: usize| branches(&sites[one]).any(|edge| edge.0 == other);
    let pairs = (0..sites.len()).flat_map(|one| (one + 1..sites.len()).map(move |it| (one, it)));
    pairs.filter(|(one, other)| has(*one, *other) && has(*other, *one)).collect()
}

/// Runs the algorithm to its end, after all users have requested an election. Returns the final
/// processes and the number of messages.
///
/// In each step, one link delivers its next message. The links with messages are listed in
/// ascending order. `pick` receives the length of this list, and returns the index of the link that
/// delivers its message.
pub(crate) fn run(
    mut sites: Vec<Site>,
    mut pick: impl FnMut(usize) -> usize,
) -> (Vec<Site>, usize) {
    let mut links: BTreeMap<(usize, usize), Vec<Message>> = BTreeMap::new();
    let mut sent = 0;
    let mut post = |links: &mut BTreeMap<_, Vec<Message>>, from, outbox: Outbox<Message>| {
        sent += outbox.len();
        for (to, message) in outbox {
            links.entry((from, to)).or_default().push(message);
        }
    };
    for (from, site) in sites.iter_mut().enumerate() {
        let outbox = site.execute(Step::Request);
        post(&mut links, from, outbox);
    }
    while !links.is_empty() {
        let link = *links.keys().nth(pick(links.len())).expect("the link is in use");
        let queue = links.get_mut(&link).expect("the link is in use");
        let message = queue.remove(0);
        if queue.is_empty() {
            links.remove(&link);
        }
        let outbox = sites[link.1].receive(link.0, message);
        post(&mut links, link.1, outbox);
    }
    (sites, sent)
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        self.asks = false;
        self.reported = Reported::Asked;
        let mut out = Vec::new();
        if self.leader.is_some() {
            self.reported = Reported::Leader;
        } else if self.sn == Sn::Sleeping {
            self.wakeup(&mut out);
        }
        out
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let mut out = Vec::new();
        if self.sn == Sn::Sleeping {
            self.wakeup(&mut out);
        }
        self.queue.push((from, message));
        while let Some(place) = self.queue.iter().position(|(j, it)| !self.delays(*j, *it)) {
            let (j, message) = self.queue.remove(place);
            self.respond(j, message, &mut out);
        }
        out
    }
}

impl Site {
    /// Executes procedure (2) of the appendix: *wakeup*.
    fn wakeup(&mut self, out: &mut Outbox<Message>) {
        self.sn = Sn::Found;
        match self.lightest_basic() {
            Some(m) => {
                self.mark(m, Edge::Branch);
                out.push((m, Message::Connect(0)));
            }
            None => self.announce(self.me, self.me, out),
        }
    }

    /// Returns true if the process must postpone the message. The process then puts the message at
    /// the end of its queue, as in the appendix of the paper.
    fn delays(&self, j: usize, message: Message) -> bool {
        match message {
            Message::Connect(l) => l >= self.ln && self.state(j) == Edge::Basic,
            Message::Test(l, _) => l > self.ln,
            Message::Report(_) => Some(j) == self.in_branch && self.sn == Sn::Find,
            _ => false,
        }
    }

    fn respond(&mut self, j: usize, message: Message, out: &mut Outbox<Message>) {
        match message {
            // Response (3) of the appendix: receipt of *Connect*.
            Message::Connect(l) if l < self.ln => {
                self.mark(j, Edge::Branch);
                out.push((j, Message::Initiate(self.ln, self.fragment, self.sn)));
                if self.sn == Sn::Find {
                    self.find_count += 1;
                }
            }
            Message::Connect(_) => {
                out.push((j, Message::Initiate(self.ln + 1, self.weight(j), Sn::Find)));
            }
            // Response (4) of the appendix: receipt of *Initiate*.
            Message::Initiate(l, f, s) => {
                (self.ln, self.fragment, self.sn, self.in_branch) = (l, f, s, Some(j));
                (self.best_edge, self.best_wt) = (None, INFINITE);
                for i in self.branches().into_iter().filter(|i| *i != j) {
                    out.push((i, Message::Initiate(l, f, s)));
                    if s == Sn::Find {
                        self.find_count += 1;
                    }
                }
                if s == Sn::Find {
                    self.test(out);
                }
            }
            // Response (6) of the appendix: receipt of *Test*.
            Message::Test(_, f) if f != self.fragment => out.push((j, Message::Accept)),
            Message::Test(..) => {
                self.reject(j);
                if self.test_edge == Some(j) {
                    self.test(out);
                } else {
                    out.push((j, Message::Reject));
                }
            }
            // Response (7) of the appendix: receipt of *Accept*.
            Message::Accept => {
                self.test_edge = None;
                self.consider(j, self.weight(j));
                self.report(out);
            }
            // Response (8) of the appendix: receipt of *Reject*.
            Message::Reject => {
                self.reject(j);
                self.test(out);
            }
            // Response (10) of the appendix: receipt of *Report*.
            Message::Report(w) if Some(j) != self.in_branch => {
                self.find_count -= 1;
                self.consider(j, w);
                self.report(out);
            }
            Message::Report(w) if w > self.best_wt => self.change_root(out),
            Message::Report(w) if w == INFINITE && self.leader.is_none() => {
                self.announce(self.me.max(j), j, out);
            }
            Message::Report(_) => {}
            // Response (12) of the appendix: receipt of *Change-root*.
            Message::ChangeRoot => self.change_root(out),
            Message::Elected(leader) if self.leader.is_none() => self.announce(leader, j, out),
            Message::Elected(_) => {}
        }
    }

    /// Executes procedure (5) of the appendix: *test*.
    fn test(&mut self, out: &mut Outbox<Message>) {
        self.test_edge = self.lightest_basic();
        match self.test_edge {
            Some(j) => out.push((j, Message::Test(self.ln, self.fragment))),
            None => self.report(out),
        }
    }

    /// Executes procedure (9) of the appendix: *report*.
    fn report(&mut self, out: &mut Outbox<Message>) {
        if self.find_count == 0 && self.test_edge.is_none() {
            self.sn = Sn::Found;
            let core = self.in_branch.expect("a fragment that searches has a core");
            out.push((core, Message::Report(self.best_wt)));
        }
    }

    /// Executes procedure (11) of the appendix: *change-root*.
    fn change_root(&mut self, out: &mut Outbox<Message>) {
        let best = self.best_edge.expect("the fragment has a leaving edge");
        if self.state(best) == Edge::Branch {
            out.push((best, Message::ChangeRoot));
        } else {
            out.push((best, Message::Connect(self.ln)));
            self.mark(best, Edge::Branch);
        }
    }

    fn announce(&mut self, leader: usize, from: usize, out: &mut Outbox<Message>) {
        self.leader = Some(leader);
        self.reported = Reported::Leader;
        let others = self.branches().into_iter().filter(|j| *j != from);
        out.extend(others.map(|j| (j, Message::Elected(leader))));
    }

    fn consider(&mut self, j: usize, w: u64) {
        if w < self.best_wt {
            (self.best_edge, self.best_wt) = (Some(j), w);
        }
    }

    fn lightest_basic(&self) -> Option<usize> {
        let basic = self.edges.iter().filter(|edge| edge.2 == Edge::Basic);
        basic.min_by_key(|edge| edge.1).map(|edge| edge.0)
    }

    fn branches(&self) -> Vec<usize> {
        let branches = self.edges.iter().filter(|edge| edge.2 == Edge::Branch);
        branches.map(|edge| edge.0).collect()
    }

    fn weight(&self, j: usize) -> u64 {
        self.edges.iter().find(|edge| edge.0 == j).expect("an edge leads to a neighbour").1
    }

    fn state(&self, j: usize) -> Edge {
        self.edges.iter().find(|edge| edge.0 == j).expect("an edge leads to a neighbour").2
    }

    fn mark(&mut self, j: usize, state: Edge) {
        self.edges.iter_mut().filter(|edge| edge.0 == j).for_each(|edge| edge.2 = state);
    }

    fn reject(&mut self, j: usize) {
        if self.state(j) == Edge::Basic {
            self.mark(j, Edge::Rejected);
        }
    }
}
