//! Renaming by stable vectors: processes choose distinct small names based on a view that a
//! majority shares.
//!
//! H. Attiya, A. Bar-Noy, D. Dolev, D. Peleg, R. Reischuk, *Renaming in an asynchronous
//! environment*, Journal of the ACM 37(3), 1990.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, first-in-first-out channels; t < N/2 crashes without recovery |
//! | names | 1 … N + t, whatever the original names are |
//! | messages | N − 1 whenever the vector of a process changes; no bound that depends only on N |
//!
//! **Why it is right.** Each process keeps what it knows of every process: its original name, its
//! suggested new name, and the version of that suggestion. A process that learns something sends
//! its whole vector to all. A vector is *stable* once N − t processes, including its owner, have
//! sent exactly that vector. For any two stable vectors, some process has sent both, because any
//! two sets of N − t processes share a process. Vectors only grow, so one of the two vectors
//! contains the other.
//!
//! A process decides on its suggestion when its vector is stable and no other process in the vector
//! suggests the same name. Suppose that two processes decide on one name. The larger of their two
//! stable vectors contains the smaller one. So it contains the final suggestion of the other
//! process, which is the same name. So the process with the larger vector does not decide: a
//! contradiction. On a conflict, a process suggests another name. If its original name is the r-th
//! smallest of the undecided processes, it suggests the r-th name that no other process suggests.
//! The others suggest at most N − 1 names. Only the first t + 1 undecided processes suggest names,
//! so r is at most t + 1, and N + t is the largest name. At least one of these t + 1 processes
//! stays up. Eventually, all vectors contain the same first undecided process. No other process
//! suggests the same name as this process, so it decides.
//!
//! In the paper, messages may overtake each other. This implementation would also be correct on
//! such channels, because an old vector contains nothing new. It assumes FIFO channels only to
//! reduce the number of message orders that a checker must explore.

use alloc::collections::BTreeMap;

use tenure_core::service::renaming::{Command, Event};
use tenure_core::{
    Algorithm, Card, ChannelOrder, CrashModel, Effects, Group, MessageCost, Never, ProcessId,
    ProcessSet, Property, Protocol, Rank, Service, ToleratedFaults, labelled,
};

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// One process: its vector of names, and the processes that have sent an equal vector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StableVectors {
    group: Group,
    variants: Variants<VariantId>,
    original: Rank,
    /// *V*, the vector: for each process that wants a name, the newest known state.
    known: BTreeMap<ProcessId, Entry>,
    /// Processes that have sent exactly the current vector. This process is one of them.
    agree: ProcessSet,
}

/// Known state of one process that requests a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// Original name of the process.
    pub original: Rank,
    /// Version of the entry, from 1. Each change of the entry increases the version by 1.
    pub version: u64,
    /// New name that the process suggests for itself; `None` before its first suggestion.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    pub suggests: Option<u32>,
    /// True if the suggestion is final.
    pub decided: bool,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The complete vector of the sender.
    Vector {
        /// Known entry of each process that wants a name.
        known: BTreeMap<ProcessId, Entry>,
    },
}

labelled!(Message, Agreement, Vector => "vector");

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Original names of the processes, by index. A process reads only its own.
    pub originals: alloc::sync::Arc<[Rank]>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration with the original names 1, 2, 3 …
    pub fn with_defaults(size: u32) -> Self {
        Config { originals: (1..=size).map(Rank::from_id).collect(), variants: Variants::none() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let originals = parameters.ranks.clone();
        Ok(Config { originals, variants: parameters.variants()? })
    }
}

variant_ids! {
    Impatient = "impatient", unsound,
        "a vector is considered stable without confirmation by other processes"
        => "", "-n 2";
    Keeps = "keeps-suggestion", unsound,
        "a process decides on its suggestion although another suggests the same"
        => "", "-n 3";
    AllSuggest = "all-suggest", unsound,
        "every process suggests a name, not only the first t + 1"
        => "", "-n 2";
}

impl Protocol for StableVectors {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        StableVectors {
            group,
            variants: config.variants,
            original: config.originals[group.me().index()],
            known: BTreeMap::new(),
            agree: ProcessSet::new(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Rename = command;
        let entry = Entry { original: self.original, version: 1, suggests: None, decided: false };
        self.update_entry(entry, fx);
        self.advance(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Vector { known } = message;
        if self.merge(&known) {
            self.broadcast_vector(fx);
        }
        if known == self.known {
            self.agree.insert(from);
        }
        self.advance(fx);
    }
}

impl StableVectors {
    /// Merges `known`, the vector of another process, into the vector of this process. Copies each
    /// entry that is newer than the entry of this process. Returns true if it has copied an entry.
    fn merge(&mut self, known: &BTreeMap<ProcessId, Entry>) -> bool {
        let mut is_new = false;
        for (of, entry) in known {
            // This process's own entry is always the newest.
            let is_newer = self.known.get(of).is_none_or(|known| known.version < entry.version);
            if is_newer && *of != self.group.me() {
                self.known.insert(*of, *entry);
                is_new = true;
            }
        }
        is_new
    }

    /// Sends the vector to all processes after a change. Removes all other processes from `agree`,
    /// because none of these processes has sent the new vector yet.
    fn broadcast_vector(&mut self, fx: &mut impl Effects<Self>) {
        self.agree = ProcessSet::from_iter([self.group.me()]);
        fx.broadcast(&self.group.peers(), Message::Vector { known: self.known.clone() });
    }

    fn update_entry(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        self.known.insert(self.group.me(), entry);
        self.broadcast_vector(fx);
    }

    /// Suggests a name for this process, or decides on the name that it has suggested, while the
    /// vector is stable. The vector is stable if enough processes have sent exactly this vector.
    fn advance(&mut self, fx: &mut impl Effects<Self>) {
        while self.is_stable()
            && let Some(next) = self.next_entry()
        {
            self.update_entry(next, fx);
            if let Entry { suggests: Some(name), decided: true, .. } = next {
                fx.emit(Event::Named { name });
            }
        }
    }

    fn is_stable(&self) -> bool {
        let needed = self.group.size() - self.max_crashes();
        self.agree.len() >= needed || self.variants.has(VariantId::Impatient)
    }

    /// Returns the next version of the entry of this process. The new version suggests or decides a
    /// name. Returns `None` if this process has decided its name, or if it must wait for processes
    /// with smaller original names. The caller ensures that the vector is stable.
    fn next_entry(&self) -> Option<Entry> {
        let me = self.group.me();
        let ours = *self.known.get(&me).filter(|entry| !entry.decided)?;
        let others = || self.known.iter().filter(|(of, _)| **of != me).map(|(_, entry)| entry);
        let is_taken = |name: &u32| others().any(|entry| entry.suggests == Some(*name));
        let version = ours.version + 1;
        if let Some(name) = ours.suggests
            && (!is_taken(&name) || self.variants.has(VariantId::Keeps))
        {
            return Some(Entry { version, decided: true, ..ours });
        }
        let before = others().filter(|it| !it.decided && it.original < ours.original).count();
        if before > self.max_crashes() as usize && !self.variants.has(VariantId::AllSuggest) {
            return None;
        }
        let suggests = (1..).filter(|name| !is_taken(name)).nth(before);
        Some(Entry { version, suggests, ..ours })
    }

    /// Returns *t*, the largest number of crashes that the algorithm tolerates.
    const fn max_crashes(&self) -> u32 {
        (self.group.size() - 1) / 2
    }
}

impl Algorithm for StableVectors {
    fn card(_: &Config, size: u32) -> Card {
        let least = 3 * (u64::from(size) - 1);
        Card {
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                ..ToleratedFaults::duplication_only("survives crashes without return of a minority")
                    .requiring_majority()
            },
            messages: MessageCost::per_agreement("at least 3(N−1) for each", least, None),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Renaming,
                "stable-vectors",
                "a process picks a name once a majority shares its view",
                "Attiya, Bar-Noy, Dolev, Peleg and Reischuk, JACM 37(3), 1990",
            )
            .with_promises([Property::UniqueNames, Property::NamesInRange])
        }
    }
}
