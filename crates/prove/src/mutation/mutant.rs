//! Mutants of a model: in each of them, one rule is changed.

use std::fmt::{self, Display};

use crate::logic::term::{Term, TermNode, conjunction};
use crate::model::Model;
use crate::model::action::Action;
use crate::mutation::edits::{EditDirection, FormulaEdit, formula_edits};
use crate::mutation::formula_text::infix_text;

/// Kind of change that turns a model into a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MutationOperator {
    /// A condition is left out.
    Condition,
    /// A condition of the guard is reversed.
    Negation,
    /// A comparison is weakened or strengthened: `<` becomes `≤`, `≤` becomes `<`, or `=` becomes
    /// `≤`.
    Comparison,
    /// A universal quantifier becomes an existential quantifier.
    Quantifier,
    /// An update is left out.
    Update,
    /// A value is changed: an increment, a decrement or a case distinction is left out.
    Value,
    /// One process is replaced by another one.
    Process,
}

impl MutationOperator {
    /// Returns the name of the kind, for example `comparison`.
    pub fn name(self) -> &'static str {
        match self {
            MutationOperator::Condition => "condition",
            MutationOperator::Negation => "negation",
            MutationOperator::Comparison => "comparison",
            MutationOperator::Quantifier => "quantifier",
            MutationOperator::Update => "update",
            MutationOperator::Value => "value",
            MutationOperator::Process => "process",
        }
    }
}

/// A mutant of a model: the model with one changed rule.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// Kind of the change.
    pub operator: MutationOperator,
    /// Name of the changed action. `None` if the initial condition is changed.
    pub action: Option<&'static str>,
    /// Description of the change, for example `guard: without waiting(x)`.
    pub change: String,
    rule: Rule,
}

/// Part of a model that a mutant changes: an initial condition or an action. The first field is the
/// index of this part in the model. The second field is the new definition of this part.
#[derive(Clone, Debug)]
enum Rule {
    Initial(usize, Term),
    Action(usize, Box<Action>),
}

impl Mutant {
    /// Returns the model with this change. `model` must be the model from which [`mutants`] made
    /// this mutant.
    pub fn applied_to(&self, model: &Model) -> Model {
        let mut changed = model.clone();
        match &self.rule {
            Rule::Initial(index, condition) => {
                changed.initial_conditions[*index] = condition.clone()
            }
            Rule::Action(index, action) => changed.actions[*index] = (**action).clone(),
        }
        changed
    }

    /// Returns the index of the changed action in [`Model::actions`]. Returns `None` if the initial
    /// condition is changed.
    pub(super) fn action_index(&self) -> Option<usize> {
        match self.rule {
            Rule::Initial(..) => None,
            Rule::Action(index, _) => Some(index),
        }
    }

    /// Returns true if both mutants make the same change, or if their changes have the same
    /// description.
    fn is_like(&self, other: &Mutant) -> bool {
        let is_same_rule = match (&self.rule, &other.rule) {
            (Rule::Initial(i, one), Rule::Initial(j, other)) => i == j && one == other,
            (Rule::Action(i, one), Rule::Action(j, other)) => i == j && one == other,
            _ => false,
        };
        is_same_rule || (self.action, &self.change) == (other.action, &other.change)
    }
}

impl Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.action.unwrap_or("initial condition"), self.change)
    }
}

/// Returns all mutants of a model, in a fixed order.
///
/// Omits changes that obviously preserve safety: those that only forbid steps, or only lose
/// messages. Omits changes that another mutant already makes.
pub fn mutants(model: &Model) -> Vec<Mutant> {
    let mut found: Vec<Mutant> = Vec::new();
    let initial =
        model.initial_conditions.iter().enumerate().flat_map(|(index, it)| of_initial(index, it));
    let actions = model.actions.iter().enumerate();
    let actions = actions.flat_map(|(index, it)| of_action(model, index, it));
    for mutant in initial.chain(actions) {
        if !found.iter().any(|earlier| earlier.is_like(&mutant)) {
            found.push(mutant);
        }
    }
    found
}

/// Returns the mutants that leave out one part of the initial condition.
fn of_initial(index: usize, condition: &Term) -> Vec<Mutant> {
    let mutant = |edit: FormulaEdit| Mutant {
        operator: edit.operator,
        action: None,
        change: edit.change,
        rule: Rule::Initial(index, edit.term),
    };
    let parts = match &*condition.0 {
        TermNode::ForAll(_, body) => body,
        _ => condition,
    };
    match &*parts.0 {
        TermNode::And(_) => {
            let all = formula_edits(condition, EditDirection::Weaker, &[]).into_iter();
            all.filter(|edit| edit.operator == MutationOperator::Condition).map(mutant).collect()
        }
        _ => {
            let change = format!("without {}", infix_text(condition));
            vec![mutant(FormulaEdit::new(Term::truth(), MutationOperator::Condition, change))]
        }
    }
}

fn of_action(model: &Model, index: usize, action: &Action) -> Vec<Mutant> {
    let mutant = |operator, change, action: Action| Mutant {
        operator,
        action: Some(action.name),
        change,
        rule: Rule::Action(index, Box::new(action)),
    };
    let guards = of_guard(action).into_iter().map(|edit| {
        let changed = Action { guard: edit.term, ..action.clone() };
        mutant(edit.operator, format!("guard: {}", edit.change), changed)
    });
    let mut found: Vec<Mutant> = guards.collect();
    for (symbol, update) in &action.updates {
        let is_message = model.lossy_messages.contains(symbol);
        if !is_message {
            let mut changed = action.clone();
            changed.updates.remove(symbol);
            found.push(mutant(
                MutationOperator::Update,
                format!("{} keeps its value", symbol.name),
                changed,
            ));
        }
        // For messages, omits changes that only remove tuples. The model permits them already,
        // because the network may lose any message.
        let direction = if is_message { EditDirection::Weaker } else { EditDirection::Any };
        for edit in formula_edits(&update.value, direction, &action.parameters) {
            let mut changed = action.clone();
            if let Some(update) = changed.updates.get_mut(symbol) {
                update.value = edit.term;
            }
            found.push(mutant(edit.operator, format!("{}: {}", symbol.name, edit.change), changed));
        }
    }
    found
}

fn of_guard(action: &Action) -> Vec<FormulaEdit> {
    let guard = &action.guard;
    let mut found = formula_edits(guard, EditDirection::Weaker, &action.parameters);
    let conditions = match &*guard.0 {
        TermNode::Bool(_) => return found,
        TermNode::And(parts) => parts.clone(),
        _ => {
            let change = format!("without {}", infix_text(guard));
            found.push(FormulaEdit::new(Term::truth(), MutationOperator::Condition, change));
            vec![guard.clone()]
        }
    };
    for (index, condition) in conditions.iter().enumerate() {
        let mut changed = conditions.clone();
        changed[index] = match &*condition.0 {
            TermNode::Not(inner) => inner.clone(),
            _ => !condition.clone(),
        };
        let change = format!("{} becomes {}", infix_text(condition), infix_text(&changed[index]));
        found.push(FormulaEdit::new(conjunction(changed), MutationOperator::Negation, change));
    }
    found
}
