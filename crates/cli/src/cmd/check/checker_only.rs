//! `tenure check` of algorithms that only the checker runs: locks in shared memory, and algorithms
//! for Byzantine generals.

use tenure_check::CheckReport;

use super::options::Options;
use super::{byzantine, replay_command, shared_memory};
use crate::cmd::failure::Failure;
use tenure_core::Property;

/// Runs the search for an algorithm that only the checker runs. If `--trace` is given and the
/// search finds a counterexample, writes the shortest one to that file. If `shows_progress` is
/// true, shows a progress line on the terminal. Returns `None` for any other algorithm.
pub(super) fn search_and_save_counterexample(
    options: &Options,
    shows_progress: bool,
) -> Option<Result<CheckReport, Failure>> {
    let report = match (shared_memory::card(options), byzantine::card(options)) {
        (Some(card), _) => shared_memory::search(options, &card, shows_progress),
        (None, Some(card)) => byzantine::search(options, &card, shows_progress),
        (None, None) => return None,
    };
    Some(report.and_then(|report| save_counterexample(options, &report).map(|()| report)))
}

/// Returns a usage failure for the first option that has another value than its default and does
/// not apply to the algorithm. The message contains the reason `why`.
///
/// The function creates default options, and copies to them the options that all algorithms of this
/// module support. `copy_supported` copies further options, which only this algorithm supports. An
/// option applies to the algorithm if its values in `options` and in the result are equal.
pub(super) fn reject_unsupported_options(
    options: &Options,
    copy_supported: impl FnOnce(&mut Options),
    why: &str,
) -> Result<(), Failure> {
    let mut supported = Options::parse_line(&options.algorithm)?;
    supported.group.n = options.group.n;
    supported.group.variant.clone_from(&options.group.variant);
    supported.property.clone_from(&options.property);
    supported.max_states = options.max_states;
    supported.max_memory = options.max_memory;
    supported.max_time = options.max_time;
    supported.trace.clone_from(&options.trace);
    supported.format = options.format;
    copy_supported(&mut supported);
    let Some(option) = options.first_differing_option(&supported) else { return Ok(()) };
    let name = &options.algorithm;
    Err(Failure::usage(format!("--{option} does not apply to {name}: {why}")))
}

/// Returns the properties to check: those that `--property` selects, or else `promised`. Returns a
/// usage failure if `--property` selects a property that is not in `supported`. A different bound
/// on bypass is not a different property.
pub(super) fn properties_to_check(
    options: &Options,
    promised: &[Property],
    supported: &[Property],
) -> Result<Vec<Property>, Failure> {
    if options.property.is_empty() {
        return Ok(promised.to_vec());
    }
    let is_known = |property: &Property| supported.iter().any(|it| it.name() == property.name());
    match options.property.iter().find(|property| !is_known(property)) {
        None => Ok(options.property.clone()),
        Some(unknown) => {
            let names: Vec<&str> = supported.iter().map(|property| property.name()).collect();
            Err(Failure::usage(format!(
                "--property {unknown} does not apply to {}: expected {}",
                options.algorithm,
                names.join(", ")
            )))
        }
    }
}

/// Writes the shortest counterexample to the file that `--trace` names. Does nothing if there is no
/// counterexample or the option is not given.
fn save_counterexample(options: &Options, report: &CheckReport) -> Result<(), Failure> {
    let (Some(path), Some(found)) = (&options.trace, report.shortest_counterexample()) else {
        return Ok(());
    };
    let mut found = found.clone();
    let header = &mut found.trace.header;
    header.options = options.group.trace_header_words()?;
    header.most_bypass = match found.property {
        Property::Bypass(most) => most,
        _ => None,
    };
    header.replay = Some(replay_command());
    found.save(path).map_err(Failure::environment)
}
