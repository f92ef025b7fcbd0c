//! Configuration of the bully election: ranks, timeouts and variants.

use alloc::sync::Arc;

use tenure_core::{Delay, Rank};

use super::VariantId;
use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Ranks of the processes, by index. All ranks are distinct.
    pub ranks: Arc<[Rank]>,
    /// *T*: time for which a process waits for the answers of higher processes. *T* must be at
    /// least two message delays plus the duration of one step.
    pub answer_timeout: Delay,
    /// *T1*: time for which a process waits for the announcement of a leader after a higher process
    /// has answered. Also the time for which a process waits until it trusts a suspected new leader
    /// again. Each higher process may first wait for *T*. *T1* must cover all these waits on the
    /// slowest clock, and one message delay.
    pub coordinator_timeout: Delay,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration in which the rank of each process is its id. The timeouts suit a
    /// group of `size` processes whose messages take at most `delay` ticks, without clock drift.
    pub fn with_defaults(size: u32, delay: u64) -> Self {
        let answer = 2 * delay + delay / 2;
        Config {
            ranks: (1..=size).map(Rank::from_id).collect(),
            answer_timeout: Delay::ticks(answer),
            coordinator_timeout: coordinator_timeout(size, answer, delay),
            variants: Variants::none(),
        }
    }
}

/// Returns *T1* for a group of `size` processes. The result covers one wait of `answer` ticks for
/// each process, and one message of `delay` ticks. `answer` is the longest wait for answers (*T*),
/// measured on the fastest clock.
fn coordinator_timeout(size: u32, answer: u64, delay: u64) -> Delay {
    Delay::ticks(answer.saturating_mul(u64::from(size)).saturating_add(delay))
}

/// Name of the timeout *T* on the command line.
pub(super) const ANSWER_TIMEOUT_NAME: &str = "answer";

/// Name of the timeout *T1* on the command line.
pub(super) const COORDINATOR_TIMEOUT_NAME: &str = "coordinator";

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let Parameters { size, delay, .. } = *parameters;
        let plain = Config::with_defaults(size, delay);
        let (ranks, variants) = (parameters.ranks.clone(), parameters.variants()?);
        let answer = parameters.timeout_or(ANSWER_TIMEOUT_NAME, plain.answer_timeout);
        // The waiting process may have the fastest clock, and the awaited one the slowest.
        let awaited = parameters.ticks_on_fastest_clock(answer.max);
        let coordinator = parameters
            .timeout_or(COORDINATOR_TIMEOUT_NAME, coordinator_timeout(size, awaited, delay));
        Ok(Config { ranks, answer_timeout: answer, coordinator_timeout: coordinator, variants })
    }
}
