//! What is fixed about the bully election: ranks, timeouts, and which mistakes are switched on.

use alloc::sync::Arc;

use tenure_core::{Delay, Rank};

use super::Switch;
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By process: what decides. All different.
    pub ranks: Arc<[Rank]>,
    /// *T*: at least two message delays and a step.
    pub answer: Delay,
    /// *T1*: at least T for everybody above, on the slowest of clocks, and a message delay.
    pub coordinator: Delay,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// Plain ids as ranks, and timeouts for a group of `size` whose messages take at most
    /// `delay` ticks, and whose clocks do not drift.
    pub fn plain(size: u32, delay: u64) -> Self {
        let answer = 2 * delay + delay / 2;
        Config {
            ranks: (1..=size).map(Rank::of_id).collect(),
            answer: Delay::ticks(answer),
            coordinator: coordinator_timeout(size, answer, delay),
            variants: Variants::none(),
        }
    }
}

/// Returns T1 where a process above waits for T, up to `answer` ticks on the clock of the process
/// that waits for it.
fn coordinator_timeout(size: u32, answer: u64, delay: u64) -> Delay {
    Delay::ticks(answer.saturating_mul(u64::from(size)).saturating_add(delay))
}

/// The name of *T* on the command line.
pub(super) const ANSWER: &str = "answer";

/// The name of *T1* on the command line.
pub(super) const COORDINATOR: &str = "coordinator";

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let Parameters { size, delay, .. } = *parameters;
        let plain = Config::plain(size, delay);
        let (ranks, variants) = (parameters.ranks.clone(), parameters.variants()?);
        let answer = parameters.timeout(ANSWER, plain.answer);
        // The process that waits may have the fastest clock, and the awaited one the slowest.
        let awaited = parameters.stretched(answer.max);
        let coordinator =
            parameters.timeout(COORDINATOR, coordinator_timeout(size, awaited, delay));
        Ok(Config { ranks, answer, coordinator, variants })
    }
}
