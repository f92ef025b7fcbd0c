//! Rules of the algorithm for which there are variants. Each variant replaces one rule by a
//! mistaken rule.

use tenure_core::ProcessId;

use super::Weight;
use crate::Variants;
use crate::variants::variant_ids;

variant_ids! {
    NoWait = "no-wait", unsound,
        "answers a Test of a higher level at once, although its own fragment may be the same one"
        => "7-GHS", "-n 3";
    AbsorbAnyLevel = "absorb-any-level", unsound,
        "absorbs a fragment of the same level, although its own search may have chosen that edge"
        => "7-GHS", "--topology 1-2:1,2-3:3,3-4:2";
    ReportEarly = "report-early", unsound,
        "reports as soon as its own test has ended, without the reports of its subtrees"
        => "7-GHS", "--topology 1-2:1,2-3:2,3-4:3";
    SameWeights = "same-weights", unsound,
        "ties are not broken: of equal edges each process prefers the next one clockwise"
        => "7-GHS", "-n 3";
}

/// Rules of the algorithm under the given variants.
#[derive(Clone, Copy)]
pub(super) struct Rules(pub(super) Variants<VariantId>);

impl Rules {
    /// Returns the weight by which the algorithm compares the edge between `one` and `other`.
    /// `value` is the weight that the graph has for this edge. The ends of the edge break ties,
    /// except with the variant `same-weights`.
    pub(super) fn edge_weight(self, value: u64, one: ProcessId, other: ProcessId) -> Weight {
        let ends = Some((one.min(other), one.max(other)));
        Weight { value, ends: ends.filter(|_| !self.0.has(VariantId::SameWeights)) }
    }

    /// Returns true if a fragment of level `our_level` absorbs a connecting fragment of level
    /// `their_level`. In the paper, this is the case only if `their_level` is lower.
    pub(super) fn absorbs(self, their_level: u32, our_level: u32) -> bool {
        their_level < our_level
            || self.0.has(VariantId::AbsorbAnyLevel) && their_level == our_level && our_level > 0
    }

    /// Returns true if a process of level `our_level` postpones a Test from a fragment of level
    /// `their_level`. In the paper, this is the case only if `their_level` is higher.
    pub(super) fn postpones_test(self, their_level: u32, our_level: u32) -> bool {
        their_level > our_level && !self.0.has(VariantId::NoWait)
    }

    /// Returns true if a process may send its Report while `missing_reports` of its subtrees have
    /// not reported. The paper permits a Report only if `missing_reports` is 0.
    pub(super) fn can_report(self, missing_reports: u32) -> bool {
        missing_reports == 0 || self.0.has(VariantId::ReportEarly)
    }
}
