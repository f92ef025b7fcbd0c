//! Counterexamples to induction: a state that satisfies the invariant, an action, and the state
//! after it, which violates a conjunct.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;

use num_rational::Ratio;
use serde_json::{Value as Json, json};

use crate::logic::smt::{constant_declaration, symbol_declaration};
use crate::logic::sort::Sort;
use crate::logic::substitution::SymbolUpdates;
use crate::logic::symbol::Symbol;
use crate::logic::term::{Term, TermNode, disjunction};
use crate::logic::variable::Variable;
use crate::model::action::Action;
use crate::model::{Conjunct, Model};
use crate::obligations::finite_models::element_variable;
use crate::solver::Solver;
use crate::solver::process::{SolverGoal, SolverProcess};
use crate::solver::solver_model::{SolverModel, SolverValue};
use crate::solver_error::SolverError;
use crate::structure::evaluation::{Assignment, Evaluator};
use crate::structure::table::Structure;
use crate::structure::transition::{argument_tuples, try_apply_action};
use crate::structure::value::Value;

/// Query to the solver in a proof by induction. The query asks for a step after which one of the
/// `conjuncts` is violated. If `conjuncts` is empty, the query asks for a state that satisfies the
/// invariant and in which the step is possible. Without an action, the query is about initial
/// states instead.
#[derive(Clone)]
pub(crate) struct InductionQuery<'m> {
    assumed: Vec<&'m Term>,
    action: Option<&'m Action>,
    conjuncts: Vec<&'m Conjunct>,
}

impl<'m> InductionQuery<'m> {
    /// Returns the query for a step by `action` from a state that satisfies the invariant. If
    /// `action` is `None`, the query is for an initial state.
    pub(crate) fn new(model: &'m Model, action: Option<&'m Action>) -> Self {
        let invariant = model.invariant.iter().map(|conjunct| &conjunct.formula);
        let assumed = match action {
            Some(action) => invariant.chain([&action.guard]).collect(),
            None => model.initial_conditions.iter().collect(),
        };
        InductionQuery { assumed, action, conjuncts: Vec::new() }
    }

    /// Returns the query with `conjunct` as the only conjunct to violate.
    pub(super) fn violating(mut self, conjunct: &'m Conjunct) -> Self {
        self.conjuncts = vec![conjunct];
        self
    }

    /// Returns the query for a violation of at least one conjunct of the invariant.
    pub(crate) fn violating_any(mut self, model: &'m Model) -> Self {
        self.conjuncts = model.invariant.iter().collect();
        self
    }

    /// Starts a solver process for this query. Declares the symbols of the model. Then asserts the
    /// axioms of the model, and the conditions of the query on the state before the step.
    pub(crate) fn start_solver(
        &self,
        model: &Model,
        solver: &Solver,
        goal: SolverGoal,
    ) -> Result<SolverProcess, SolverError> {
        let mut process = SolverProcess::start(solver, goal)?;
        for sort in model.uninterpreted_sorts() {
            process.send(&format!("(declare-sort {} 0)", sort.smt_name()));
        }
        model.symbols().for_each(|symbol| process.send(&symbol_declaration(symbol)));
        model.axioms.iter().for_each(|axiom| process.assert(&axiom.formula));
        self.inputs().iter().for_each(|input| process.send(&symbol_declaration(*input)));
        self.parameters()
            .iter()
            .for_each(|parameter| process.send(&constant_declaration(*parameter)));
        self.assumed.iter().for_each(|formula| process.assert(formula));
        Ok(process)
    }

    /// Returns a formula that is true if the state after the step violates at least one conjunct of
    /// this query. If the query has no conjunct, returns the formula *true*.
    pub(super) fn violation(&self) -> Term {
        let violated = |it: &&Conjunct| !self.afterwards(&it.formula);
        match self.conjuncts.is_empty() {
            true => Term::truth(),
            false => disjunction(self.conjuncts.iter().map(violated)),
        }
    }

    /// Returns true if the action changes nothing that the conjuncts mention.
    pub(super) fn leaves_conjuncts_unchanged(&self) -> bool {
        // `Term::weakest_precondition` renames bound variables, even without updates. Therefore it
        // is applied to both formulas before the comparison.
        let is_equal = |it: &&Conjunct| {
            self.afterwards(&it.formula) == it.formula.weakest_precondition(&SymbolUpdates::new())
        };
        self.action.is_some() && self.conjuncts.iter().all(is_equal)
    }

    /// Returns a formula over the state before the step that is true if `formula` is true after the
    /// step.
    fn afterwards(&self, formula: &Term) -> Term {
        self.action
            .map_or_else(|| formula.clone(), |action| formula.weakest_precondition(&action.updates))
    }

    /// Returns true if `before` satisfies the axioms of the model and the conditions of the query
    /// on the state before the step. Quantifiers also range over `numbers`.
    fn is_possible(
        &self,
        model: &Model,
        before: &Structure,
        numbers: &[Value],
        parameters: &Assignment,
    ) -> bool {
        let evaluation = Evaluator::with_numbers(before, numbers);
        let axioms = model.axioms.iter().map(|axiom| &axiom.formula);
        axioms.chain(self.assumed.iter().copied()).all(|it| evaluation.holds(it, parameters))
            && !evaluation.has_overflowed()
    }

    fn parameters(&self) -> &'m [Variable] {
        self.action.map_or(&[], |action| &action.parameters)
    }

    fn inputs(&self) -> &'m [Symbol] {
        self.action.map_or(&[], |action| &action.inputs)
    }
}

/// Counterexample to induction. It is not a run: the state before the action need not be reachable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterexampleToInduction {
    /// Action after which the conjunct is violated. `None` if an initial state violates the
    /// conjunct.
    pub action: Option<Action>,
    /// Values of the parameters of the action.
    pub parameters: Assignment,
    /// State before the action, or the initial state.
    pub before: Structure,
    /// State after the action.
    pub after: Structure,
    /// Name of the violated conjunct.
    pub conjunct: &'static str,
    /// Statement of the violated conjunct.
    pub statement: &'static str,
    /// Values of the conjunct's outermost variables with which the conjunct is violated. Empty if
    /// no such values were found.
    pub witness: Assignment,
    symbols: Vec<Symbol>,
}

/// Translates the model that a solver found into a counterexample. `sizes` contains the number of
/// elements of each uninterpreted sort. Returns `None` if numbers on which the counterexample
/// depends are too large for their types.
pub(super) fn decode(
    model: &Model,
    induction: &InductionQuery<'_>,
    sizes: [(Sort, u32); 2],
    found: &SolverModel,
) -> Option<CounterexampleToInduction> {
    let mut before = Structure::default();
    let mut names = BTreeMap::new();
    for (sort, size) in sizes {
        before.set_size(sort, size);
        for index in 0..size {
            if let Some(name) = found.value(&element_variable(sort, index).to_string(), &[]) {
                names.insert(name, Value::Element(sort, index));
            }
        }
    }
    let decoder = Decoder { found, names };
    let parameters: Assignment = induction
        .parameters()
        .iter()
        .map(|parameter| (*parameter, decoder.constant(*parameter)))
        .collect();
    let numbers = decoder.numbers(&parameters);
    let ranges = before.clone();
    let evaluation = Evaluator::with_numbers(&ranges, &numbers);
    let symbols: Vec<Symbol> = model.symbols().chain(induction.inputs().iter().copied()).collect();
    for symbol in symbols.iter().copied() {
        for arguments in argument_tuples(&evaluation, symbol.domain) {
            let value = decoder.value(symbol, &arguments);
            before.set(symbol, arguments, value);
        }
    }
    let after = match induction.action {
        Some(action) if !induction.conjuncts.is_empty() => {
            try_apply_action(&before, action, &parameters)?
        }
        // If there is no conjunct to violate, the counterexample is only a state in which the
        // action is possible.
        Some(_) | None => before.clone(),
    };
    let evaluation = Evaluator::new(&after);
    let is_violated = |it: &&&Conjunct| !evaluation.holds(&it.formula, &Assignment::new());
    let violated = induction.conjuncts.iter().find(is_violated);
    if evaluation.has_overflowed() || found.has_overflowed() {
        return None;
    }
    // A tuple with a number that is too large for a value is missing in the structure.
    if decoder.has_omitted_numbers() {
        let is_missing = violated.is_none() && !induction.conjuncts.is_empty();
        if is_missing || !induction.is_possible(model, &before, &numbers, &parameters) {
            return None;
        }
    }
    let violated = violated.or(induction.conjuncts.first());
    let conjunct = violated.copied().unwrap_or_else(|| model.property());
    Some(CounterexampleToInduction {
        action: induction.action.cloned(),
        parameters,
        witness: falsifying_assignment(&after, &conjunct.formula),
        before,
        after,
        conjunct: conjunct.name,
        statement: conjunct.statement,
        symbols,
    })
}

/// Translates the values in the model of a solver to values of a structure.
struct Decoder<'f> {
    found: &'f SolverModel,
    /// Elements of the structure, by the names that the solver gave them.
    names: BTreeMap<SolverValue, Value>,
}

impl Decoder<'_> {
    fn constant(&self, variable: Variable) -> Value {
        let value = self.found.value(&variable.to_string(), &[]);
        self.translated(value, variable.sort)
    }

    fn value(&self, symbol: Symbol, arguments: &[Value]) -> Value {
        let arguments: Vec<SolverValue> = arguments.iter().map(|it| self.named(*it)).collect();
        self.translated(self.found.value(symbol.name, &arguments), symbol.range)
    }

    /// Returns the numbers in the model and the parameters. Leaves out the numbers that are too
    /// large for a value.
    fn numbers(&self, parameters: &Assignment) -> Vec<Value> {
        let whole = self.whole_numbers().filter_map(|number| i64::try_from(number).ok());
        let real = self.found.numbers().iter().map(|number| Value::Real(*number));
        whole.map(Value::Int).chain(real).chain(parameters.values().copied()).collect()
    }

    /// Returns true if [`Decoder::numbers`] leaves out a number.
    fn has_omitted_numbers(&self) -> bool {
        let is_too_large = |number| i64::try_from(number).is_err();
        self.found.has_omitted_numbers() || self.whole_numbers().any(is_too_large)
    }

    fn whole_numbers(&self) -> impl Iterator<Item = i128> {
        self.found.numbers().iter().filter(|it| it.is_integer()).map(|it| it.to_integer())
    }

    fn named(&self, value: Value) -> SolverValue {
        match value {
            Value::Bool(value) => SolverValue::Bool(value),
            Value::Int(number) => SolverValue::Number(Ratio::from_integer(i128::from(number))),
            Value::Real(number) => SolverValue::Number(number),
            Value::Element(..) => {
                let name = self.names.iter().find(|(_, element)| **element == value);
                name.map_or(SolverValue::Bool(false), |(name, _)| name.clone())
            }
        }
    }

    /// Translates a value of the solver. Returns the default value of `sort` if the solver gives no
    /// value, because the counterexample is then valid with any value.
    fn translated(&self, value: Option<SolverValue>, sort: Sort) -> Value {
        let default = Value::default_of(sort);
        match (value, sort) {
            (Some(SolverValue::Bool(value)), Sort::Bool) => Value::Bool(value),
            (Some(SolverValue::Number(number)), Sort::Int) => {
                let Ok(number) = i64::try_from(number.to_integer()) else {
                    self.found.note_overflow();
                    return default;
                };
                Value::Int(number)
            }
            (Some(SolverValue::Number(number)), Sort::Real) => Value::Real(number),
            (Some(name @ SolverValue::Element(_)), _) => {
                self.names.get(&name).copied().unwrap_or(default)
            }
            _ => default,
        }
    }
}

/// Searches for values of the outermost variables of `formula` for which the formula is false in
/// `structure`. For number variables, tries only 0 and the numbers that occur in `structure`. If no
/// such values are found, returns an empty assignment.
pub(crate) fn falsifying_assignment(structure: &Structure, formula: &Term) -> Assignment {
    let TermNode::ForAll(variables, body) = &*formula.0 else { return Assignment::new() };
    let evaluation = Evaluator::new(structure);
    let mut witness = Assignment::new();
    let _ = evaluation.for_each_assignment(
        variables,
        body,
        false,
        &mut Assignment::new(),
        &mut |found| {
            witness.clone_from(found);
            ControlFlow::Break(())
        },
    );
    witness
}

impl CounterexampleToInduction {
    /// Returns the action with its parameters, for example `receive-request x=P1 y=P2`. Returns `an
    /// initial state` if there is no action.
    pub fn action_text(&self) -> String {
        let Some(action) = &self.action else { return "an initial state".to_owned() };
        let mut text = action.display_name();
        for parameter in &action.parameters {
            if let Some(value) = self.parameters.get(parameter) {
                let _ = write!(text, " {}={value}", parameter.name);
            }
        }
        text
    }

    /// Returns the counterexample as text: the state before, the action, the changed facts, and the
    /// violated conjunct.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let before = self.before.facts(self.symbols.iter().copied());
        let after = self.after.facts(self.symbols.iter().copied());
        let _ = writeln!(text, "  before   {}", joined(before.iter()));
        let _ = writeln!(text, "  action   {}", self.action_text());
        if self.action.is_some() {
            let is_new = |fact: &&String| !before.contains(fact);
            let is_gone = |fact: &&String| !after.contains(fact);
            let _ = writeln!(text, "  new      {}", joined(after.iter().filter(is_new)));
            let _ = writeln!(text, "  gone     {}", joined(before.iter().filter(is_gone)));
        }
        let witness: Vec<String> =
            self.witness.iter().map(|(v, it)| format!("{}={it}", v.name)).collect();
        let _ = writeln!(text, "  violated {}: {}", self.conjunct, self.statement);
        if !witness.is_empty() {
            let _ = writeln!(text, "           for {}", witness.join(", "));
        }
        text
    }

    /// Returns the counterexample as JSON.
    pub fn to_json(&self) -> Json {
        let witness: BTreeMap<&str, String> =
            self.witness.iter().map(|(variable, it)| (variable.name, it.to_string())).collect();
        json!({
            "processes": self.before.size(Sort::Process),
            "before": self.before.facts(self.symbols.iter().copied()),
            "action": self.action_text(),
            "after": self.after.facts(self.symbols.iter().copied()),
            "conjunct": self.conjunct,
            "statement": self.statement,
            "witness": witness,
        })
    }
}

fn joined<'t>(facts: impl Iterator<Item = &'t String>) -> String {
    let facts: Vec<&str> = facts.map(String::as_str).collect();
    if facts.is_empty() { "nothing".to_owned() } else { facts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::term::{TermOperations, for_all};

    const T: Variable = Variable::int("t");
    const REQUEST: Symbol = Symbol::relation("request", &[Sort::Int]);
    const CLOCK: Symbol = Symbol::constant("clock", Sort::Int);

    /// Returns the result of decoding a model in which the invariant consists of `formula`.
    fn decoded(
        symbol: Symbol,
        formula: Term,
        definition: &str,
    ) -> Option<CounterexampleToInduction> {
        let model = Model {
            name: "clock",
            state_symbols: vec![symbol],
            lossy_messages: Vec::new(),
            rigid: Vec::new(),
            axioms: Vec::new(),
            initial_conditions: Vec::new(),
            actions: Vec::new(),
            invariant: vec![Conjunct::new("small", "all numbers are at most 5", formula)],
        };
        let query = InductionQuery::new(&model, None).violating_any(&model);
        let found = SolverModel::parse(&format!("(({definition}))")).expect("a model");
        decode(&model, &query, [(Sort::Process, 1), (Sort::Quorum, 0)], &found)
    }

    /// Numbers above the type of a value, and above the type in which the solver's model is
    /// evaluated, yield no counterexample.
    #[test]
    fn numbers_that_are_too_large_yield_no_counterexample() {
        let decoded = |number: &str| {
            let definition = format!("define-fun clock () Int {number}");
            decoded(CLOCK, CLOCK.constant_term().at_most(5), &definition)
        };
        assert!(decoded("6").is_some());
        let largest = i64::MAX.to_string();
        assert!(decoded(&largest).is_some());
        assert!(decoded(&format!("(ite true 6 {largest}0)")).is_some());
        assert!(decoded(&format!("(ite true 6 {}0)", i128::MAX)).is_some());
        let product = format!("(* {largest} {largest} {largest})");
        for number in [format!("{largest}0"), format!("{}0", i128::MAX), product] {
            assert_eq!(decoded(&number), None, "{number}");
        }
    }

    /// A relation that holds only for a number above the type of a value yields no counterexample.
    #[test]
    fn arguments_that_are_too_large_yield_no_counterexample() {
        let decoded = |condition: &str| {
            let definition = format!("define-fun request ((x!2 Int)) Bool {condition}");
            let formula = for_all([T], REQUEST.at(T).implies(T.at_most(5)));
            decoded(REQUEST, formula, &definition)
        };
        let largest = i64::MAX;
        assert!(decoded(&format!("(= x!2 {largest})")).is_some());
        assert!(decoded(&format!("(or (= x!2 6) (= x!2 {largest}0))")).is_some());
        for number in [format!("{largest}0"), format!("{}0", i128::MAX)] {
            let condition = format!("(and (not (<= x!2 7)) (= x!2 {number}))");
            assert_eq!(decoded(&condition), None, "{condition}");
        }
    }
}
