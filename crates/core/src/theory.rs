//! What the literature says of an algorithm, to be held beside what a run measures.

use crate::process::ProcessId;

/// What the books say of how long an algorithm takes, and whom it lets pass whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theory {
    /// From request to entry, nobody else wanting to, in hops of messages. Empty for an election.
    pub entry: &'static str,
    /// From an exit to the next entry, somebody waiting; from the start of an election by all at
    /// once until all know its end; of an agreement, from when all ask at once until the last of
    /// them is told.
    pub delay: Hops,
    /// The most entries of one other while a process waits. Empty for an election.
    pub bypass: &'static str,
    /// Whether requests are served in the order in which one happened before the other. Empty for
    /// an election.
    pub order: &'static str,
}

impl Theory {
    /// Of a lock: its delay at entry, its bypass and its order, in words.
    pub const fn lock([entry, bypass, order]: [&'static str; 3], delay: Hops) -> Self {
        Theory { entry, delay, bypass, order }
    }

    /// Of an election that takes so many hops when all start at once.
    pub const fn election(hops: u32) -> Self {
        Theory::agreement("", hops)
    }

    /// Of an agreement that takes so many hops, in words and in number, when all ask at once.
    pub const fn agreement(words: &'static str, hops: u32) -> Self {
        let delay = Hops { words, least: hops, most: hops, whole: true };
        Theory { entry: "", delay, bypass: "", order: "" }
    }
}

/// A number of messages one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops {
    /// As people write it.
    pub words: &'static str,
    /// The fewest.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// Whether it holds whatever else happens in a run. Else it is what one takes whom nobody
    /// else delays.
    pub whole: bool,
}

impl Hops {
    /// One message.
    pub const ONE: Hops = Hops { words: "1", least: 1, most: 1, whole: true };

    /// One message, and another.
    pub const TWO: Hops = Hops { words: "2", least: 2, most: 2, whole: true };

    /// From the next on the ring to all the way round.
    pub const fn ring(size: u32) -> Self {
        Hops { words: "1…N", least: 1, most: size, whole: true }
    }

    /// From a neighbour in the tree to its diameter.
    pub const fn tree(diameter: u32) -> Self {
        Hops { words: "1…D", least: 1, most: diameter, whole: true }
    }
}

/// What users do in a run, as far as formulas tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// One enters at a time, each time a process that is drawn.
    OneAtATime,
    /// Everybody enters equally often, whenever it wants to.
    Alike,
    /// Everybody starts an election at once, with the ranks of the configuration.
    AllStart,
    /// Everybody starts one at once, with ranks in an order that is drawn.
    AllStartDrawn,
    /// This process alone starts one.
    OneStarts(ProcessId),
    /// Anything else.
    Other,
}

/// A number of messages that theory expects, per entry or per election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Expected {
    /// What kind of number it is.
    pub precision: Precision,
    /// The number.
    pub messages: Figure,
}

impl Expected {
    /// So many, and no fractions.
    pub const fn new(precision: Precision, messages: u64) -> Self {
        Expected { precision, messages: Figure { sum: messages, shared_by: 1, laps: 0, of: 0 } }
    }

    /// A sum, shared by so many.
    pub const fn shared(precision: Precision, sum: u64, shared_by: u64) -> Self {
        Expected { precision, messages: Figure { sum, shared_by, laps: 0, of: 0 } }
    }

    /// A mean of so many times the harmonic number 1 + 1/2 + … + 1/`of`, and some more.
    pub const fn harmonic(laps: u64, of: u32, more: u64) -> Self {
        let messages = Figure { sum: more, shared_by: 1, laps, of };
        Expected { precision: Precision::Mean, messages }
    }
}

/// `sum / shared_by + laps · H(of)`, with the harmonic number H: exact where no float is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Figure {
    /// The whole number.
    pub sum: u64,
    /// What it is divided by.
    pub shared_by: u64,
    /// What the harmonic number is multiplied by.
    pub laps: u64,
    /// Of which number the harmonic number is taken.
    pub of: u32,
}

/// What kind of number theory gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// That many in every run.
    Exact,
    /// That many on average over what is drawn.
    Mean,
    /// Never more.
    Most,
    /// Never fewer.
    Least,
}

impl Precision {
    /// The words before the number.
    pub const fn words(self) -> &'static str {
        match self {
            Precision::Exact => "exactly",
            Precision::Mean => "on average",
            Precision::Most => "at most",
            Precision::Least => "at least",
        }
    }
}
