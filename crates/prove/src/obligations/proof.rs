//! Proof of a model by induction.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crate::error::ProveError;
use crate::logic::smt::{constant, declaration};
use crate::logic::term::Term;
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::obligations::counterexample::{self, Induction};
use crate::obligations::report::{Decision, Obligation, Outcome, ProofReport};
use crate::solver::Solver;
use crate::solver::process::{Goal, Satisfiability, SolverProcess};

/// Decides all obligations of a model.
///
/// The initial states satisfy the invariant, and every action preserves it. Both are decided for
/// any number of processes. Each action is decided by a solver process of its own, in parallel.
///
/// # Errors
///
/// Returns an error if the solver cannot be started.
pub fn prove(model: &Model, solver: &Solver) -> Result<ProofReport, ProveError> {
    let started = Instant::now();
    let actions = model.all_actions();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; actions.len() + 1]);
    let work = || -> Result<(), ProveError> {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let decisions = match job {
                0 => initiation(model, solver)?,
                _ => match actions.get(job - 1) {
                    Some(action) => consecution(model, action, solver)?,
                    None => return Ok(()),
                },
            };
            results.lock().expect("no thread panics while it stores")[job] = Some(decisions);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a proof does not panic"))
    })?;
    let results = results.into_inner().expect("no thread panicked");
    Ok(ProofReport {
        algorithm: model.name,
        property: model.property().name,
        solver: solver.name(),
        actions: actions.len(),
        conjuncts: model.invariant.len(),
        decisions: results.into_iter().flatten().flatten().collect(),
        elapsed: started.elapsed(),
    })
}

/// Starts a solver that knows the symbols and the axioms of a model.
pub(super) fn session(
    model: &Model,
    solver: &Solver,
    goal: Goal,
) -> Result<SolverProcess, ProveError> {
    let mut process = SolverProcess::start(solver, goal)?;
    for sort in model.sorts() {
        process.send(&format!("(declare-sort {} 0)", sort.name()));
    }
    model.symbols().for_each(|symbol| process.send(&declaration(symbol)));
    for axiom in &model.axioms {
        process.assert(&axiom.formula);
    }
    Ok(process)
}

impl SolverProcess {
    pub(super) fn assert(&mut self, formula: &Term) {
        self.send(&format!("(assert {formula})"));
    }

    /// Decides whether the assertions so far and another formula are satisfiable.
    fn check_with(&mut self, formula: &Term) -> Satisfiability {
        self.send("(push 1)");
        self.assert(formula);
        let result = self.check();
        self.send("(pop 1)");
        result
    }
}

fn initiation(model: &Model, solver: &Solver) -> Result<Vec<Decision>, ProveError> {
    let mut process = session(model, solver, Goal::Proof)?;
    model.initial.iter().for_each(|formula| process.assert(formula));
    let exists = exists(&mut process, model, &Induction::initial(model), solver)?;
    let mut decisions = vec![Decision { obligation: Obligation::InitialState, outcome: exists }];
    for conjunct in &model.invariant {
        let result = process.check_with(&!conjunct.formula.clone());
        let induction = Induction::initial(model).against(conjunct);
        decisions.push(Decision {
            obligation: Obligation::Initiation(conjunct.name.to_owned()),
            outcome: outcome(result, model, induction, solver)?,
        });
    }
    Ok(decisions)
}

fn consecution(
    model: &Model,
    action: &Action,
    solver: &Solver,
) -> Result<Vec<Decision>, ProveError> {
    let mut process = session(model, solver, Goal::Proof)?;
    action.parameters.iter().for_each(|parameter| process.send(&constant(*parameter)));
    model.invariant.iter().for_each(|conjunct| process.assert(&conjunct.formula));
    process.assert(&action.guard);
    let name = action.title();
    let possible = exists(&mut process, model, &Induction::of(model, action), solver)?;
    let mut decisions =
        vec![Decision { obligation: Obligation::Possible(name.clone()), outcome: possible }];
    for conjunct in &model.invariant {
        let after = conjunct.formula.after(&action.updates);
        // An action that does not concern a conjunct preserves it.
        let result = match after == renamed(conjunct) {
            true => Satisfiability::Unsatisfiable,
            false => process.check_with(&!after),
        };
        let induction = Induction::of(model, action).against(conjunct);
        decisions.push(Decision {
            obligation: Obligation::Consecution {
                action: name.clone(),
                conjunct: conjunct.name.to_owned(),
            },
            outcome: outcome(result, model, induction, solver)?,
        });
    }
    Ok(decisions)
}

/// Returns the conjunct with its variables renamed as a substitution renames them.
fn renamed(conjunct: &Conjunct) -> Term {
    conjunct.formula.after(&Default::default())
}

/// Returns the outcome of an obligation that some state exists. Small groups are searched first.
fn exists(
    process: &mut SolverProcess,
    model: &Model,
    induction: &Induction<'_>,
    solver: &Solver,
) -> Result<Outcome, ProveError> {
    if counterexample::search(model, induction, solver)?.is_some() {
        return Ok(Outcome::Proved);
    }
    Ok(match process.check() {
        Satisfiability::Satisfiable => Outcome::Proved,
        Satisfiability::Unsatisfiable => Outcome::Refuted(None),
        Satisfiability::Unknown => Outcome::Undecided,
    })
}

/// Returns the outcome of an obligation whose negation is satisfiable or not. If the solver gives
/// up, or finds a large counterexample, small groups are searched for a counterexample.
fn outcome(
    result: Satisfiability,
    model: &Model,
    induction: Induction<'_>,
    solver: &Solver,
) -> Result<Outcome, ProveError> {
    if result == Satisfiability::Unsatisfiable {
        return Ok(Outcome::Proved);
    }
    let found = counterexample::search(model, &induction, solver)?;
    Ok(match (result, found) {
        (_, Some(found)) => Outcome::Refuted(Some(Box::new(found))),
        (Satisfiability::Satisfiable, None) => Outcome::Refuted(None),
        (Satisfiability::Unknown | Satisfiability::Unsatisfiable, None) => Outcome::Undecided,
    })
}
