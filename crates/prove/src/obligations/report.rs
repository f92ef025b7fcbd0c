//! Results of the obligations of a model.

use std::fmt::{self, Display};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::obligations::counterexample::CounterexampleToInduction;

/// Condition of a proof by induction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProofObligation {
    /// Some state satisfies the axioms and the initial condition. Without such a state, the other
    /// obligations would hold for any model.
    InitialState,
    /// Every initial state satisfies the conjunct with this name.
    Initiation(String),
    /// The action with this name is possible in some state that satisfies the invariant. An action
    /// that is never possible would preserve any invariant, so its proof would be worthless.
    Possible(String),
    /// An action preserves a conjunct. If a state satisfies the invariant, the conjunct holds in
    /// the state after the action.
    Consecution {
        /// Name of the action.
        action: String,
        /// Name of the conjunct.
        conjunct: String,
    },
}

/// Result of an obligation.
#[derive(Clone, Debug)]
pub enum ObligationOutcome {
    /// The obligation holds for every number of processes.
    Proved,
    /// The obligation does not hold. The counterexample is `None` in two cases. First, the search
    /// of small groups may find no counterexample in time. Second, the obligation may demand that a
    /// state exists, and there is no such state.
    Refuted(Option<Box<CounterexampleToInduction>>),
    /// The solver did not decide the obligation within its time limit. The obligation is not
    /// proved.
    Undecided,
}

/// An obligation and its result.
#[derive(Clone, Debug)]
pub struct CheckedObligation {
    /// Condition that the solver examined.
    pub obligation: ProofObligation,
    /// Result of the obligation: proved, refuted or undecided. If an action changes nothing that a
    /// conjunct mentions, the obligation is proved without the solver.
    pub outcome: ObligationOutcome,
}

/// Results of all obligations of a model.
#[derive(Clone, Debug)]
pub struct ProofReport {
    /// Name of the algorithm.
    pub algorithm: &'static str,
    /// Name of the property to prove, which is the first conjunct of the invariant.
    pub property: &'static str,
    /// Name and version of the solver that decided the obligations.
    pub solver: String,
    /// Number of actions of the model, including one action for each kind of message that the
    /// network may lose.
    pub actions: usize,
    /// Number of conjuncts of the invariant.
    pub conjuncts: usize,
    /// Obligations about the initial states, followed by the obligations of each action.
    pub obligations: Vec<CheckedObligation>,
    /// Time that the proof took.
    pub elapsed: Duration,
}

impl ProofReport {
    /// Returns true if every obligation is proved.
    pub fn is_proved(&self) -> bool {
        self.obligations.iter().all(|it| matches!(it.outcome, ObligationOutcome::Proved))
    }

    /// Returns true if some obligation is refuted.
    pub fn is_refuted(&self) -> bool {
        self.obligations.iter().any(|it| matches!(it.outcome, ObligationOutcome::Refuted(_)))
    }

    /// Returns the number of proved obligations.
    pub fn proved_count(&self) -> usize {
        self.obligations.iter().filter(|it| matches!(it.outcome, ObligationOutcome::Proved)).count()
    }

    /// Returns the obligations that are refuted or undecided.
    pub fn unproved_obligations(&self) -> impl Iterator<Item = &CheckedObligation> {
        self.obligations.iter().filter(|it| !matches!(it.outcome, ObligationOutcome::Proved))
    }

    /// Returns the first counterexample to induction that a result contains. `None` if no
    /// result contains a counterexample.
    pub fn counterexample(&self) -> Option<&CounterexampleToInduction> {
        self.obligations.iter().find_map(|it| match &it.outcome {
            ObligationOutcome::Refuted(counterexample) => counterexample.as_deref(),
            ObligationOutcome::Proved | ObligationOutcome::Undecided => None,
        })
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> Json {
        let open: Vec<Json> = self
            .unproved_obligations()
            .map(|it| {
                json!({
                    "obligation": it.obligation.to_string(),
                    "outcome": it.outcome.name(),
                })
            })
            .collect();
        json!({
            "algorithm": self.algorithm,
            "property": self.property,
            "solver": self.solver,
            "actions": self.actions,
            "conjuncts": self.conjuncts,
            "obligations": self.obligations.len(),
            "proved": self.proved_count(),
            "is_proved": self.is_proved(),
            "open": open,
            "counterexample": self.counterexample().map(CounterexampleToInduction::to_json),
            "seconds": self.elapsed.as_secs_f64(),
        })
    }
}

impl ObligationOutcome {
    /// Returns the name of the outcome: `proved`, `refuted` or `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            ObligationOutcome::Proved => "proved",
            ObligationOutcome::Refuted(_) => "refuted",
            ObligationOutcome::Undecided => "undecided",
        }
    }
}

impl Display for ProofObligation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProofObligation::InitialState => f.write_str("an initial state exists"),
            ProofObligation::Initiation(conjunct) => write!(f, "{conjunct} holds initially"),
            ProofObligation::Possible(action) => write!(f, "{action} is possible"),
            ProofObligation::Consecution { action, conjunct } => {
                write!(f, "{action} preserves {conjunct}")
            }
        }
    }
}
