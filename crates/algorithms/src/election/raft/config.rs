//! What is fixed about Raft's election: its timeouts, and which mistakes are switched on.

use tenure_core::{Delay, Term};

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// The names of the timeouts on the command line.
pub(crate) const ELECTION: &str = "election";
pub(crate) const HEARTBEAT: &str = "heartbeat";
pub(crate) const LEASE: &str = "lease";

/// What they limit.
pub(crate) const SAYS_ELECTION: &str = "without a leader for so long, a process stands itself";
pub(crate) const SAYS_HEARTBEAT: &str = "from one message of a leader to the next";

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// The election timeout: much longer than the heartbeat, and wide enough for one process to
    /// be alone in time out of it.
    pub election: Delay,
    /// How often a leader says that it is there: longer than a message and its answer take.
    pub heartbeat: Delay,
    /// How long a leader is one after a majority has answered: with a heartbeat shorter than the
    /// election timeout, by more than clocks differ.
    pub lease: Delay,
    /// How many heartbeats have numbers of their own: an answer that is late by so many would be
    /// taken for a new one.
    pub rounds: u64,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// Timeouts for a group of `size` whose messages take at most `delay` ticks: twelve delays, and
    /// four more for each process, lest two time out together. A leader outlives one heartbeat
    /// that nobody answers; heartbeat and lease last 11 delays, so that no clock may be 4 % fast
    /// or slow.
    pub fn plain(size: u32, delay: u64) -> Self {
        let min = 12 * delay;
        Config {
            election: Delay { min, max: min + 4 * delay * u64::from(size) },
            heartbeat: Delay::ticks(3 * delay),
            lease: Delay::ticks(8 * delay),
            rounds: Term::NUMBERS,
            variants: Variants::none(),
        }
    }
}

impl Config {
    /// The timeouts that the parameters ask for. The election timeout of the fastest clock is
    /// longer than lease and heartbeat together on the slowest.
    pub(crate) fn timed(parameters: &Parameters) -> Self {
        let plain = Config::plain(parameters.size, parameters.delay);
        let heartbeat = parameters.timeout(HEARTBEAT, plain.heartbeat);
        let lease = parameters.timeout(LEASE, plain.lease);
        let least = parameters.stretched(lease.max.saturating_add(heartbeat.max));
        let longer = (least + 1).saturating_sub(plain.election.min);
        let Delay { min, max } = plain.election;
        let election = Delay { min: min + longer, max: max + longer };
        Config { election: parameters.timeout(ELECTION, election), heartbeat, lease, ..plain }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let Config { election, heartbeat, lease, .. } = Config::timed(parameters);
        let (rounds, variants) = (parameters.rounds, parameters.variants()?);
        Ok(Config { election, heartbeat, lease, rounds, variants })
    }
}

switches! {
    PreVote = "pre-vote", sound,
        "a candidate first asks whether a majority would vote, and keeps its term if not";
    HeedlessPreVote = "heedless-pre-vote", unsound,
        "a pre-vote is granted though a leader is there: who was cut off deposes it, as without"
        => "", "simulate -n 3 --variant pre-vote,heedless-pre-vote --initiators 1 \
                --partition 3@20..80 --runs 100 --property steady-leader";
    ForgottenVote = "forgotten-vote", unsound,
        "the vote is not saved: whoever comes back votes a second time in the same term"
        => "", "-n 3 --crash 1 --recover 1 --property one-leader-per-term";
    NoCheckQuorum = "no-check-quorum", unsound,
        "a leader needs no answers: cut off, it leads for ever, beside the next one"
        => "", "-n 3 --timing synchronous --latency 0 --initiators 1 \
                --partition 1 --property one-leader-at-a-time";
    LongLease = "long-lease", unsound,
        "a lease is as long as the election timeout: others vote before it is over"
        => "", "-n 3 --timing synchronous --latency 0 --initiators 1 \
                --partition 1 --property one-leader-at-a-time";
}
