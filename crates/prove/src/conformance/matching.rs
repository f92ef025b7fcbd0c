//! Search for actions of a model that explain a step of the code.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::logic::sort::Sort;
use crate::model::Model;
use crate::model::action::Action;
use crate::structure::evaluation::{Assignment, Evaluation};
use crate::structure::table::Structure;
use crate::structure::transition::apply;
use crate::structure::value::Value;

/// Greatest number of actions that one step of the code may correspond to, such as the receipt of
/// the last reply and the entry. A voter that withdraws its vote takes the most: it also begins its
/// own request again, and gets its own vote.
const MAX_ACTIONS: usize = 8;

/// Actions that explain a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// The state of the model is the same before and after.
    Unchanged,
    /// These actions lead from the state before to the state after.
    Actions(Vec<String>),
}

/// Searches actions of one model.
pub(crate) struct Matcher<'m> {
    model: &'m Model,
}

impl<'m> Matcher<'m> {
    pub(crate) fn new(model: &'m Model) -> Self {
        Matcher { model }
    }

    /// Returns the shortest sequence of actions by which a process leads from one structure to the
    /// other. Losses of messages are permitted at the end.
    pub(crate) fn find(
        &self,
        before: &Structure,
        after: &Structure,
        process: Option<u32>,
    ) -> Option<Match> {
        let process = process.map(Value::process);
        if self.is_reached(before, after) {
            return Some(Match::Unchanged);
        }
        let mut level = vec![(before.clone(), Vec::new())];
        let mut seen = HashSet::from([before.clone()]);
        for _ in 0..MAX_ACTIONS {
            let mut next: Vec<(Structure, Vec<String>)> = Vec::new();
            for (state, names) in &level {
                for action in &self.model.actions {
                    for assignment in self.enabled(state, action) {
                        let reached = apply(state, action, &assignment);
                        let mut names = names.clone();
                        names.push(action.title());
                        if self.is_reached(&reached, after) {
                            return Some(Match::Actions(names));
                        }
                        if self.is_between(&reached, [before, after], process)
                            && seen.insert(reached.clone())
                        {
                            next.push((reached, names));
                        }
                    }
                }
            }
            level = next;
        }
        None
    }

    /// Returns true if a state of the model equals the other, except for messages that may be lost.
    fn is_reached(&self, state: &Structure, wanted: &Structure) -> bool {
        self.model.state.iter().all(|symbol| match self.model.messages.contains(symbol) {
            true => state.includes(*symbol, wanted),
            false => state.agrees_on(*symbol, wanted),
        })
    }

    /// Returns true if a state may occur within a step of a process. Only the state of this process
    /// and the messages that it sends itself may differ from both ends of the step. This keeps the
    /// search short: it excludes actions of other processes, and messages that are not sent.
    fn is_between(&self, state: &Structure, ends: [&Structure; 2], process: Option<Value>) -> bool {
        let is_own = |argument: &Value| match argument {
            Value::Element(Sort::Process, _) => Some(*argument) == process,
            _ => true,
        };
        self.model.state.iter().all(|symbol| {
            let is_message = self.model.messages.contains(symbol);
            let tables = [state, ends[0], ends[1]].into_iter().filter_map(|it| it.table(*symbol));
            let mut entries = tables.flat_map(|table| table.entries());
            entries.all(|(arguments, _)| {
                let value = state.value(*symbol, arguments);
                let is_free = match is_message {
                    true => !value.is_true() || arguments.iter().all(is_own),
                    false => arguments.first().copied() == process,
                };
                is_free || ends.iter().any(|end| end.value(*symbol, arguments) == value)
            })
        })
    }

    /// Returns the values of the parameters for which an action is possible.
    fn enabled(&self, state: &Structure, action: &Action) -> Vec<Assignment> {
        let mut found = Vec::new();
        let _ = Evaluation::new(state).visit(
            &action.parameters,
            &action.guard,
            true,
            &mut Assignment::new(),
            &mut |assignment| {
                found.push(assignment.clone());
                ControlFlow::Continue(())
            },
        );
        found
    }
}
