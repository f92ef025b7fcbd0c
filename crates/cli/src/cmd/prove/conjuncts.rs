//! `tenure prove --redundant` and `--without`: the conjuncts that a proof needs.

use std::fmt::Write;

use serde_json::{Value, json};
use tenure_prove::{Model, ModelEntry, Need, Solver, needs};

use crate::cmd::failure::{Failure, Status};

/// Need for each conjunct of a proof.
pub(super) struct Conjuncts {
    entry: &'static ModelEntry,
    needs: Vec<(&'static str, Need)>,
}

/// Decides the need for each conjunct of the entries.
pub(super) fn decided(
    entries: &[&'static ModelEntry],
    solver: &Solver,
) -> Result<Vec<Conjuncts>, Failure> {
    let decide = |entry: &&'static ModelEntry| {
        let needs = needs(&entry.model(), solver).map_err(Failure::environment)?;
        Ok(Conjuncts { entry, needs })
    };
    entries.iter().map(decide).collect()
}

/// Returns the conjuncts with the reason for which each one is needed.
pub(super) fn text(decided: &[Conjuncts]) -> String {
    let mut text = String::new();
    for Conjuncts { entry, needs } in decided {
        let _ = writeln!(text, "{}: {}", entry.name, entry.property);
        for (conjunct, need) in needs {
            let reason = match need {
                Need::Needed(Some(found)) => {
                    let action = found.action.as_ref().map(|it| it.title()).unwrap_or_default();
                    format!("needed: without it, {action} violates {}", found.conjunct)
                }
                Need::Needed(None) => "needed".to_owned(),
                Need::Redundant => "redundant: the others are inductive without it".to_owned(),
                Need::Undecided => "undecided".to_owned(),
            };
            let _ = writeln!(text, "  {conjunct:<26} {reason}");
        }
    }
    text
}

/// Returns the report as JSON.
pub(super) fn report(decided: &[Conjuncts]) -> Value {
    let row = |Conjuncts { entry, needs }: &Conjuncts| {
        let conjunct = |(name, need): &(&'static str, Need)| {
            let found = match need {
                Need::Needed(found) => found.as_ref().map(|found| found.to_json()),
                Need::Redundant | Need::Undecided => None,
            };
            json!({ "conjunct": name, "need": need.name(), "counterexample": found })
        };
        json!({
            "algorithm": entry.name,
            "property": entry.property,
            "conjuncts": needs.iter().map(conjunct).collect::<Vec<_>>(),
        })
    };
    decided.iter().map(row).collect()
}

/// Returns success if the need for each conjunct is decided.
pub(super) fn status(decided: &[Conjuncts]) -> Status {
    let mut needs = decided.iter().flat_map(|it| &it.needs);
    match needs.any(|(_, need)| matches!(need, Need::Undecided)) {
        true => Status::Incomplete,
        false => Status::Success,
    }
}

/// Returns the model without one conjunct.
pub(super) fn without(model: &Model, conjunct: &str) -> Result<Model, Failure> {
    model.without(conjunct).ok_or_else(|| {
        let names: Vec<&str> = model.strengthening().iter().map(|it| it.name).collect();
        let reason = match conjunct == model.property().name {
            true => "it is the property to prove; expected another conjunct",
            false => "expected a conjunct of the invariant",
        };
        Failure::usage(format!(
            "invalid value '{conjunct}' for --without: {reason}: {}",
            names.join(", ")
        ))
    })
}
