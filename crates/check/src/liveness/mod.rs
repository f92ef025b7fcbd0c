//! Analysis of liveness on the graph of a finished search.

pub(crate) mod cycle;
pub(crate) mod fairness;
pub(crate) mod graph;

/// Fairness: the assumption about which possible steps a run must take.
///
/// It applies to deliveries, timers, exits, reports of failure detectors and the passing of time.
/// Requests, faults and recoveries need not happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Fairness {
    /// No step must be taken: a run may stop in any state.
    None,
    /// A step that stays possible forever is eventually taken.
    #[default]
    Weak,
    /// A step that is possible again and again is taken again and again.
    Strong,
}

impl Fairness {
    /// Returns the name of this fairness in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Fairness::None => "none",
            Fairness::Weak => "weak",
            Fairness::Strong => "strong",
        }
    }

    /// Returns a description of this fairness for reports: one sentence without a full stop.
    pub const fn description(self) -> &'static str {
        match self {
            Fairness::None => "no fairness: a run may stop anywhere",
            Fairness::Weak => {
                "weak fairness: a step that stays possible for ever is taken; requests and faults \
                 need not"
            }
            Fairness::Strong => {
                "strong fairness: a step that is possible again and again is taken; requests and \
                 faults need not"
            }
        }
    }
}
