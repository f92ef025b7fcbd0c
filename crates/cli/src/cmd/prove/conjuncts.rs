//! `tenure prove --redundant` and `--without`: determine which conjuncts of an invariant a proof
//! needs.

use std::fmt::Write;

use serde_json::{Value, json};
use tenure_prove::{ConjunctRedundancy, ModelEntry, Solver, check_conjunct_redundancy};

use super::EntryModel;
use crate::cmd::failure::{Failure, Status};

/// Assessment of the invariant of one model: for each conjunct, a verdict on whether the proof
/// needs the conjunct.
pub(super) struct InvariantAssessment {
    entry: &'static ModelEntry,
    needs: Vec<(&'static str, ConjunctRedundancy)>,
}

/// Determines for each conjunct of the invariant of each model whether the proof needs it.
pub(super) fn assess_invariants(
    entries: &[&'static ModelEntry],
    solver: &Solver,
) -> Result<Vec<InvariantAssessment>, Failure> {
    let decide = |entry: &&'static ModelEntry| {
        let needs =
            check_conjunct_redundancy(&entry.model(), solver).map_err(Failure::environment)?;
        Ok(InvariantAssessment { entry, needs })
    };
    entries.iter().map(decide).collect()
}

pub(super) fn text(assessments: &[InvariantAssessment]) -> String {
    let mut text = String::new();
    for InvariantAssessment { entry, needs } in assessments {
        let _ = writeln!(text, "{}: {}", entry.name, entry.property);
        for (conjunct, need) in needs {
            let reason = match need {
                ConjunctRedundancy::Needed(Some(found)) => {
                    let action =
                        found.action.as_ref().map(|it| it.display_name()).unwrap_or_default();
                    format!("needed: without it, {action} violates {}", found.conjunct)
                }
                ConjunctRedundancy::Needed(None) => "needed".to_owned(),
                ConjunctRedundancy::Redundant => {
                    "redundant: the others are inductive without it".to_owned()
                }
                ConjunctRedundancy::Undecided => "undecided".to_owned(),
            };
            let _ = writeln!(text, "  {conjunct:<26} {reason}");
        }
    }
    text
}

pub(super) fn to_json(assessments: &[InvariantAssessment]) -> Value {
    let row = |InvariantAssessment { entry, needs }: &InvariantAssessment| {
        let conjunct = |(name, need): &(&'static str, ConjunctRedundancy)| {
            let found = match need {
                ConjunctRedundancy::Needed(found) => found.as_ref().map(|found| found.to_json()),
                ConjunctRedundancy::Redundant | ConjunctRedundancy::Undecided => None,
            };
            json!({ "conjunct": name, "need": need.name(), "counterexample": found })
        };
        json!({
            "algorithm": entry.name,
            "property": entry.property,
            "conjuncts": needs.iter().map(conjunct).collect::<Vec<_>>(),
        })
    };
    assessments.iter().map(row).collect()
}

/// Returns success if, for each conjunct, the solver has decided whether the proof needs the
/// conjunct. Otherwise, returns incomplete.
pub(super) fn status(assessments: &[InvariantAssessment]) -> Status {
    let mut needs = assessments.iter().flat_map(|it| &it.needs);
    match needs.any(|(_, need)| matches!(need, ConjunctRedundancy::Undecided)) {
        true => Status::Incomplete,
        false => Status::Success,
    }
}

/// Removes `conjunct` from each model that contains it. Returns only the models that have changed.
///
/// # Errors
///
/// Returns a usage failure if no model has the conjunct, or if the conjunct is the property to
/// prove.
pub(super) fn remove_conjunct(
    models: &[EntryModel],
    conjunct: &str,
) -> Result<Vec<EntryModel>, Failure> {
    let rest = |(entry, model): &EntryModel| Some((*entry, model.without_conjunct(conjunct)?));
    let rests: Vec<_> = models.iter().filter_map(rest).collect();
    if rests.is_empty() { Err(unknown_conjunct(models, conjunct)) } else { Ok(rests) }
}

/// Creates the failure for an invalid value of `--without`. `conjunct` is this value: the name of
/// the property to prove, or an unknown name. The message lists the valid names. If there are
/// several models, the message groups the names by property.
fn unknown_conjunct(models: &[EntryModel], conjunct: &str) -> Failure {
    let reason = match models.iter().any(|(_, model)| conjunct == model.property().name) {
        true => "it is the property to prove; expected another conjunct",
        false => "expected a conjunct of the invariant",
    };
    let groups = models.iter().map(|(entry, model)| {
        let names: Vec<&str> = model.strengthening_conjuncts().iter().map(|it| it.name).collect();
        let names = names.join(", ");
        if models.len() == 1 { names } else { format!("{} ({names})", entry.property) }
    });
    let groups = groups.collect::<Vec<_>>().join("; ");
    Failure::usage(format!("invalid value '{conjunct}' for --without: {reason}: {groups}"))
}

#[cfg(test)]
mod tests {
    use tenure_prove::model_entries_of;

    use super::*;

    fn properties(conjunct: &str) -> Result<Vec<&'static str>, String> {
        let models: Vec<_> = model_entries_of("raft").map(|entry| (entry, entry.model())).collect();
        let rests = remove_conjunct(&models, conjunct).map_err(|failure| failure.to_string())?;
        Ok(rests.iter().map(|(entry, _)| entry.property).collect())
    }

    #[test]
    fn conjunct_is_left_out_of_each_proof_that_has_it() {
        let per_term = "one leader per term";
        let at_a_time = "one leader at a time under drifting clocks";
        assert_eq!(properties("no-rival"), Ok(vec![per_term]));
        assert_eq!(properties("lease-deadline"), Ok(vec![at_a_time]));
        assert_eq!(properties("roles"), Ok(vec![per_term, at_a_time]));
        let unknown = properties("no-such").expect_err("an error");
        for part in [per_term, "no-rival, ", at_a_time, "lease-deadline, "] {
            assert!(unknown.contains(part), "{part}: {unknown}");
        }
    }
}
