//! Extent to which each algorithm is verified: by proofs for every number of processes, and by
//! exhaustive checks of small groups.

use std::fmt::{self, Display};

use serde::Serialize;
use tenure_prove::{ModelVariant, proved_properties_of};

/// Algorithms for which `tenure check` explores all fault-free schedules of groups of two and of
/// three processes. A test compares this list with the table of `docs/algorithms.md`.
const CHECKED_FOR_THREE: [&str; 48] = [
    "bully",
    "carvalho-roucairol",
    "causal-broadcast",
    "central",
    "chandra-toueg",
    "chandy-lamport",
    "chang-roberts",
    "congenial-philosophers",
    "coordinated:bully",
    "dijkstra-ring",
    "dijkstra-scholten",
    "dining-philosophers",
    "dissemination-barrier",
    "dolev-klawe-rodeh",
    "drinking-philosophers",
    "echo",
    "echo-election",
    "flooding-election",
    "floodset",
    "franklin",
    "gallager-humblet-spira",
    "itai-rodeh",
    "k-mutex",
    "lamport",
    "lease",
    "lelann",
    "maekawa",
    "majority",
    "minimum-spanning-tree",
    "misra-ring",
    "naimi-trehel",
    "nishio-li-manning",
    "paxos",
    "peterson",
    "raymond",
    "reliable-broadcast",
    "repaired-chang-roberts",
    "repaired-ring",
    "restarting-chang-roberts",
    "ricart-agrawala",
    "ricciardi-birman",
    "stable-vectors",
    "suzuki-kasami",
    "time-slice",
    "token-ring",
    "tolerant-ricart-agrawala",
    "tree-election",
    "variable-speeds",
];

/// Algorithms for which `tenure check` explores all fault-free schedules of groups of two processes
/// only. Groups of three have more states than `tenure compare --faults` searches.
const CHECKED_FOR_TWO: [&str; 8] = [
    "atomic-broadcast",
    "central-detection",
    "hirschberg-sinclair",
    "invitation",
    "leased-shares",
    "raft",
    "raft-log",
    "relayed-log",
];

/// Pairs of an algorithm and one of its variants. Each of these variants has no model of its own.
/// `tenure prove` compares the code of the variant with the model of the algorithm, finds a
/// difference, and refuses the variant. A test checks this list.
const REFUSED_BY_COMPARISON: [(&str, &str); 9] = [
    ("lamport", "clock-only-own-first"),
    ("lamport", "ids-as-stamps"),
    ("ricart-agrawala", "bare-counter"),
    ("ricart-agrawala", "clock-only-defer"),
    ("ricart-agrawala", "ids-as-stamps"),
    ("ricart-agrawala", "no-clock-on-request"),
    ("ricart-agrawala", "replies-again"),
    ("ricart-agrawala", "reply-while-inside"),
    ("ricart-agrawala", "untagged-reply"),
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct VerificationExtent {
    /// Properties that `tenure prove` proves for every number of processes.
    proved: Vec<&'static str>,
    /// Largest number of processes for which `tenure check` explores all fault-free schedules.
    /// `None` if groups of two have too many states, or if the algorithm was not checked.
    checked: Option<u32>,
}

impl VerificationExtent {
    pub(crate) fn for_algorithm(algorithm: &str) -> Self {
        let checked = match algorithm {
            name if CHECKED_FOR_THREE.contains(&name) => Some(3),
            name if CHECKED_FOR_TWO.contains(&name) => Some(2),
            _ => None,
        };
        VerificationExtent {
            proved: proved_properties_of(algorithm).map(|proved| proved.property).collect(),
            checked,
        }
    }

    /// Describes the extent of the verification in a sentence. Returns `None` if nothing is
    /// verified.
    pub(crate) fn sentence(&self) -> Option<String> {
        let proved = (!self.proved.is_empty())
            .then(|| format!("{} for every N (tenure prove)", self.proved.join(", ")));
        let checked =
            self.checked.map(|size| format!("default properties for n ≤ {size} (tenure check)"));
        let parts: Vec<String> = proved.into_iter().chain(checked).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Formats the largest number of processes for which the algorithm is verified: `every N`, `n ≤ 3`,
/// or a dash.
impl Display for VerificationExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.checked {
            _ if !self.proved.is_empty() => f.pad("every N"),
            Some(size) => f.pad(&format!("n ≤ {size}")),
            None => f.pad("–"),
        }
    }
}

/// Returns the method by which `tenure prove` shows that a variant is wrong:
///
/// - `invariant`: the invariant does not hold for the model of the variant.
/// - `comparison`: the code of the variant differs from the model of the algorithm.
///
/// Returns `None` in all other cases.
pub(crate) fn refuting_method(algorithm: &str, variant: &str) -> Option<&'static str> {
    let is_refuted = |it: &ModelVariant| it.name == variant && it.is_refuted;
    if proved_properties_of(algorithm).flat_map(|proved| proved.variants).any(is_refuted) {
        return Some("invariant");
    }
    REFUSED_BY_COMPARISON.contains(&(algorithm, variant)).then_some("comparison")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tenure_algorithms::catalogue::Parameters;
    use tenure_core::ChannelOrder;

    use super::*;

    /// Returns the cell of the table in `docs/algorithms.md` that contains the verdict on the
    /// algorithm `name` in runs without faults. `page` is the text of the page, and `order` selects
    /// the column. Returns `None` if the table has no row for the algorithm.
    fn documented(page: &str, name: &str, order: ChannelOrder) -> Option<String> {
        let (_, section) = page.split_once("one fault does")?;
        let (table, _) = section.split_once("## Variants")?;
        let row = table.lines().find(|line| line.starts_with(&format!("| `{name}` |")))?;
        let column = if order == ChannelOrder::Fifo { 2 } else { 3 };
        row.split('|').nth(column).map(|cell| cell.trim().to_owned())
    }

    #[test]
    fn checked_groups_are_those_of_the_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithms.md");
        let page = fs::read_to_string(path).expect("the page exists");
        let mut compared = 0;
        for name in tenure_instances::algorithm_names() {
            let card =
                tenure_instances::card(name, &Parameters::with_defaults(3)).expect("it has a card");
            let Some(verdict) = documented(&page, name, card.order) else { continue };
            let expected = match &*verdict {
                "ok" => Some(3),
                "ok (n = 2)" => Some(2),
                _ => None,
            };
            assert_eq!(
                VerificationExtent::for_algorithm(name).checked,
                expected,
                "{name}: {verdict}"
            );
            compared += 1;
        }
        assert!(compared >= CHECKED_FOR_THREE.len() + CHECKED_FOR_TWO.len(), "{compared}");
    }

    #[test]
    fn proof_precedes_exhaustive_check() {
        assert_eq!(VerificationExtent::for_algorithm("lamport").to_string(), "every N");
        assert_eq!(VerificationExtent::for_algorithm("raymond").to_string(), "n ≤ 3");
        assert_eq!(VerificationExtent::for_algorithm("no-such-algorithm").to_string(), "–");
        let sentence =
            VerificationExtent::for_algorithm("lamport").sentence().expect("it is verified");
        assert!(sentence.starts_with("mutual exclusion for every N"), "{sentence}");
    }
}
