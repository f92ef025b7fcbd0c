//! Renaming by stable vectors: all know the same for a moment, and pick different names by it.
//!
//! H. Attiya, A. Bar-Noy, D. Dolev, D. Peleg, R. Reischuk, *Renaming in an asynchronous
//! environment*, Journal of the ACM 37(3), 1990.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, first-in-first-out channels; t < N/2 crashes without return |
//! | names | 1 … N + t, whatever the original names are |
//! | messages | without bound that depends on N alone: (N − 1) for each change that one hears of |
//!
//! **Why it is right.** Everybody keeps what it knows of everybody: its original name, the name
//! that it suggests for itself, and which of its suggestions that is. Whoever learns something
//! sends all it knows to all. What one knows is *stable* when N − t processes, itself among them,
//! have sent just that. Two such sets share a process, which sent both; it only ever learns, so of
//! any two stable vectors one knows all that the other does.
//!
//! A process decides on its suggestion when its vector is stable and nobody else in it suggests the
//! same. Say two decide on one name, one of them on a vector that knows all that the other's does:
//! then it knows the other's suggestion as well, which that one has never changed since, and does
//! not decide. If somebody does suggest the same, it suggests another: of the names that nobody
//! else suggests the r-th, if its original name is the r-th of those who have not decided. Others
//! suggest N − 1 names at most, and only who is among the first t + 1 suggests one: N + t is the
//! largest. Of those t + 1 one stays up, so somebody always goes on; and who is the first of them
//! in all vectors has its name to itself in the end.
//!
//! The paper lets messages overtake each other. So might we, for who learns what it knew already
//! learns nothing; but then a checker would look at every order of old news.

use alloc::collections::BTreeMap;

use tenure_core::service::renaming::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Effects, Faults, Group, Never, Order, ProcessId, ProcessSet,
    Property, Protocol, Rank, Service, labelled,
};

use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::{Variants, switches};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StableVectors {
    group: Group,
    variants: Variants<Switch>,
    /// The name that we have already.
    original: Rank,
    /// *V*: what we know, of those who want a name.
    known: BTreeMap<ProcessId, Entry>,
    /// Who has sent just that, and we ourselves.
    agree: ProcessSet,
}

/// What is known of one who wants a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entry {
    /// The name that it has already.
    pub original: Rank,
    /// How often it has changed the rest of this.
    pub version: u64,
    /// The name that it suggests for itself, if any.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    pub suggests: Option<u32>,
    /// Whether that is its name for ever.
    pub decided: bool,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "This is all that I know."
    Vector {
        /// Of whom what.
        known: BTreeMap<ProcessId, Entry>,
    },
}

labelled!(Message, Agreement, Vector => "vector");

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By process: the names that they have already. Nobody looks at another's.
    pub originals: alloc::sync::Arc<[Rank]>,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// The names 1, 2, 3 …
    pub fn plain(size: u32) -> Self {
        Config { originals: (1..=size).map(Rank::of_id).collect(), variants: Variants::none() }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let originals = parameters.ranks.clone();
        Ok(Config { originals, variants: parameters.variants()? })
    }
}

switches! {
    Impatient = "impatient", unsound,
        "what one knows is taken for stable without asking anybody"
        => "", "-n 2";
    Keeps = "keeps-suggestion", unsound,
        "a process decides on what it suggests, though another suggests the same"
        => "", "-n 3";
    AllSuggest = "all-suggest", unsound,
        "everybody suggests a name, and not only who is among the first t + 1"
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
        self.say(entry, fx);
        self.go_on(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Vector { known } = message;
        if self.learn(&known) {
            self.tell(fx);
        }
        if known == self.known {
            self.agree.insert(from);
        }
        self.go_on(fx);
    }
}

impl StableVectors {
    /// Takes what is newer than what we know; tells whether there was anything.
    fn learn(&mut self, known: &BTreeMap<ProcessId, Entry>) -> bool {
        let mut is_new = false;
        for (of, entry) in known {
            // Of ourselves nobody knows more than we.
            let is_newer = self.known.get(of).is_none_or(|known| known.version < entry.version);
            if is_newer && *of != self.group.me() {
                self.known.insert(*of, *entry);
                is_new = true;
            }
        }
        is_new
    }

    /// What we know has changed: nobody has said the same, so far.
    fn tell(&mut self, fx: &mut impl Effects<Self>) {
        self.agree = ProcessSet::from_iter([self.group.me()]);
        fx.broadcast(&self.group.peers(), Message::Vector { known: self.known.clone() });
    }

    fn say(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        self.known.insert(self.group.me(), entry);
        self.tell(fx);
    }

    /// Suggests or decides whenever what we know is stable.
    fn go_on(&mut self, fx: &mut impl Effects<Self>) {
        while self.is_stable()
            && let Some(next) = self.next_entry()
        {
            self.say(next, fx);
            if let Entry { suggests: Some(name), decided: true, .. } = next {
                fx.emit(Event::Named { name });
            }
        }
    }

    fn is_stable(&self) -> bool {
        let needed = self.group.size() - self.most_crashes();
        self.agree.len() >= needed || self.variants.has(Switch::Impatient)
    }

    /// What becomes of our entry when what we know is stable; nothing, if we have to wait.
    fn next_entry(&self) -> Option<Entry> {
        let me = self.group.me();
        let ours = *self.known.get(&me).filter(|entry| !entry.decided)?;
        let others = || self.known.iter().filter(|(of, _)| **of != me).map(|(_, entry)| entry);
        let is_taken = |name: &u32| others().any(|entry| entry.suggests == Some(*name));
        let version = ours.version + 1;
        if let Some(name) = ours.suggests
            && (!is_taken(&name) || self.variants.has(Switch::Keeps))
        {
            return Some(Entry { version, decided: true, ..ours });
        }
        let before = others().filter(|it| !it.decided && it.original < ours.original).count();
        if before > self.most_crashes() as usize && !self.variants.has(Switch::AllSuggest) {
            return None;
        }
        let suggests = (1..).filter(|name| !is_taken(name)).nth(before);
        Some(Entry { version, suggests, ..ours })
    }

    /// *t*: how many may crash.
    const fn most_crashes(&self) -> u32 {
        (self.group.size() - 1) / 2
    }
}

impl Algorithm for StableVectors {
    fn card(_: &Config, size: u32) -> Card {
        let least = 3 * (u64::from(size) - 1);
        Card {
            order: Order::Fifo,
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::duplication("survives crashes without return of a minority").of_majority()
            },
            messages: Cost::per_agreement("at least 3(N−1) for each", least, None),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Renaming,
                "stable-vectors",
                "who knows the same as a majority picks a name by it",
                "Attiya, Bar-Noy, Dolev, Peleg and Reischuk, JACM 37(3), 1990",
            )
            .promising([Property::UniqueNames, Property::SmallNames])
        }
    }
}
