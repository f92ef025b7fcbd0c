//! A property that the user has written as an expression.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tenure_core::{ProcessId, Property};

use super::check::ExpressionChecker;
use super::error::ExpressionError;
use super::evaluate::{ExpressionEvaluator, StateView};
use super::facts::FactSelection;
use super::formula::{Condition, PropertyInputs};
use super::parser::{LEADS_TO_ADVICE, parse_expression};
use super::syntax::{Operator, SyntaxNode, SyntaxNodeKind};
use super::vocabulary::Vocabulary;

/// Temporal operator of a property that the user has written as an expression. Each operator has
/// its own command-line option, such as `--always`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TemporalOperator {
    /// For all values of the free variables, no state meets the condition.
    Never,
    /// For all values of the free variables, every state meets the condition.
    Always,
    /// For all values of the free variables, every run has a state that meets the condition.
    Eventually,
    /// For all values of the free variables: if a state meets the first condition, this state or a
    /// later one meets the second condition.
    LeadsTo,
}

impl TemporalOperator {
    /// Returns the name of the command-line option for properties with this operator, without
    /// hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            TemporalOperator::Never => "never",
            TemporalOperator::Always => "always",
            TemporalOperator::Eventually => "eventually",
            TemporalOperator::LeadsTo => "leads-to",
        }
    }

    /// Splits the name of a property in reports into the temporal operator (such as `always`) and
    /// the expression. Returns `None` for any other name.
    pub fn split_name(name: &str) -> Option<(TemporalOperator, &str)> {
        let forms = [
            TemporalOperator::Never,
            TemporalOperator::Always,
            TemporalOperator::Eventually,
            TemporalOperator::LeadsTo,
        ];
        let split = |form: TemporalOperator| {
            Some((form, name.strip_prefix(form.name())?.strip_prefix(' ')?))
        };
        forms.into_iter().find_map(split)
    }

    /// Returns true if the property is a liveness property, which demands that a certain state
    /// occurs. Only a whole run can violate a liveness property. A property with any other operator
    /// can be violated by a single state.
    pub const fn is_liveness(self) -> bool {
        matches!(self, TemporalOperator::Eventually | TemporalOperator::LeadsTo)
    }
}

impl fmt::Display for TemporalOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that the user has written as an expression, checked and ready for evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionProperty {
    form: TemporalOperator,
    text: String,
    /// Name in reports: the temporal operator of the property (such as `always`), followed by the
    /// expression.
    name: &'static str,
    /// The condition of the property. For a leads-to property, the condition on the left of `~>`.
    condition: Condition,
    /// For a leads-to property, the condition on the right of `~>`. Otherwise `None`.
    target: Option<Condition>,
    /// Names of all variables. The index of a name in this list identifies the variable in a
    /// [`VariableAssignment`].
    variables: Vec<String>,
    /// Free variables, which no quantifier binds. Each element is an index in `variables`.
    free: Vec<usize>,
    size: u32,
    uses: PropertyInputs,
}

/// Values of all variables of a property, by the index of the variable. Each value is the index of
/// a process.
pub type VariableAssignment = Vec<u32>;

impl ExpressionProperty {
    /// Parses and checks an expression.
    ///
    /// # Errors
    ///
    /// Returns a [`ExpressionError`] that states which part of the expression is wrong.
    pub fn parse(
        form: TemporalOperator,
        text: &str,
        vocabulary: &Vocabulary,
    ) -> Result<Self, ExpressionError> {
        let node = parse_expression(text)?;
        let mut checker = ExpressionChecker::new(text, vocabulary);
        let (condition, target) = match (form, &node.kind) {
            (
                TemporalOperator::LeadsTo,
                SyntaxNodeKind::Binary { operator: Operator::LeadsTo, left, right },
            ) => (checker.check_condition(left)?, Some(checker.check_condition(right)?)),
            (TemporalOperator::LeadsTo, _) => {
                let problem = "expected '~>' between two conditions";
                return Err(ExpressionError::new(text, node.span, problem, LEADS_TO_ADVICE));
            }
            _ => (checker.check_condition(&node)?, None),
        };
        Self::check_free(text, &node, &checker)?;
        let ExpressionChecker { variables, free, uses, .. } = checker;
        let text = text.trim().to_owned();
        let name = interned(format!("{form} {text}"));
        let size = vocabulary.group_size;
        Ok(ExpressionProperty { form, text, name, condition, target, variables, free, size, uses })
    }

    fn check_free(
        text: &str,
        node: &SyntaxNode,
        checker: &ExpressionChecker<'_>,
    ) -> Result<(), ExpressionError> {
        const MAX_FREE: usize = 3;
        if checker.free.len() <= MAX_FREE {
            return Ok(());
        }
        let problem = format!("{} free variables", checker.free.len());
        let remedy = "expected at most 3; exists and forall bind more";
        Err(ExpressionError::new(text, node.span.clone(), problem, remedy))
    }

    /// Returns the same property for a group of `size` processes. A predicate or an equation that
    /// names a process outside of the group is false.
    #[must_use]
    pub fn with_group_size(&self, size: u32) -> Self {
        ExpressionProperty { size, ..self.clone() }
    }

    /// Returns the temporal operator of the property: `never`, `always`, `eventually` or
    /// `leads-to`.
    pub const fn operator(&self) -> TemporalOperator {
        self.form
    }

    /// Returns the expression as the user wrote it, without blanks at the beginning and the end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the property as reports name it, for example as `always` followed by the expression.
    pub const fn reported_property(&self) -> Property {
        Property::Custom(self.name)
    }

    /// Returns which kinds of input the property reads, such as messages in flight.
    pub const fn inputs(&self) -> PropertyInputs {
        self.uses
    }

    /// Returns which facts about commands and events the property reads, such as leaders or fences.
    pub const fn tracked_facts(&self) -> FactSelection {
        let PropertyInputs { phases, leaders, fences, .. } = self.uses;
        FactSelection { phases, leaders, fences, is_election_only: false }
    }

    /// Returns one assignment for each combination of values of the free variables. The variables
    /// that a quantifier binds have the value 0 in each of these assignments.
    pub fn assignments(&self) -> Vec<VariableAssignment> {
        let mut bindings = vec![vec![0; self.variables.len()]];
        for place in &self.free {
            bindings = bindings
                .into_iter()
                .flat_map(|binding| {
                    (0..self.size).map(move |value| {
                        let mut binding = binding.clone();
                        binding[*place] = value;
                        binding
                    })
                })
                .collect();
        }
        bindings
    }

    /// Returns values of the free variables for which this state violates the property. Returns
    /// `None` if there are no such values. Call this method only for the operators `never` and
    /// `always`, because a single state can violate only properties with these operators.
    pub fn violating_assignment(
        &self,
        view: &mut (impl StateView + ?Sized),
    ) -> Option<VariableAssignment> {
        let wanted = self.form == TemporalOperator::Never;
        let first = vec![0; self.variables.len()];
        let mut evaluator = ExpressionEvaluator { view, size: self.size, values: first };
        self.search(&mut evaluator, 0, wanted).then_some(evaluator.values)
    }

    /// Searches for values of the free variables for which the condition has the value `wanted`.
    /// Keeps the values of the first `index` free variables, and tries all values of the later free
    /// variables. If the search succeeds, returns true and leaves the values in the evaluator.
    fn search<V: StateView + ?Sized>(
        &self,
        evaluator: &mut ExpressionEvaluator<'_, V>,
        index: usize,
        wanted: bool,
    ) -> bool {
        let Some(place) = self.free.get(index) else {
            return evaluator.evaluate_condition(&self.condition) == wanted;
        };
        (0..self.size).any(|value| {
            evaluator.values[*place] = value;
            self.search(evaluator, index + 1, wanted)
        })
    }

    /// Returns true if the property is pending after a step: it demands a state that has not
    /// occurred yet. `binding` contains the values of the free variables, and `view` shows the
    /// state after the step. `was_pending` is true if the property was pending before the step. At
    /// the start of a run, an `eventually` property is pending, and a `leads-to` property is not.
    pub fn is_pending(
        &self,
        binding: &VariableAssignment,
        was_pending: bool,
        view: &mut (impl StateView + ?Sized),
    ) -> bool {
        let mut evaluator = ExpressionEvaluator { view, size: self.size, values: binding.clone() };
        match &self.target {
            None => was_pending && !evaluator.evaluate_condition(&self.condition),
            Some(target) => {
                (was_pending || evaluator.evaluate_condition(&self.condition))
                    && !evaluator.evaluate_condition(target)
            }
        }
    }

    /// Returns true if the property is pending at the start of a run. A pending property demands a
    /// state that has not occurred yet. The result is the same for all values of the free
    /// variables.
    pub const fn is_pending_initially(&self) -> bool {
        matches!(self.form, TemporalOperator::Eventually)
    }

    /// Describes how a state violates the property for `binding`. The temporal operator of the
    /// property is `never` or `always`.
    pub fn explain_violation(&self, binding: &VariableAssignment) -> String {
        let text = &self.text;
        match (self.form, self.values(binding)) {
            (TemporalOperator::Never, None) => format!("{text} is true here"),
            (TemporalOperator::Never, Some(values)) => format!("{text} is true here for {values}"),
            (_, None) => format!("{text} is false here"),
            (_, Some(values)) => format!("{text} is false here for {values}"),
        }
    }

    /// Describes the state that the property still demands for `binding`. The temporal operator of
    /// the property is `eventually` or `leads-to`.
    pub fn explain_pending(&self, binding: &VariableAssignment) -> String {
        let missing = match self.text.split_once("~>") {
            Some((_, target)) if self.target.is_some() => target.trim(),
            _ => &self.text,
        };
        match self.values(binding) {
            None => format!("{missing} does not happen"),
            Some(values) => format!("{missing} does not happen for {values}"),
        }
    }

    /// Returns the values of the free variables as text, such as `p = P1`. `None` if there are no
    /// free variables.
    fn values(&self, binding: &VariableAssignment) -> Option<String> {
        let value =
            |place: &usize| format!("{} = {}", self.variables[*place], ProcessId(binding[*place]));
        let values: Vec<String> = self.free.iter().map(value).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Returns the text with a static lifetime. Equal texts share memory. The memory is never freed.
/// The amount is small, because a command line names few properties.
fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(&*name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into_boxed_str());
    names.insert(name);
    name
}
