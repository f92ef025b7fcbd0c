//! Properties that the user has written as expressions.

pub(crate) mod fact_collector;
pub(crate) mod judge;
pub(crate) mod view;

use std::sync::Arc;

use tenure_trace::property::{
    ExpressionProperty, FactSelection, PropertyInputs, ServiceFacts, VariableAssignment,
};

use crate::error::CheckError;
use crate::plan::{PropertyCheckKind, SelectedProperty};
use crate::world::StateLayout;

/// Maximum number of marks of a global state. A mark is one bit of a `u32`, and states one fact
/// about the global state.
const MARKS: usize = u32::BITS as usize;

/// The properties of a search that are written as expressions, prepared for evaluation.
#[derive(Debug)]
pub(crate) struct CustomProperties {
    pub(crate) properties: Vec<PreparedProperty>,
    /// Index of the monitor that collects facts from commands and events. `None` if no property
    /// needs these facts.
    pub(crate) fact_collector: Option<usize>,
    /// Empty facts, for a search without the monitor that collects facts.
    pub(crate) no_facts: Arc<ServiceFacts>,
}

/// A property written as an expression, prepared for evaluation.
///
/// An assignment is one combination of values of the free variables of the property, for instance
/// P1 for `p` and P2 for `q`. Each global state has marks, which are bits that state facts about
/// it. One of these bits belongs to each assignment of a liveness property. The bit is set while
/// the property demands an event for this assignment that has not occurred.
#[derive(Clone, Debug)]
pub(crate) struct PreparedProperty {
    pub(crate) property: Arc<ExpressionProperty>,
    /// Combinations of values of the free variables of a liveness property. Empty for a safety
    /// property.
    pub(crate) bindings: Vec<VariableAssignment>,
    /// Position of the bit of the first assignment in the marks of a global state. The bits of the
    /// other assignments follow in order.
    first_mark: usize,
}

impl PreparedProperty {
    /// Returns the bit of the assignment with the index `binding` in the marks of a global state.
    /// The bit is set while an event is still due for this assignment.
    pub(crate) fn binding_mask(&self, binding: usize) -> u32 {
        1 << (self.first_mark + binding)
    }

    /// Shifts the bits of `pending` to their position in the marks of a global state. Bit *i* of
    /// `pending` is set if an event is still due for the assignment with the index *i*. Returns 0
    /// for a safety property.
    pub(crate) fn pending_mask(&self, pending: u32) -> u32 {
        if self.bindings.is_empty() { 0 } else { pending << self.first_mark }
    }
}

impl CustomProperties {
    /// Prepares the properties for a search. `layout` is the layout of the global states of the
    /// search. Returns `None` if there are no properties.
    ///
    /// # Errors
    ///
    /// Returns an error if the properties need more bits than are free in the marks of a global
    /// state. A liveness property needs one bit for each combination of values of its variables.
    pub(crate) fn new(
        properties: &[Arc<ExpressionProperty>],
        layout: StateLayout,
        fact_collector: Option<usize>,
    ) -> Result<Option<Self>, CheckError> {
        if properties.is_empty() {
            return Ok(None);
        }
        let mut next = layout.fixed_mark_count();
        let mut watched = Vec::new();
        for property in properties {
            let is_liveness = property.operator().is_liveness();
            let bindings = if is_liveness { property.assignments() } else { Vec::new() };
            let first_mark = next;
            next += bindings.len();
            if next > MARKS {
                return Err(CheckError::Bindings {
                    property: property.reported_property().name().to_owned(),
                    bindings: bindings.len(),
                    max: MARKS.saturating_sub(first_mark),
                });
            }
            watched.push(PreparedProperty { property: Arc::clone(property), bindings, first_mark });
        }
        let no_facts = ServiceFacts::new(layout.size as u32, FactSelection::default());
        Ok(Some(CustomProperties {
            properties: watched,
            fact_collector,
            no_facts: Arc::new(no_facts),
        }))
    }
}

pub(crate) fn select_custom_properties(
    properties: &[Arc<ExpressionProperty>],
) -> Vec<SelectedProperty> {
    let select = |(index, property): (usize, &Arc<ExpressionProperty>)| {
        let kind = match property.operator().is_liveness() {
            true => PropertyCheckKind::CustomLiveness(index),
            false => PropertyCheckKind::CustomSafety(index),
        };
        SelectedProperty { property: property.reported_property(), kind }
    };
    properties.iter().enumerate().map(select).collect()
}

/// Returns true if the property reads phases, leaders, fences or events. These facts follow from
/// the commands and events of services.
pub(crate) fn reads_service_facts(uses: PropertyInputs) -> bool {
    uses.phases || uses.leaders || uses.fences || uses.events
}

/// Returns true if the property reads parts of a state that a shift of timestamps may change.
/// Global states that differ only by such a shift must then not be merged.
pub(crate) fn depends_on_timestamps(property: &ExpressionProperty) -> bool {
    let uses = property.inputs();
    uses.fences || uses.state_numbers
}

/// Returns true if global states that differ only by a renaming of processes must not be merged,
/// because the property may have different values in them.
pub(crate) fn depends_on_names(property: &ExpressionProperty) -> bool {
    let uses = property.inputs();
    // Merged states may differ in the leaders and fences that monitors have recorded, but not in
    // the phases of users.
    property.operator().is_liveness() || uses.process_identities || uses.leaders || uses.fences
}
