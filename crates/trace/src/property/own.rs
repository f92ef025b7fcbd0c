//! A property that a reader writes as an expression.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tenure_core::{ProcessId, Property};

use super::check::Checker;
use super::error::PropertyError;
use super::evaluate::{Evaluator, View};
use super::facts::Tracked;
use super::formula::{Condition, Uses};
use super::parser::{LEADS_TO, parse};
use super::syntax::{Node, NodeKind, Operator};
use super::vocabulary::Vocabulary;

/// Form of a property: the option that introduces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// No state meets the condition, for any values of its free variables.
    Never,
    /// Every state meets the condition, for all values of its free variables.
    Always,
    /// Some state of every run meets the condition, for each value of its free variables.
    Eventually,
    /// After every state that meets the first condition, or in it, some state meets the second, for
    /// each value of the free variables.
    LeadsTo,
}

impl Form {
    /// Returns the name of the option, without hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Never => "never",
            Form::Always => "always",
            Form::Eventually => "eventually",
            Form::LeadsTo => "leads-to",
        }
    }

    /// Splits the name of a property in reports into its form and its expression.
    pub fn of_name(name: &str) -> Option<(Form, &str)> {
        let forms = [Form::Never, Form::Always, Form::Eventually, Form::LeadsTo];
        let split = |form: Form| Some((form, name.strip_prefix(form.name())?.strip_prefix(' ')?));
        forms.into_iter().find_map(split)
    }

    /// Returns true if a violation needs a whole run instead of one step.
    pub const fn is_liveness(self) -> bool {
        matches!(self, Form::Eventually | Form::LeadsTo)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A property that a reader writes as an expression, checked and ready for evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnProperty {
    form: Form,
    text: String,
    /// Name in reports: the form and the text.
    name: &'static str,
    /// The condition; of a leads-to property, the first one.
    condition: Condition,
    /// Second condition of a leads-to property.
    target: Option<Condition>,
    /// Names of all variables, by place.
    variables: Vec<String>,
    /// Places of the free variables.
    free: Vec<usize>,
    size: u32,
    uses: Uses,
}

/// Values of the variables of a property, by place.
pub type Binding = Vec<u32>;

impl OwnProperty {
    /// Parses and checks an expression.
    ///
    /// # Errors
    ///
    /// Returns a [`PropertyError`] that points at the wrong place.
    pub fn parse(form: Form, text: &str, vocabulary: &Vocabulary) -> Result<Self, PropertyError> {
        let node = parse(text)?;
        let mut checker = Checker::new(text, vocabulary);
        let (condition, target) = match (form, &node.kind) {
            (Form::LeadsTo, NodeKind::Binary { operator: Operator::LeadsTo, left, right }) => {
                (checker.condition(left)?, Some(checker.condition(right)?))
            }
            (Form::LeadsTo, _) => {
                let problem = "expected '~>' between two conditions";
                return Err(PropertyError::new(text, node.span, problem, LEADS_TO));
            }
            _ => (checker.condition(&node)?, None),
        };
        Self::check_free(text, &node, &checker)?;
        let Checker { variables, free, uses, .. } = checker;
        let text = text.trim().to_owned();
        let name = interned(format!("{form} {text}"));
        let size = vocabulary.size;
        Ok(OwnProperty { form, text, name, condition, target, variables, free, size, uses })
    }

    fn check_free(text: &str, node: &Node, checker: &Checker<'_>) -> Result<(), PropertyError> {
        const MAX_FREE: usize = 3;
        if checker.free.len() <= MAX_FREE {
            return Ok(());
        }
        let problem = format!("{} free variables", checker.free.len());
        let remedy = "expected at most 3; exists and forall bind more";
        Err(PropertyError::new(text, node.span.clone(), problem, remedy))
    }

    /// Returns the same property of a group of another size. Processes beyond the group meet no
    /// condition.
    #[must_use]
    pub fn sized(&self, size: u32) -> Self {
        OwnProperty { size, ..self.clone() }
    }

    /// Returns the form.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Returns the expression as the reader wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the property for reports, whose name is the form and the expression.
    pub const fn property(&self) -> Property {
        Property::Custom(self.name)
    }

    /// Returns the input that the property reads.
    pub const fn uses(&self) -> Uses {
        self.uses
    }

    /// Returns the facts that the property reads.
    pub const fn tracked(&self) -> Tracked {
        let Uses { phases, leaders, fences, .. } = self.uses;
        Tracked { phases, leaders, fences, elects: false }
    }

    /// Returns all values of the free variables, each in a binding of all variables.
    pub fn bindings(&self) -> Vec<Binding> {
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

    /// Returns a binding for which this state violates the property. Only for `never` and `always`.
    pub fn violation(&self, view: &mut (impl View + ?Sized)) -> Option<Binding> {
        let wanted = self.form == Form::Never;
        let first = vec![0; self.variables.len()];
        let mut evaluator = Evaluator { view, size: self.size, values: first };
        self.search(&mut evaluator, 0, wanted).then_some(evaluator.values)
    }

    /// Searches for values of the free variables from this index on for which the condition has the
    /// wanted value.
    fn search<V: View + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, V>,
        index: usize,
        wanted: bool,
    ) -> bool {
        let Some(place) = self.free.get(index) else {
            return evaluator.condition(&self.condition) == wanted;
        };
        (0..self.size).any(|value| {
            evaluator.values[*place] = value;
            self.search(evaluator, index + 1, wanted)
        })
    }

    /// Returns true if something is still to happen for a binding after a step, given whether it
    /// was before. Before the first state, `eventually` has everything to happen and `leads-to`
    /// nothing.
    pub fn is_pending(
        &self,
        binding: &Binding,
        was_pending: bool,
        view: &mut (impl View + ?Sized),
    ) -> bool {
        let mut evaluator = Evaluator { view, size: self.size, values: binding.clone() };
        match &self.target {
            None => was_pending && !evaluator.condition(&self.condition),
            Some(target) => {
                (was_pending || evaluator.condition(&self.condition))
                    && !evaluator.condition(target)
            }
        }
    }

    /// Returns true if something is to happen before the first state.
    pub const fn is_pending_at_first(&self) -> bool {
        matches!(self.form, Form::Eventually)
    }

    /// Describes a violation in this state.
    pub fn explain(&self, binding: &Binding) -> String {
        let text = &self.text;
        match (self.form, self.values(binding)) {
            (Form::Never, None) => format!("{text} is true here"),
            (Form::Never, Some(values)) => format!("{text} is true here for {values}"),
            (_, None) => format!("{text} is false here"),
            (_, Some(values)) => format!("{text} is false here for {values}"),
        }
    }

    /// Describes the missing event or state for a binding.
    pub fn explain_pending(&self, binding: &Binding) -> String {
        let missing = match self.text.split_once("~>") {
            Some((_, target)) if self.target.is_some() => target.trim(),
            _ => &self.text,
        };
        match self.values(binding) {
            None => format!("{missing} does not happen"),
            Some(values) => format!("{missing} does not happen for {values}"),
        }
    }

    /// Returns the values of the free variables as text, if there are any.
    fn values(&self, binding: &Binding) -> Option<String> {
        let value =
            |place: &usize| format!("{} = {}", self.variables[*place], ProcessId(binding[*place]));
        let values: Vec<String> = self.free.iter().map(value).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Returns the text with the lifetime of the program. Equal texts share memory. It is never freed,
/// but a command line names few properties.
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
