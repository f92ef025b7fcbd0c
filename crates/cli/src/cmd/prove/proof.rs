//! The proof of one property of an algorithm, and the comparison of the algorithm's model with the
//! algorithm's code.

use std::fmt::Write;

use serde_json::{Value, json};
use tenure_prove::{
    ConformanceMismatch, ConformanceReport, Model, ModelEntry, ProofReport, Solver, prove,
};

use super::{Options, code_comparison};
use crate::cmd::failure::{Failure, Status};

pub(super) struct ProofAndComparison {
    entry: &'static ModelEntry,
    report: ProofReport,
    compared: Vec<ConformanceReport>,
    /// Conjunct that was left out of the invariant, if any.
    without: Option<String>,
    /// Selected variant, if it has no model of its own. The proof is then about the algorithm
    /// without the variant. Only the comparison of the model with the code can refuse the variant.
    compared_variant: Option<String>,
}

impl ProofAndComparison {
    /// Tries to prove the property. If the proof succeeds, compares the model with the code.
    pub(super) fn prove_and_compare(
        entry: &'static ModelEntry,
        model: &Model,
        options: &Options,
        solver: &Solver,
    ) -> Result<Self, Failure> {
        let report = prove(model, solver).map_err(Failure::environment)?;
        let compared = match report.is_proved() {
            true => code_comparison::compare_model_with_code(
                entry,
                model,
                options.variant.as_deref(),
                options.nodes,
            )?,
            false => Vec::new(),
        };
        let is_described = |name: &String| entry.variants.iter().any(|it| it.name == name);
        let compared_variant = options.variant.clone().filter(|name| !is_described(name));
        let without = options.without.clone();
        Ok(ProofAndComparison { entry, report, compared, without, compared_variant })
    }

    pub(super) fn status(&self) -> Status {
        let ProofAndComparison { report, compared, .. } = self;
        if report.is_refuted() || compared.iter().any(|it| !it.agrees()) {
            Status::Violated
        } else if report.is_proved() && compared.iter().all(|it| it.is_complete) {
            Status::Success
        } else {
            Status::Incomplete
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let compared: Vec<_> = self.compared.iter().map(ConformanceReport::to_json).collect();
        json!({
            "proof": self.report.to_json(),
            "without": self.without,
            "code": compared,
        })
    }

    pub(super) fn text(&self) -> String {
        let ProofAndComparison { entry, report, compared, without, .. } = self;
        let mut text = format!("{}: {}\n", entry.name, entry.property);
        let _ = writeln!(
            text,
            "  model  {}: {} of {} obligations proved by {} in {:.1} s\n         \
             {} actions, {} conjuncts; {}",
            self.verdict(),
            report.proved_count(),
            report.obligations.len(),
            report.solver,
            report.elapsed.as_secs_f64(),
            report.actions,
            report.conjuncts,
            entry.paper,
        );
        for decision in report.unproved_obligations() {
            let _ = writeln!(text, "         {}: {}", decision.outcome.name(), decision.obligation);
        }
        if let Some(found) = report.counterexample() {
            text.push_str(
                "\ncounterexample to induction (not a run: the first state need not occur)\n",
            );
            text.push_str(&found.to_text());
        }
        if let Some(conjunct) = without.as_ref().filter(|_| report.is_proved()) {
            let _ = writeln!(text, "         {conjunct} is redundant: the others suffice");
        }
        if let Some(variant) = self.compared_variant.as_ref().filter(|_| report.is_proved()) {
            let _ = writeln!(text, "         without {variant}, which only the code has");
        }
        if compared.is_empty() && report.is_proved() {
            text.push_str("  code   not compared with the model\n");
        }
        for comparison in compared {
            let _ = writeln!(text, "  code   {}", comparison_text(comparison));
        }
        text
    }

    fn verdict(&self) -> &'static str {
        if self.report.is_proved() {
            "holds for every number of processes"
        } else if self.report.is_refuted() {
            "not proved: the invariant is not inductive"
        } else {
            "not decided"
        }
    }
}

fn comparison_text(comparison: &ConformanceReport) -> String {
    let ConformanceReport { size, states, steps, .. } = comparison;
    let scope = if comparison.is_complete { "all" } else { "the first" };
    match &comparison.mismatch {
        None => {
            format!("n = {size}: agrees with the model in {scope} {states} states, {steps} steps")
        }
        Some(ConformanceMismatch::State { conjunct, state }) => {
            format!("n = {size}: a reachable state violates {conjunct}: {}", state.join(", "))
        }
        Some(ConformanceMismatch::Step { before, new, gone, process }) => {
            let process = process.map_or("the network".to_owned(), |number| format!("P{number}"));
            format!(
                "n = {size}: a step of {process} is no step of the model\n         \
                 before {}\n         \
                 new    {}\n         gone   {}",
                before.join(", "),
                new.join(", "),
                gone.join(", ")
            )
        }
    }
}
