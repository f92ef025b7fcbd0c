//! Reproducible samples of mutants.

use std::collections::BTreeMap;

use crate::model::Model;
use crate::mutation::mutant::{Mutant, MutationOperator, mutants};

/// Draws `count` different mutants of a model, or all mutants if there are fewer. Equal seeds give
/// equal samples. The kinds of changes take turns, so the sample contains about the same number of
/// mutants of each kind.
pub fn sample_mutants(model: &Model, count: usize, seed: u64) -> Vec<Mutant> {
    let mut numbers = SplitMix64(seed);
    let mut kinds: BTreeMap<MutationOperator, Vec<Mutant>> = BTreeMap::new();
    for mutant in mutants(model) {
        kinds.entry(mutant.operator).or_default().push(mutant);
    }
    let mut sample = Vec::new();
    while sample.len() < count && kinds.values().any(|rest| !rest.is_empty()) {
        for rest in kinds.values_mut().filter(|rest| !rest.is_empty()) {
            let drawn = rest.swap_remove(numbers.below(rest.len()));
            sample.push(drawn);
        }
    }
    sample.truncate(count);
    sample
}

/// State of the pseudorandom number generator SplitMix64 (Steele, Lea and Flood, 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The remainder is less than `bound`, so it fits.
        (mixed % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::first_model_entry_of;

    fn changes(count: usize, seed: u64) -> Vec<String> {
        let model = first_model_entry_of("ricart-agrawala").expect("it has a model").model();
        sample_mutants(&model, count, seed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_seeds_give_equal_samples() {
        assert_eq!(changes(20, 7), changes(20, 7));
        assert_ne!(changes(20, 7), changes(20, 8));
    }

    #[test]
    fn mutants_of_a_sample_differ() {
        let mut all = changes(usize::MAX, 1);
        let total = all.len();
        all.sort();
        all.dedup();
        assert!(total > 30 && all.len() == total, "{all:#?}");
    }
}
