//! Configuration of Raft's election: timeouts, and variants with mistakes.

use tenure_core::{Delay, Term};

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

pub(crate) const ELECTION_TIMEOUT_NAME: &str = "election";
pub(crate) const HEARTBEAT_TIMEOUT_NAME: &str = "heartbeat";
pub(crate) const LEASE_TIMEOUT_NAME: &str = "lease";

pub(crate) const ELECTION_DESCRIPTION: &str = "time without a leader after which a process starts \
                                               an election";
pub(crate) const HEARTBEAT_DESCRIPTION: &str = "interval between messages of a leader";

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The election timeout. It must be much longer than the heartbeat interval. The timeout is
    /// random, and its range must be so wide that one process usually times out alone.
    pub election_timeout: Delay,
    /// Interval between heartbeats. It must be longer than the time for a message and its response.
    pub heartbeat_interval: Delay,
    /// Time for which a leader may continue to lead after a majority has responded. The sum of this
    /// time and a heartbeat interval must be shorter than the election timeout, even if the clocks
    /// drift.
    pub lease_duration: Delay,
    /// Heartbeat numbers are counted modulo this number. A response that is delayed by exactly as
    /// many heartbeats is mistaken for a response to the current heartbeat.
    pub heartbeat_modulus: u64,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration without variants for a group of `size` processes whose messages take
    /// at most `delay` ticks. The election timeout is a random time between 12 and 12 + 4 · `size`
    /// delays, so that two processes rarely time out together. A leader survives one unanswered
    /// heartbeat. Clocks may drift by 4 %.
    pub fn with_defaults(size: u32, delay: u64) -> Self {
        let min = 12 * delay;
        Config {
            election_timeout: Delay { min, max: min + 4 * delay * u64::from(size) },
            heartbeat_interval: Delay::ticks(3 * delay),
            lease_duration: Delay::ticks(8 * delay),
            heartbeat_modulus: Term::NUMBER_LIMIT,
            variants: Variants::none(),
        }
    }
}

impl Config {
    /// Returns a configuration without variants. Timeouts that are set in `parameters` have the
    /// given values. All other timeouts have defaults. The default election timeout allows for
    /// clock drift: even on the fastest clock, it lasts longer than a lease plus a heartbeat
    /// interval on the slowest clock.
    pub(crate) fn without_variants(parameters: &Parameters) -> Self {
        let plain = Config::with_defaults(parameters.size, parameters.delay);
        let heartbeat = parameters.timeout_or(HEARTBEAT_TIMEOUT_NAME, plain.heartbeat_interval);
        let lease = parameters.timeout_or(LEASE_TIMEOUT_NAME, plain.lease_duration);
        let min_election =
            parameters.ticks_on_fastest_clock(lease.max.saturating_add(heartbeat.max));
        let longer = min_election.saturating_add(1).saturating_sub(plain.election_timeout.min);
        let Delay { min, max } = plain.election_timeout;
        let election = Delay { min: min.saturating_add(longer), max: max.saturating_add(longer) };
        Config {
            election_timeout: parameters.timeout_or(ELECTION_TIMEOUT_NAME, election),
            heartbeat_interval: heartbeat,
            lease_duration: lease,
            ..plain
        }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let Config {
            election_timeout: election,
            heartbeat_interval: heartbeat,
            lease_duration: lease,
            ..
        } = Config::without_variants(parameters);
        let (heartbeat_modulus, variants) =
            (parameters.sequence_number_modulus, parameters.variants()?);
        Ok(Config {
            election_timeout: election,
            heartbeat_interval: heartbeat,
            lease_duration: lease,
            heartbeat_modulus,
            variants,
        })
    }
}

variant_ids! {
    PreVote = "pre-vote", sound,
        "a candidate first asks whether a majority would vote, and keeps its term if not";
    HeedlessPreVote = "heedless-pre-vote", unsound,
        "a pre-vote is granted although a leader is known: a partitioned process deposes it, as \
         without pre-vote"
        => "", "simulate -n 3 --variant pre-vote,heedless-pre-vote --initiators 1 \
                --partition 3@20..80 --runs 100 --property steady-leader";
    ForgottenVote = "forgotten-vote", unsound,
        "the vote is not saved: a restarted process votes a second time in the same term"
        => "", "-n 3 --crash 1 --recover 1 --property one-leader-per-term";
    NoCheckQuorum = "no-check-quorum", unsound,
        "a leader needs no responses: when partitioned it leads forever, next to its successor"
        => "", "-n 3 --timing synchronous --latency 0 --initiators 1 \
                --partition 1 --property one-leader-at-a-time";
    LongLease = "long-lease", unsound,
        "a lease is as long as the election timeout: others vote before it expires"
        => "", "-n 3 --timing synchronous --latency 0 --initiators 1 \
                --partition 1 --property one-leader-at-a-time";
}
