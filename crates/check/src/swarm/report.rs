//! Coverage of a swarm search.

use std::fmt;

use serde::Serialize;

/// Coverage of one member of a swarm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SwarmMemberCoverage {
    /// Number of this member of the swarm, from 1.
    pub member: u64,
    /// Number of members of the swarm.
    pub members: u64,
    /// Number of bits of the table.
    pub bits: u64,
    /// Number of bits of the table that are set at the end of the search.
    pub bits_set: u64,
    /// Number of hash functions.
    pub hashes: u32,
    /// Expected number of reached states that the search omitted, because the table mistook them
    /// for visited ones.
    pub expected_omissions: f64,
    /// Probability that the search omitted a given state that it reached. The search also misses
    /// each state that can be reached only through omitted states.
    pub omission_probability: f64,
    /// Number of states at the maximum depth. Their successors were not explored.
    pub cut_states: u64,
    /// Maximum number of steps of a run.
    pub depth_max: u32,
    /// True if the search explored the successors of every state that it found. If false, the
    /// search ended early or ended runs at the maximum depth. The number of states that it did not
    /// explore is then unknown.
    pub is_exhausted: bool,
}

impl SwarmMemberCoverage {
    /// Returns an estimate of the fraction of the reachable states that this search has explored,
    /// from 0 to 1. The estimate is an upper bound. `None` if [`Self::is_exhausted`] is false,
    /// because the number of unexplored states is then unknown.
    pub fn explored_share(&self) -> Option<f64> {
        self.is_exhausted.then_some(1.0 - self.omission_probability)
    }
}

/// Writes the coverage as lines of a report.
impl fmt::Display for SwarmMemberCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SwarmMemberCoverage { bits, bits_set, hashes, .. } = self;
        let fill = percent(*bits_set as f64 / *bits as f64);
        writeln!(
            f,
            "  table: {} bytes, {hashes} hash functions, {fill} of the bits set",
            bits / 8
        )?;
        writeln!(
            f,
            "  omitted by the table: about {:.1} states, a reached state with probability {:.0e}",
            self.expected_omissions, self.omission_probability
        )?;
        match self.explored_share() {
            Some(share) => writeln!(
                f,
                "  coverage: every state found was expanded; at most {:.2} % of the reachable \
                 states",
                share * 100.0
            ),
            None if self.cut_states > 0 => writeln!(
                f,
                "  coverage: not known; {} states at depth {} were not expanded",
                self.cut_states, self.depth_max
            ),
            None => writeln!(f, "  coverage: not known; the search ended early"),
        }
    }
}

/// Formats a fraction as a percentage. A fraction above 0 never becomes 0 %.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.01 => "less than 0.01 %".to_owned(),
        percent => format!("{percent:.2} %"),
    }
}
