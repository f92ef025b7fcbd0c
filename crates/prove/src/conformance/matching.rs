//! Search for actions of a model that explain a step of the implementation.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::logic::sort::Sort;
use crate::model::Model;
use crate::model::action::Action;
use crate::structure::evaluation::{Assignment, Evaluator};
use crate::structure::table::Structure;
use crate::structure::transition::apply_updates;
use crate::structure::value::Value;

/// Maximum number of model actions that together explain one step of the code. For example, a
/// process may receive the last reply and enter in one step of the code. In the model, the receipt
/// and the entry are two actions.
const MAX_ACTIONS: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepMatch {
    /// The state of the model is the same before and after the step, except that messages may have
    /// been lost.
    Unchanged,
    /// The actions with these names, in this order, lead from the state before the step to the
    /// state after it. At the end, messages may also be lost.
    Actions(Vec<String>),
}

/// Search for actions of one model that explain a step.
pub(crate) struct StepMatcher<'m> {
    model: &'m Model,
}

impl<'m> StepMatcher<'m> {
    pub(crate) fn new(model: &'m Model) -> Self {
        StepMatcher { model }
    }

    /// Returns the shortest sequence of actions that leads from the structure `before` to the
    /// structure `after`. Messages may be lost at the end. Every state between two actions must be
    /// possible in the middle of a step of `process`, see [`Self::is_between`]. Returns `None` if
    /// there is no such sequence of at most [`MAX_ACTIONS`] actions.
    pub(crate) fn find_matching_actions(
        &self,
        before: &Structure,
        after: &Structure,
        process: Option<u32>,
    ) -> Option<StepMatch> {
        let process = process.map(Value::process);
        if self.is_reached(before, after) {
            return Some(StepMatch::Unchanged);
        }
        let mut level = vec![(before.clone(), Vec::new())];
        let mut seen = HashSet::from([before.clone()]);
        for _ in 0..MAX_ACTIONS {
            let mut next: Vec<(Structure, Vec<String>)> = Vec::new();
            for (state, names) in &level {
                for action in &self.model.actions {
                    for assignment in self.enabled(state, action) {
                        let reached = apply_updates(state, action, &assignment);
                        let mut names = names.clone();
                        names.push(action.display_name());
                        if self.is_reached(&reached, after) {
                            return Some(StepMatch::Actions(names));
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

    /// Returns true if the loss of some messages, or of none, turns `state` into `wanted`. Some
    /// messages of `state` may be missing in `wanted`. Everything else must be equal.
    fn is_reached(&self, state: &Structure, wanted: &Structure) -> bool {
        self.model.state_symbols.iter().all(|symbol| {
            match self.model.lossy_messages.contains(symbol) {
                true => state.is_superset_on(*symbol, wanted),
                false => state.agrees_on(*symbol, wanted),
            }
        })
    }

    /// Returns true if `state` may occur in the middle of a step of `process`. `ends` contains the
    /// states before and after the step. The search continues only from states for which this
    /// function returns true.
    ///
    /// Each value in `state` must equal the value in one of the two `ends`. Three kinds of values
    /// are exempt: values whose first argument is `process`, messages that are not in flight in
    /// `state`, and messages that name no process except `process`.
    fn is_between(&self, state: &Structure, ends: [&Structure; 2], process: Option<Value>) -> bool {
        let is_own = |argument: &Value| match argument {
            Value::Element(Sort::Process, _) => Some(*argument) == process,
            _ => true,
        };
        self.model.state_symbols.iter().all(|symbol| {
            let is_message = self.model.lossy_messages.contains(symbol);
            let tables =
                [state, ends[0], ends[1]].into_iter().filter_map(|it| it.explicit_table(*symbol));
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

    /// Returns the assignments of parameters for which an action is possible in a state.
    fn enabled(&self, state: &Structure, action: &Action) -> Vec<Assignment> {
        let mut found = Vec::new();
        let _ = Evaluator::new(state).for_each_assignment(
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
