//! What a configuration may depend on, and what it is then.

use core::num::NonZeroU32;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Delay, ProcessId, ProcessSet, Rank, TICKS_PER_UNIT, Term};

use super::Unknown;
use crate::channel::{RESEND, fifo};
use crate::drift;
use crate::election::{bully, raft};
use crate::variants::{Switch, UnknownVariant, Variants};

/// What a configuration may depend on.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// How many processes there are.
    pub size: u32,
    /// By process: what decides elections.
    pub ranks: Arc<[Rank]>,
    /// Who had failed before the start, where the others know it.
    pub absent: ProcessSet,
    /// Who coordinates, where that is fixed.
    pub coordinator: ProcessId,
    /// How quorums are built, where they are needed.
    pub quorums: Kind,
    /// How many a k-mutex lets in at once.
    pub most_inside: NonZeroU32,
    /// How the tree is shaped, where one is needed.
    pub tree: Shape,
    /// The variants that are switched on, by name.
    pub variants: Vec<String>,
    /// The longest that a message may take, in ticks: what timeouts are made of.
    pub delay: u64,
    /// Bound on the drift of clocks, in parts in a million.
    pub drift_ppm: u32,
    /// Timeouts that a user has set, by name; the others follow from `delay` and `drift_ppm`.
    pub timeouts: Vec<(String, Delay)>,
    /// After how many heartbeats their numbers begin again, where answers are told apart by them:
    /// many, or else few states.
    pub rounds: u64,
}

impl Parameters {
    /// Plain ids, the first process as coordinator, quorums of a grid (which every number of
    /// processes has), two at once in a k-mutex, a star as the tree, no variants, messages of
    /// one unit.
    pub fn plain(size: u32) -> Self {
        Parameters {
            size,
            ranks: (1..=size).map(Rank::of_id).collect(),
            absent: ProcessSet::new(),
            coordinator: ProcessId(0),
            quorums: Kind::Grid,
            most_inside: NonZeroU32::MIN.saturating_add(1),
            tree: Shape::Star,
            variants: Vec::new(),
            delay: TICKS_PER_UNIT,
            drift_ppm: 0,
            timeouts: Vec::new(),
            rounds: Term::NUMBERS,
        }
    }

    /// Those that are switched on, where some are declared.
    ///
    /// # Errors
    ///
    /// The first name that is not declared.
    pub fn variants<S: Switch>(&self) -> Result<Variants<S>, UnknownVariant> {
        Variants::named(self.variants.iter().map(String::as_str))
    }

    /// Of an algorithm around another one: those of its own that are switched on, and the
    /// parameters of the one inside, which has all others.
    pub(crate) fn split<S: Switch>(&self) -> (Variants<S>, Self) {
        let is = |switch: &S, name: &String| switch.declaration().name == name;
        let is_on = |switch: &&S| self.variants.iter().any(|name| is(switch, name));
        let ours = S::ALL.iter().filter(is_on).fold(Variants::none(), |all, it| all.with(*it));
        let is_ours = |name: &&String| S::ALL.iter().any(|switch| is(switch, name));
        let theirs = self.variants.iter().filter(|name| !is_ours(name)).cloned().collect();
        (ours, Parameters { variants: theirs, ..self.clone() })
    }

    /// Returns the timeout of this name that the user has set, or the default.
    pub fn timeout(&self, name: &str, default: Delay) -> Delay {
        let set = self.timeouts.iter().find(|(set, _)| set == name);
        set.map_or(default, |(_, delay)| *delay)
    }

    /// Returns the ticks that the fastest clock shows while the slowest shows this many.
    pub fn stretched(&self, ticks: u64) -> u64 {
        drift::stretched(ticks, self.drift_ppm)
    }

    /// For algorithms that declare none.
    ///
    /// # Errors
    ///
    /// The first name that is switched on.
    pub fn no_variants(&self) -> Result<(), UnknownVariant> {
        match self.variants.first() {
            Some(name) => Err(UnknownVariant { name: name.clone(), known: Vec::new() }),
            None => Ok(()),
        }
    }

    /// For the election of an office: real networks part and heal, so a bully greets, and whoever
    /// was cut off from a majority asks it before it stands.
    pub(super) fn of_office(&self, election: &str) -> Self {
        let switch = match election {
            "bully" => Some(bully::Switch::Greet.declaration()),
            "raft" => Some(raft::Switch::PreVote.declaration()),
            _ => None,
        };
        let variants = switch.into_iter().map(|it| it.name.into()).collect();
        Parameters { variants, ..self.clone() }
    }

    /// The same where a message may have to be repeated three times before it arrives, each time
    /// on the clock of its sender, which may be the slowest.
    pub(super) fn with_repeats(&self) -> Self {
        let repeats = self.stretched(self.resend().max).saturating_mul(3);
        Parameters { delay: self.delay.saturating_add(repeats), ..self.clone() }
    }

    /// Longer than a message and its acknowledgement take.
    pub(super) fn resend(&self) -> Delay {
        self.timeout(RESEND, Delay::ticks(3 * self.delay))
    }
}

/// A configuration that follows from parameters.
pub trait Configured: Sized {
    /// What the parameters ask for.
    ///
    /// # Errors
    ///
    /// When they name a variant that is not declared, or quorums that do not exist.
    fn configured(parameters: &Parameters) -> Result<Self, Unknown>;
}

/// Of algorithms in which nothing but variants can be chosen.
impl<S: Switch> Configured for Variants<S> {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        Ok(parameters.variants()?)
    }
}

/// Of what runs over a channel that is made reliable.
impl<C: Configured> Configured for fifo::Config<C> {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let inner = C::configured(&parameters.with_repeats())?;
        Ok(fifo::Config { resend: parameters.resend(), ..fifo::Config::around(inner) })
    }
}

/// Of algorithms in which nothing can be chosen.
impl Configured for () {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        Ok(parameters.no_variants()?)
    }
}
