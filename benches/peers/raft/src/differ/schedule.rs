//! Schedules of actions, drawn from a seed alone.

use std::fmt;

use fastrand::Rng;

/// State of the network during an action: processes of the same side can communicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    sides: Vec<u8>,
    /// For each process, true if its messages are lost.
    pub mute: Vec<bool>,
    /// True if each message arrives twice.
    pub twice: bool,
}

impl Network {
    fn whole(size: usize) -> Self {
        Network { sides: vec![0; size], mute: vec![false; size], twice: false }
    }

    /// Draws a random network for an action of the process `at`. In half of the cases, the network
    /// is partitioned into two sides. In most of these cases, some other process is on the side of
    /// `at`.
    fn drawn(size: usize, at: usize, random: &mut Rng) -> Self {
        let mut network = Network::whole(size);
        if random.bool() {
            network.sides.iter_mut().for_each(|side| *side = u8::from(random.u8(..10) < 4));
            network.sides[at] = 0;
        }
        network.twice = random.u8(..8) == 0;
        network
    }

    pub fn carries(&self, from: usize, to: usize) -> bool {
        self.sides[from] == self.sides[to] && !self.mute[from]
    }

    /// Returns true if two processes are on the same side of the partition, so that they can
    /// communicate.
    pub fn joins(&self, one: usize, other: usize) -> bool {
        self.sides[one] == self.sides[other]
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side| {
            let on = |place: &usize| self.sides[*place] == side;
            let names = (0..self.sides.len()).filter(on).map(|place| {
                let mute = if self.mute[place] { " (mute)" } else { "" };
                format!("p{}{mute}", place + 1)
            });
            names.collect::<Vec<_>>().join(" ")
        };
        let twice = if self.twice { ", each message twice" } else { "" };
        match side(1) {
            other if other.is_empty() => write!(f, "[{}]{twice}", side(0)),
            other => write!(f, "[{}] [{other}]{twice}", side(0)),
        }
    }
}

/// An action, after which messages are delivered until there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Fires the election timeout of a process until the process leads or cannot be elected.
    Elect { at: usize },
    /// The user of a process proposes the next entry.
    Propose { at: usize },
    /// A leader sends a heartbeat.
    Beat { at: usize },
    /// A leader checks whether it has a quorum.
    CheckQuorum { at: usize },
    /// The leader `at` transfers leadership to `to`.
    Transfer { at: usize, to: usize },
    /// A process crashes.
    Crash { at: usize },
    /// A process restarts.
    Recover { at: usize },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Elect { at } => write!(f, "p{} stands", at + 1),
            Action::Propose { at } => write!(f, "p{} proposes", at + 1),
            Action::Beat { at } => write!(f, "p{} beats", at + 1),
            Action::CheckQuorum { at } => write!(f, "p{} checks its quorum", at + 1),
            Action::Transfer { at, to } => write!(f, "p{} hands over to p{}", at + 1, to + 1),
            Action::Crash { at } => write!(f, "p{} crashes", at + 1),
            Action::Recover { at } => write!(f, "p{} recovers", at + 1),
        }
    }
}

pub fn schedule(size: usize, pre_vote: bool, random: &mut Rng) -> Vec<(Action, Network)> {
    let mut up = vec![true; size];
    let mut steps = Vec::new();
    // The schedule assumes that the last candidate is the leader.
    let mut last = random.usize(..size);
    steps.push((Action::Elect { at: last }, Network::whole(size)));
    for _ in 0..random.usize(10..40) {
        let anybody = random.usize(..size);
        let at = if random.u8(..5) == 0 { anybody } else { last };
        let mut network = Network::drawn(size, at, random);
        let act = match random.u8(..20) {
            0..5 => {
                last = anybody;
                let own = network.sides[anybody];
                network.sides.iter_mut().for_each(|side| *side ^= own);
                Action::Elect { at: anybody }
            }
            5..12 => {
                let mutes = random.u8(..4) == 0;
                let mut mute = || mutes && random.u8(..3) == 0;
                (0..size).filter(|other| *other != at).for_each(|it| network.mute[it] = mute());
                Action::Propose { at }
            }
            12..15 => Action::Beat { at },
            15 if pre_vote => Action::CheckQuorum { at },
            15 | 16 => {
                let to = (at + random.usize(1..size)) % size;
                network = Network::whole(size);
                // The new leader announces itself.
                steps.push((Action::Beat { at }, network.clone()));
                last = to;
                Action::Transfer { at, to }
            }
            17 | 18 if up[anybody] => Action::Crash { at: anybody },
            _ => match (0..size).find(|place| !up[*place]) {
                Some(at) => Action::Recover { at },
                None => Action::Beat { at },
            },
        };
        match act {
            Action::Crash { at } => up[at] = false,
            Action::Recover { at } => up[at] = true,
            Action::Transfer { to, .. } if !up[to] => continue,
            _ => {}
        }
        steps.push((act, network));
    }
    let whole = || Network::whole(size);
    let down = (0..size).filter(|place| !up[*place]);
    steps.extend(down.map(|at| (Action::Recover { at }, whole())));
    let at = random.usize(..size);
    // The first candidate may lack committed entries, so all stand in turn.
    let stand = (0..size).map(|place| Action::Elect { at: (at + place) % size });
    let rest = stand.chain((0..size).map(|at| Action::Propose { at }));
    let rest = rest.chain((0..2 * size).map(|place| Action::Beat { at: place % size }));
    steps.extend(rest.map(|act| (act, whole())));
    steps
}
