//! Evaluation of checked expressions.

use std::sync::Arc;

use serde_json::{Map, Value as Tree};

use super::facts::{ServiceFacts, StepFacts};
use super::formula::{
    ComparedValue, Condition, MessagePattern, NumberTerm, PathStep, ProcessPredicate, ProcessTerm,
    Relation, Sign, StatePath,
};
use super::vocabulary::tuple_variant_name;
use crate::state::TYPE_KEY;

/// State of the whole group, and the step that led to it. An engine implements this trait, so that
/// properties can be evaluated in its states. A process is given by its index, from 0.
pub trait StateView {
    /// Returns the facts that commands and events have established up to this state, such as the
    /// processes that wait.
    fn services(&self) -> &ServiceFacts;

    /// Returns the commands and events of the step that led to this state.
    fn step(&self) -> &StepFacts;

    /// Returns true if a process is down.
    fn is_crashed(&mut self, at: u32) -> bool;

    /// Returns true if the failure detector of a process suspects a peer.
    fn suspects(&mut self, at: u32, peer: u32) -> bool;

    /// Returns the number of messages with this name that are in flight. If `from` is given, only
    /// messages from this process count. If `to` is given, only messages to this process count.
    fn in_flight(&mut self, message: &str, from: Option<u32>, to: Option<u32>) -> u64;

    /// Returns the number of messages with this name that the last step has sent. The last step is
    /// the step that led to this state. If `from` is given, only messages from this process count.
    /// If `to` is given, only messages to this process count.
    fn sent_in_step(&mut self, message: &str, from: Option<u32>, to: Option<u32>) -> u64;

    /// Returns the state of a process as a [tree](crate::state::debug_tree). Returns `None` if the
    /// process is down, or if its state is unknown.
    fn state(&mut self, at: u32) -> Option<Arc<Tree>>;
}

/// Evaluates expressions in the state that `view` shows, for given values of the variables.
pub(super) struct ExpressionEvaluator<'a, V: StateView + ?Sized> {
    pub(super) view: &'a mut V,
    pub(super) size: u32,
    pub(super) values: Vec<u32>,
}

impl<V: StateView + ?Sized> ExpressionEvaluator<'_, V> {
    pub(super) fn evaluate_condition(&mut self, of: &Condition) -> bool {
        match of {
            Condition::Constant(value) => *value,
            Condition::Not(inner) => !self.evaluate_condition(inner),
            Condition::And(all) => all.iter().all(|it| self.evaluate_condition(it)),
            Condition::Or(any) => any.iter().any(|it| self.evaluate_condition(it)),
            Condition::Equivalent(left, right) => {
                self.evaluate_condition(left) == self.evaluate_condition(right)
            }
            Condition::Fact(fact, who) => {
                self.process_of(who).is_some_and(|at| self.fact(*fact, at))
            }
            Condition::Suspects(who, peer) => match (self.process_of(who), self.process_of(peer)) {
                (Some(at), Some(peer)) => self.view.suspects(at, peer),
                _ => false,
            },
            Condition::Same(left, right) => {
                let left = self.process_of(left);
                left.is_some() && left == self.process_of(right)
            }
            Condition::Compare(relation, left, right) => {
                let (left, right) = (self.number(left), self.number(right));
                left.zip(right).is_some_and(|(left, right)| match relation {
                    Relation::Equal => left == right,
                    Relation::Less => left < right,
                    Relation::AtMost => left <= right,
                })
            }
            Condition::State(path, value) => {
                self.with_tree(path, |it, tree| it.is_equal(tree, value)) == Some(true)
            }
            Condition::Holds(path) => {
                self.with_tree(path, |_, tree| *tree == Tree::Bool(true)) == Some(true)
            }
            Condition::Contains(path, who) => {
                let found = self.with_tree(path, |it, tree| {
                    it.process_of(who).is_some_and(|process| contains(tree, process))
                });
                found == Some(true)
            }
            Condition::Forall(place, body) => {
                (0..self.size).all(|value| self.with(*place, value, body))
            }
            Condition::Exists(place, body) => {
                (0..self.size).any(|value| self.with(*place, value, body))
            }
        }
    }

    fn with(&mut self, place: usize, value: u32, body: &Condition) -> bool {
        self.values[place] = value;
        self.evaluate_condition(body)
    }

    fn fact(&mut self, fact: ProcessPredicate, at: u32) -> bool {
        let facts = self.view.services().process(at);
        let step = self.view.step();
        let steps = step.at.is_some_and(|process| process.0 == at);
        match fact {
            ProcessPredicate::Requests => steps && step.requests,
            ProcessPredicate::Enters => steps && step.enters,
            ProcessPredicate::Exits => steps && step.exits,
            ProcessPredicate::Waiting => facts.waiting,
            ProcessPredicate::Inside => facts.inside,
            ProcessPredicate::Leads => facts.leader.is_some_and(|leader| leader.0 == at),
            ProcessPredicate::KnowsLeader => facts.leader.is_some(),
            ProcessPredicate::Crashed => self.view.is_crashed(at),
        }
    }

    /// Returns the process that a term of an expression denotes. Returns `None` if the term denotes
    /// no process, or a process outside of the group.
    fn process_of(&mut self, of: &ProcessTerm) -> Option<u32> {
        let named = match of {
            ProcessTerm::Fixed(process) => Some(*process),
            ProcessTerm::Variable(place) => Some(self.values[*place]),
            ProcessTerm::LeaderOf(who) => {
                let at = self.process_of(who)?;
                self.view.services().process(at).leader.map(|leader| leader.0)
            }
            ProcessTerm::InState(path) => self.with_tree(path, |_, tree| process(tree))?,
        };
        named.filter(|at| *at < self.size)
    }

    fn number(&mut self, of: &NumberTerm) -> Option<i128> {
        Some(match of {
            NumberTerm::Constant(value) => *value,
            NumberTerm::Sum(terms) => {
                let mut sum: i128 = 0;
                for (sign, term) in terms {
                    let value = self.number(term)?;
                    sum = match sign {
                        Sign::Plus => sum.saturating_add(value),
                        Sign::Minus => sum.saturating_sub(value),
                    };
                }
                sum
            }
            NumberTerm::ElectionTerm(who) => {
                let at = self.process_of(who)?;
                self.view.services().process(at).term.into()
            }
            NumberTerm::Fence(who) => {
                let at = self.process_of(who)?;
                let fence = self.view.services().process(at).fence?;
                i128::from(fence.0) << 64 | i128::from(fence.1)
            }
            NumberTerm::InState(path) => self.with_tree(path, |_, tree| match tree {
                Tree::Number(number) => number.as_i128(),
                _ => None,
            })??,
            NumberTerm::Count(places, body) => self.count(places, body),
            NumberTerm::InFlight(pattern) => {
                let (from, to) = self.ends(pattern)?;
                self.view.in_flight(&pattern.message, from, to).into()
            }
            NumberTerm::Sent(pattern) => {
                let (from, to) = self.ends(pattern)?;
                self.view.sent_in_step(&pattern.message, from, to).into()
            }
        })
    }

    fn count(&mut self, places: &[usize], body: &Condition) -> i128 {
        match places.split_first() {
            None => i128::from(self.evaluate_condition(body)),
            Some((place, rest)) => (0..self.size)
                .map(|value| {
                    self.values[*place] = value;
                    self.count(rest, body)
                })
                .sum(),
        }
    }

    /// Returns the sender and the receiver of a message pattern. An inner `None` means any process.
    /// The outer value is `None` if an end of the pattern denotes no process of the group.
    fn ends(&mut self, pattern: &MessagePattern) -> Option<(Option<u32>, Option<u32>)> {
        let mut end = |who: &Option<ProcessTerm>| match who {
            None => Some(None),
            Some(who) => self.process_of(who).map(Some),
        };
        Some((end(&pattern.from)?, end(&pattern.to)?))
    }

    /// Calls `read` with the part of a state that `path` selects. Returns `None` if this part does
    /// not exist.
    fn with_tree<R>(
        &mut self,
        path: &StatePath,
        read: impl FnOnce(&mut Self, &Tree) -> R,
    ) -> Option<R> {
        let at = self.process_of(&path.of)?;
        let state = self.view.state(at)?;
        let mut here: &Tree = &state;
        for step in &path.steps {
            here = match step {
                PathStep::Field(name) => field(here, name)?,
                PathStep::Process(who) => {
                    let process = self.process_of(who)?;
                    match here {
                        Tree::Object(fields) => of_process(fields, process)?,
                        list => list.get(process as usize)?,
                    }
                }
                PathStep::Number(number) => {
                    let index = self.number(number)?;
                    match here {
                        Tree::Object(fields) => fields.get(&index.to_string())?,
                        list => list.get(usize::try_from(index).ok()?)?,
                    }
                }
            };
        }
        Some(read(self, here))
    }

    fn is_equal(&mut self, tree: &Tree, value: &ComparedValue) -> bool {
        match value {
            ComparedValue::Name(name) => name_of(tree) == Some(name),
            ComparedValue::Bool(value) => *tree == Tree::Bool(*value),
            ComparedValue::Process(who) => {
                let named = process(tree);
                named.is_some() && named == self.process_of(who)
            }
            ComparedValue::State(path) => {
                self.with_tree(path, |_, other| other == tree) == Some(true)
            }
        }
    }
}

/// Returns the field `name` of an object. For a tuple variant, `name` is the name of the variant.
fn field<'t>(tree: &'t Tree, name: &str) -> Option<&'t Tree> {
    match tree {
        Tree::Object(fields) => fields.get(name),
        _ => None,
    }
}

/// Returns the name of the enum variant: `Waiting` for `Waiting { … }`, `Waiting(…)` and `Waiting`.
fn name_of(tree: &Tree) -> Option<&str> {
    match tree {
        Tree::Null => Some("None"),
        Tree::String(name) => Some(name),
        Tree::Object(fields) => match fields.get(TYPE_KEY) {
            Some(Tree::String(name)) => Some(name),
            _ => tuple_variant_name(fields),
        },
        _ => None,
    }
}

/// Returns the index of the process that the value names, such as 0 for `P1`. `None` if the value
/// is not the name of a process.
fn process(tree: &Tree) -> Option<u32> {
    let Tree::String(text) = tree else { return None };
    process_of_name(text)
}

/// Returns the index of the process with this name, such as 0 for `P1`. `None` if the text is not
/// the name of a process.
fn process_of_name(name: &str) -> Option<u32> {
    name.strip_prefix('P')?.parse::<u32>().ok()?.checked_sub(1)
}

/// Returns the value of the field that is named after the process, such as `P1`.
fn of_process(fields: &Map<String, Tree>, process: u32) -> Option<&Tree> {
    let mut fields = fields.iter();
    fields.find(|(name, _)| process_of_name(name) == Some(process)).map(|(_, part)| part)
}

fn contains(tree: &Tree, at: u32) -> bool {
    match tree {
        Tree::Array(elements) => elements.iter().any(|element| process(element) == Some(at)),
        Tree::Object(fields) => of_process(fields, at).is_some(),
        _ => false,
    }
}
