//! Parameters of configurations, and the configurations that follow from them.

use core::num::NonZeroU32;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Delay, ProcessId, ProcessSet, Rank, TICKS_PER_UNIT, Term};

use crate::catalogue_error::CatalogueError;
use crate::drift;
use crate::variants::{Switch, UnknownVariant, Variants};

/// Name of the retransmission timeout on the command line.
pub(crate) const RESEND: &str = "resend";

/// Parameters on which a configuration may depend.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Number of processes.
    pub size: u32,
    /// Rank of each process, which decides elections.
    pub ranks: Arc<[Rank]>,
    /// Processes that had failed before the start, as the others know.
    pub absent: ProcessSet,
    /// The coordinator, if it is fixed.
    pub coordinator: ProcessId,
    /// Kind of quorums.
    pub quorums: Kind,
    /// Upper bound on processes inside a k-mutex.
    pub most_inside: NonZeroU32,
    /// Shape of the tree.
    pub tree: Shape,
    /// Names of the variants that are switched on.
    pub variants: Vec<String>,
    /// Upper bound on message delay, in ticks; timeouts are derived from it.
    pub delay: u64,
    /// Upper bound on clock drift, in parts per million.
    pub drift_ppm: u32,
    /// Timeouts set by the user, by name; the others follow from `delay` and `drift_ppm`.
    pub timeouts: Vec<(String, Delay)>,
    /// Number of distinct heartbeat numbers: many in general, few for a small state space.
    pub rounds: u64,
}

impl Parameters {
    /// Returns defaults: plain ids, the first process as coordinator, grid quorums (which exist
    /// for every number of processes), two processes inside a k-mutex, a star as the tree, no
    /// variants, and a message delay of one unit.
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

    /// Returns the variants that are switched on.
    ///
    /// # Errors
    ///
    /// Returns an error for the first name that is not declared.
    pub fn variants<S: Switch>(&self) -> Result<Variants<S>, UnknownVariant> {
        Variants::named(self.variants.iter().map(String::as_str))
    }

    /// Splits the variants of a wrapping algorithm: returns its own ones, and the parameters of the
    /// inner algorithm with all others.
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

    /// Checks the variants of an algorithm that declares none.
    ///
    /// # Errors
    ///
    /// Returns an error for the first variant that is switched on.
    pub fn no_variants(&self) -> Result<(), UnknownVariant> {
        match self.variants.first() {
            Some(name) => Err(UnknownVariant { name: name.clone(), known: Vec::new() }),
            None => Ok(()),
        }
    }

    /// Returns parameters for a channel on which a message may be repeated three times, each time
    /// after the timeout of its sender's clock, which may be the slowest.
    pub(crate) fn with_repeats(&self) -> Self {
        let repeats = self.stretched(self.resend().max).saturating_mul(3);
        Parameters { delay: self.delay.saturating_add(repeats), ..self.clone() }
    }

    /// Returns the retransmission timeout: longer than a message and its acknowledgement take.
    pub(crate) fn resend(&self) -> Delay {
        self.timeout(RESEND, Delay::ticks(3 * self.delay))
    }
}

/// A configuration that follows from parameters.
pub trait Configured: Sized {
    /// Returns the configuration for the parameters.
    ///
    /// # Errors
    ///
    /// Returns an error for an undeclared variant, or for quorums that do not exist.
    fn configured(parameters: &Parameters) -> Result<Self, CatalogueError>;
}

/// For algorithms whose only choice is their variants.
impl<S: Switch> Configured for Variants<S> {
    fn configured(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(parameters.variants()?)
    }
}

/// For algorithms without any choice.
impl Configured for () {
    fn configured(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(parameters.no_variants()?)
    }
}
