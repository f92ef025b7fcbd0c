//! Compares the model of an algorithm with the code of the algorithm, in groups of a few processes.

use tenure_algorithms::catalogue::Parameters;
use tenure_check::{CheckConfig, RequestLimit};
use tenure_prove::{ConformanceChecker, ConformanceReport, Model, ModelEntry};

use crate::cmd::failure::Failure;

const MAX_STATES: u64 = 5_000_000;

/// Compares the model with the code in each group from two to `largest_group` processes, and
/// returns one report for each group. Each process requests at most once. Terms are at most 2 in
/// groups of two, and at most 1 in larger groups. The comparison of a group ends after
/// [`MAX_STATES`] states.
///
/// Returns no reports if `entry` contains no function that maps states of the code to states of the
/// model.
pub(super) fn compare_model_with_code(
    entry: &ModelEntry,
    model: &Model,
    variant: Option<&str>,
    largest_group: u32,
) -> Result<Vec<ConformanceReport>, Failure> {
    let Some(abstraction) = entry.abstraction else { return Ok(Vec::new()) };
    let mut compared = Vec::new();
    for size in 2..=largest_group {
        let variants = variant.into_iter().map(str::to_owned).collect();
        let parameters =
            Parameters { variants, sequence_number_modulus: 1, ..Parameters::with_defaults(size) };
        let algorithm = tenure_instances::algorithm(entry.name, &parameters);
        let algorithm = algorithm.map_err(Failure::usage)?;
        let card = tenure_instances::card(entry.name, &parameters).map_err(Failure::usage)?;
        let mut config = CheckConfig::new(entry.name, card.service, size);
        config.model.order = card.order;
        config.model.request_limits = RequestLimit::AtMost(1).into();
        config.bounds.term_max = Some(if size <= 2 { 2 } else { 1 });
        let mut comparer = ConformanceChecker::new(model, abstraction, size);
        let walk = algorithm
            .visit_reachable_states(&config, MAX_STATES, &mut comparer)
            .map_err(Failure::usage)?;
        compared.push(comparer.finish(walk));
    }
    Ok(compared)
}
