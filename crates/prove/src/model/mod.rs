//! Models: transition systems in first-order logic, with an invariant.

pub(crate) mod action;

use crate::logic::sort::Sort;
use crate::logic::symbol::Symbol;
use crate::logic::term::Term;
use crate::logic::variable::Variable;
use crate::model::action::Action;

/// Named part of the invariant of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conjunct {
    /// Name, unique in the invariant.
    pub name: &'static str,
    /// Meaning of the conjunct, in words.
    pub statement: &'static str,
    /// The formula. It has no free variables.
    pub formula: Term,
}

impl Conjunct {
    /// Creates a conjunct.
    pub fn new(name: &'static str, statement: &'static str, formula: Term) -> Self {
        Conjunct { name, statement, formula }
    }
}

/// Axiom of a model: a condition on its rigid symbols, which never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axiom {
    /// Meaning of the axiom, in words.
    pub statement: &'static str,
    /// The formula. It has no free variables.
    pub formula: Term,
}

impl Axiom {
    /// Creates an axiom.
    pub fn new(statement: &'static str, formula: Term) -> Self {
        Axiom { statement, formula }
    }
}

/// Model of an algorithm for any number of processes.
#[derive(Clone, Debug)]
pub struct Model {
    /// Name of the algorithm, as in `tenure list`.
    pub name: &'static str,
    /// Symbols of the state. The actions may change them.
    pub state_symbols: Vec<Symbol>,
    /// Relations of the state whose tuples are messages in flight. The network may remove any of
    /// these tuples at any time, so each message may be lost. A relation of messages may be missing
    /// here for three reasons: its messages are never lost, the actions describe the loss, or a
    /// loss is the same as a message that is never received.
    pub lossy_messages: Vec<Symbol>,
    /// Symbols that never change, such as the order of names or the members of quorums.
    pub rigid: Vec<Symbol>,
    /// Conditions on the rigid symbols.
    pub axioms: Vec<Axiom>,
    /// Conditions on the initial states.
    pub initial_conditions: Vec<Term>,
    /// Steps of the processes. Each action models one handler of the code, or one branch of a
    /// handler.
    pub actions: Vec<Action>,
    /// The invariant. The first conjunct is the property to prove.
    pub invariant: Vec<Conjunct>,
}

impl Model {
    /// Returns the property that the invariant proves.
    ///
    /// # Panics
    ///
    /// Panics if the invariant is empty.
    pub fn property(&self) -> &Conjunct {
        self.invariant.first().expect("an invariant begins with the property")
    }

    /// Returns all actions: the actions in [`Model::actions`] and, for each relation in
    /// [`Model::lossy_messages`], an action by which the network loses a message.
    pub fn actions_with_message_loss(&self) -> Vec<Action> {
        let losses = self.lossy_messages.iter().map(|message| loss(*message));
        self.actions.iter().cloned().chain(losses).collect()
    }

    /// Returns all symbols: the symbols of the state and the rigid symbols.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.state_symbols.iter().chain(&self.rigid).copied()
    }

    /// Returns the sorts of [`Sort::UNINTERPRETED`] that the symbols of the model use.
    pub(crate) fn uninterpreted_sorts(&self) -> Vec<Sort> {
        let is_used = |sort: &Sort| {
            self.symbols().any(|symbol| symbol.range == *sort || symbol.domain.contains(sort))
        };
        Sort::UNINTERPRETED.into_iter().filter(is_used).collect()
    }
}

/// Returns the action by which the network loses one message. The tuples of the relation `message`
/// are the messages in flight.
fn loss(message: Symbol) -> Action {
    let lost = |(index, sort)| Variable::new("lost", sort).with_rename_index(index);
    let parameters: Vec<Variable> =
        (1u32..).zip(message.domain.iter().copied()).map(lost).collect();
    let arguments: Vec<Term> = parameters.iter().map(|variable| (*variable).into()).collect();
    Action::new(message.name, parameters)
        .into_loss()
        .when(message.at(arguments.clone()))
        .remove_tuple(message, arguments)
}
