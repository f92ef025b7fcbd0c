//! `tenure prove --mutants`: tests the proofs by changing one rule of a model at a time.

use std::fmt::Write;

use serde_json::{Value, json};
use tenure_prove::{
    Model, ModelEntry, Mutant, MutantVerdict, Solver, judge_mutants, sample_mutants,
};

use super::code_comparison;
use crate::cmd::failure::{Failure, Status};

/// Number of processes in the group in which a mutant is compared with the code. A mutant that the
/// invariant refuses, or that is equivalent to the model, is not compared.
const COMPARED_GROUP_SIZE: u32 = 2;

/// Result for one mutant. A mutant is a copy of a model with one changed rule. The result states
/// whether the mutant can be proved safe, and whether it differs from the code.
pub(super) struct JudgedMutant {
    algorithm: &'static str,
    property: &'static str,
    mutant: Mutant,
    verdict: MutantVerdict,
    /// True if the comparison with the code has shown that the mutant does not describe the code.
    /// For example, the code has a step that the mutant does not have.
    is_refused_by_code: bool,
}

impl JudgedMutant {
    fn is_refused(&self) -> bool {
        self.verdict.is_refused() || self.is_refused_by_code
    }

    fn reason(&self) -> String {
        match self.is_refused_by_code {
            true => "refused by the comparison with the code".to_owned(),
            false => self.verdict.verdict_text(),
        }
    }

    fn name(&self) -> &'static str {
        if self.is_refused_by_code { "refused-by-code" } else { self.verdict.name() }
    }

    fn to_json(&self) -> Value {
        json!({
            "algorithm": self.algorithm,
            "property": self.property,
            "action": self.mutant.action,
            "kind": self.mutant.operator.name(),
            "change": self.mutant.change,
            "verdict": self.name(),
            "reason": self.reason(),
        })
    }
}

/// Creates at most `total` mutants, about equally many of each model, and tries to prove each
/// mutant. If the proof neither refuses a mutant nor shows that the mutant is equivalent to its
/// model, compares the mutant with the code.
pub(super) fn sample_and_judge(
    entries: &[&'static ModelEntry],
    total: usize,
    seed: u64,
    solver: &Solver,
) -> Result<Vec<JudgedMutant>, Failure> {
    let mut judged = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        // If `total` is not divisible by the number of models, the first models have one mutant
        // more.
        let share = total / entries.len() + usize::from(index < total % entries.len());
        let model = entry.model();
        let mutants = sample_mutants(&model, share, seed);
        let verdicts = judge_mutants(&model, &mutants, solver).map_err(Failure::environment)?;
        for (mutant, verdict) in mutants.into_iter().zip(verdicts) {
            let is_refused_by_code = match verdict {
                MutantVerdict::Refused { .. } | MutantVerdict::Equivalent => false,
                MutantVerdict::FewerSteps | MutantVerdict::Safe | MutantVerdict::Undecided(_) => {
                    differs_from_code(entry, &mutant, &model)?
                }
            };
            let (algorithm, property) = (entry.name, entry.property);
            judged.push(JudgedMutant { algorithm, property, mutant, verdict, is_refused_by_code });
        }
    }
    Ok(judged)
}

/// Compares a mutant of the model with the code in a small group. Returns true if the mutant does
/// not describe the code, for example because the code has a step that the mutant does not have.
fn differs_from_code(entry: &ModelEntry, mutant: &Mutant, model: &Model) -> Result<bool, Failure> {
    let changed = mutant.applied_to(model);
    let groups =
        code_comparison::compare_model_with_code(entry, &changed, None, COMPARED_GROUP_SIZE)?;
    Ok(groups.iter().any(|comparison| !comparison.agrees()))
}

pub(super) fn text(judged: &[JudgedMutant]) -> String {
    let mut text = String::new();
    let mut algorithm = ("", "");
    for it in judged {
        if algorithm != (it.algorithm, it.property) {
            algorithm = (it.algorithm, it.property);
            let _ = writeln!(text, "{}: {}", it.algorithm, it.property);
        }
        let _ = writeln!(text, "  {}\n      {}", it.mutant, it.reason());
    }
    let refused = judged.iter().filter(|it| it.is_refused()).count();
    let named = |name: &str| judged.iter().filter(|it| it.name() == name).count();
    let undecided = named("undecided");
    let _ = writeln!(
        text,
        "{} mutants: {refused} refused ({} by the invariant, {} by the code), {} proved safe \
         ({} equivalent), {undecided} undecided",
        judged.len(),
        named("refused"),
        named("refused-by-code"),
        judged.len() - refused - undecided,
        named("equivalent"),
    );
    text
}

pub(super) fn to_json(judged: &[JudgedMutant], seed: u64) -> Value {
    json!({
        "seed": seed,
        "refused": judged.iter().filter(|it| it.is_refused()).count(),
        "mutants": judged.iter().map(JudgedMutant::to_json).collect::<Vec<_>>(),
    })
}

/// Returns success if each mutant is refused, or is proved to be safe. If a mutant is undecided,
/// returns incomplete.
pub(super) fn incomplete_if_undecided(judged: &[JudgedMutant]) -> Status {
    match judged.iter().any(|it| it.name() == "undecided") {
        true => Status::Incomplete,
        false => Status::Success,
    }
}
