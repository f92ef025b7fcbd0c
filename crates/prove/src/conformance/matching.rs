//! Search for actions of a model that explain a step of the code.

use std::ops::ControlFlow;

use crate::model::Model;
use crate::model::action::Action;
use crate::structure::evaluation::{Assignment, Evaluation};
use crate::structure::table::Structure;
use crate::structure::transition::apply;

/// Greatest number of actions that one step of the code may correspond to, such as the receipt of
/// the last reply and the entry.
const MAX_ACTIONS: usize = 3;

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

    /// Returns the shortest sequence of actions that leads from one structure to the other. Losses
    /// of messages are permitted at the end.
    pub(crate) fn find(&self, before: &Structure, after: &Structure) -> Option<Match> {
        if self.is_reached(before, after) {
            return Some(Match::Unchanged);
        }
        let mut level = vec![(before.clone(), Vec::new())];
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
                        if next.iter().all(|(known, _)| *known != reached) {
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
