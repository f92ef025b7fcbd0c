//! Properties that a reader writes as expressions.

pub(crate) mod fold;
pub(crate) mod judge;
pub(crate) mod view;

use std::sync::Arc;

use tenure_trace::property::{Binding, OwnProperty, ServiceFacts, Tracked, Uses};

use crate::check::{CheckKind, SelectedProperty};
use crate::error::CheckError;
use crate::world::Layout;

/// Greatest number of marks of a world.
const MARKS: usize = u32::BITS as usize;

/// The properties of a search that are expressions, ready for evaluation.
#[derive(Debug)]
pub(crate) struct OwnProperties {
    pub(crate) properties: Vec<Watched>,
    /// Index of the monitor that keeps the facts from commands and events, if one is needed.
    pub(crate) fold: Option<usize>,
    /// Facts of a search without that monitor.
    pub(crate) no_facts: Arc<ServiceFacts>,
}

/// A property with the marks of the bindings for which an event is still due.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) property: Arc<OwnProperty>,
    /// Bindings of a liveness property.
    pub(crate) bindings: Vec<Binding>,
    /// Place of the mark of the first binding.
    first_mark: usize,
}

impl Watched {
    /// Returns the mark that a world has while an event is still due for this binding.
    pub(crate) fn mark(&self, binding: usize) -> u32 {
        1 << (self.first_mark + binding)
    }

    /// Returns the marks of the bindings for which something is still to happen.
    pub(crate) fn marks(&self, pending: u32) -> u32 {
        if self.bindings.is_empty() { 0 } else { pending << self.first_mark }
    }
}

impl OwnProperties {
    /// Prepares properties for a search with this layout. Returns `None` if there are none.
    ///
    /// # Errors
    ///
    /// Returns an error if a world has too few marks for all bindings.
    pub(crate) fn new(
        properties: &[Arc<OwnProperty>],
        layout: Layout,
        fold: Option<usize>,
    ) -> Result<Option<Self>, CheckError> {
        if properties.is_empty() {
            return Ok(None);
        }
        let mut next = layout.marks_of_processes() + layout.monitors;
        let mut watched = Vec::new();
        for property in properties {
            let is_liveness = property.form().is_liveness();
            let bindings = if is_liveness { property.bindings() } else { Vec::new() };
            let first_mark = next;
            next += bindings.len();
            if next > MARKS {
                return Err(CheckError::Bindings {
                    property: property.property().name().to_owned(),
                    bindings: bindings.len(),
                    max: MARKS.saturating_sub(first_mark),
                });
            }
            watched.push(Watched { property: Arc::clone(property), bindings, first_mark });
        }
        let no_facts = ServiceFacts::new(layout.size as u32, Tracked::default());
        Ok(Some(OwnProperties { properties: watched, fold, no_facts: Arc::new(no_facts) }))
    }
}

/// Returns how each property is checked.
pub(crate) fn selected(properties: &[Arc<OwnProperty>]) -> Vec<SelectedProperty> {
    let select = |(index, property): (usize, &Arc<OwnProperty>)| {
        let kind = match property.form().is_liveness() {
            true => CheckKind::OwnLiveness(index),
            false => CheckKind::OwnSafety(index),
        };
        SelectedProperty { property: property.property(), kind }
    };
    properties.iter().enumerate().map(select).collect()
}

/// Returns true if a property reads commands or events of services.
pub(crate) fn reads_services(uses: Uses) -> bool {
    uses.phases || uses.leaders || uses.fences || uses.events
}

/// Returns true if a property may differ between worlds that a shift of timestamps merges.
pub(crate) fn depends_on_timestamps(property: &OwnProperty) -> bool {
    let uses = property.uses();
    uses.fences || uses.state_numbers
}

/// Returns true if a property may differ between worlds that a renaming of processes merges.
pub(crate) fn depends_on_names(property: &OwnProperty) -> bool {
    let uses = property.uses();
    // Symmetric worlds are compared without monitors. Only waiting and inside follow from users.
    property.form().is_liveness() || uses.identities || uses.leaders || uses.fences
}
