//! Configuration of the invitation election: ranks, timeouts and variants.

use alloc::sync::Arc;

use tenure_core::{Delay, ProcessId, Rank};

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

pub(super) const CHECK_TIMEOUT_NAME: &str = "check";
pub(super) const MERGE_TIMEOUT_NAME: &str = "merge";
pub(super) const ACCEPT_TIMEOUT_NAME: &str = "accept";
pub(super) const READY_TIMEOUT_NAME: &str = "ready";

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Ranks of the processes, by index. All ranks are distinct. A process of higher rank invites
    /// sooner.
    pub ranks: Arc<[Rank]>,
    /// Interval at which a coordinator looks for other groups. It must be longer than the time
    /// between the discovery of a group and the invitation. So the invitations of one check are
    /// sent before the next check begins.
    pub check_interval: Delay,
    /// Time that the process with the highest rank waits before it invites the groups that it has
    /// found. The process with the *k*-th highest rank waits *k* times as long, so the invitation
    /// of a process with a higher rank arrives first. The time must be longer than two message
    /// delays, so that a coordinator finds all other groups within this time.
    pub merge_delay_per_rank: Delay,
    /// Time for which an inviting process waits for acceptances. It must be long enough for three
    /// messages: the invitation, its forwarding to a member, and the member's acceptance.
    pub accept_timeout: Delay,
    /// Time for which a process waits for the group to become ready after it has accepted an
    /// invitation. After this time, the process forms a group of its own.
    pub ready_timeout: Delay,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration in which the rank of each process is its id. The timeouts suit a
    /// group of `size` processes whose messages take at most `delay` ticks, without clock drift.
    pub fn with_defaults(size: u32, delay: u64) -> Self {
        Config::timed(size, delay, |ticks| ticks)
    }

    /// Returns a configuration whose timeouts allow for clock drift. `stretched(t)` is the time
    /// that passes on the fastest clock while the slowest clock shows `t`.
    fn timed(size: u32, delay: u64, stretched: impl Fn(u64) -> u64) -> Self {
        let merge = stretched(3 * delay);
        let accept = 3 * delay + delay / 2;
        Config {
            ranks: (1..=size).map(Rank::from_id).collect(),
            check_interval: Delay::ticks(merge.saturating_mul(u64::from(size) + 3)),
            merge_delay_per_rank: Delay::ticks(merge),
            accept_timeout: Delay::ticks(accept),
            ready_timeout: Delay::ticks(stretched(accept).saturating_add(2 * delay)),
            variants: Variants::none(),
        }
    }

    /// Returns the time for which the process `of` waits before it invites the groups that it has
    /// found: [`Config::merge_delay_per_rank`] multiplied by the place of its rank, where the
    /// highest rank has place 1.
    pub(super) fn merge_delay(&self, of: ProcessId) -> Delay {
        let own = self.ranks[of.index()];
        let higher = self.ranks.iter().filter(|rank| **rank > own).count() as u64;
        let Delay { min, max } = self.merge_delay_per_rank;
        Delay { min: min.saturating_mul(higher + 1), max: max.saturating_mul(higher + 1) }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let Parameters { size, delay, .. } = *parameters;
        let timed = Config::timed(size, delay, |ticks| parameters.ticks_on_fastest_clock(ticks));
        Ok(Config {
            ranks: parameters.ranks.clone(),
            check_interval: parameters.timeout_or(CHECK_TIMEOUT_NAME, timed.check_interval),
            merge_delay_per_rank: parameters
                .timeout_or(MERGE_TIMEOUT_NAME, timed.merge_delay_per_rank),
            accept_timeout: parameters.timeout_or(ACCEPT_TIMEOUT_NAME, timed.accept_timeout),
            ready_timeout: parameters.timeout_or(READY_TIMEOUT_NAME, timed.ready_timeout),
            variants: parameters.variants()?,
        })
    }
}

variant_ids! {
    NoMerge = "no-merge", unsound,
        "a coordinator invites no other: after a partition there is one leader on each side"
        => "", "-n 2 --initiators 1";
    FollowsEarly = "follows-early", unsound,
        "a process follows the leader of a group that it joins before the group is ready"
        => "", "-n 2 --initiators 1 --property one-leader-per-group --in-flight 1";
    AnyInvitation = "any-invitation", unsound,
        "a process accepts invitations to groups with any number: it may return to an old group"
        => "", "-n 2 --initiators 1 --property agreement --in-flight 1";
    ForgottenNumber = "forgotten-number", unsound,
        "the number is not saved: after a restart a coordinator leads a group of an old number"
        => "", "-n 2 --initiators 1 --crash 1 --recover 1 --property fresh-terms";
    StaysBehind = "stays-behind", unsound,
        "a member does not notice that its leader has left the group, and follows it for ever"
        => "", "-n 2 --initiators 1 --crash 1 --recover 1 --property agreement --term-max 3 \
                --in-flight 1";
}
