//! Models of algorithms: one file for each algorithm, in the vocabulary of its paper.

mod central;
mod chang_roberts;
mod clocks;
mod lamport;
pub(crate) mod lease;
mod lock;
mod maekawa;
mod majority;
mod raft;
pub(crate) mod raft_lease;
mod ricart_agrawala;
mod suzuki_kasami;
mod token_ring;
mod votes;

use crate::conformance::comparison::Abstraction;
use crate::model::Model;

/// Entry of the catalogue: an algorithm and a model that proves a property of it.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// Name of the algorithm, as in `tenure list`.
    pub name: &'static str,
    /// Publication that describes the algorithm.
    pub paper: &'static str,
    /// Property that is proved, in words.
    pub property: &'static str,
    /// Function that returns a model of the algorithm. The argument is the name of a variant, or
    /// `None` for the algorithm without a variant.
    pub(crate) model: fn(Option<&str>) -> Model,
    /// Function that maps a state of the code to a state of the model. `None` if `tenure prove`
    /// does not compare the model with the code.
    pub abstraction: Option<Abstraction>,
    /// Variants of the code that the model describes.
    pub variants: &'static [ModelVariant],
}

/// A variant of an algorithm that the algorithm's model describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelVariant {
    /// Name of the variant, as in `tenure list NAME`.
    pub name: &'static str,
    /// True if the variant violates the property, so that the invariant is not inductive.
    pub is_refuted: bool,
}

impl ModelEntry {
    /// Returns the model of the algorithm.
    pub fn model(&self) -> Model {
        (self.model)(None)
    }

    /// Returns the model of a variant. Returns `None` if the catalogue lists no model of this
    /// variant.
    pub fn variant_model(&self, variant_name: &str) -> Option<Model> {
        let is_known = self.variants.iter().any(|variant| variant.name == variant_name);
        is_known.then(|| (self.model)(Some(variant_name)))
    }
}

/// All models, with their algorithms and properties.
pub const CATALOGUE: [ModelEntry; 11] = [
    ricart_agrawala::ENTRY,
    lamport::ENTRY,
    suzuki_kasami::ENTRY,
    maekawa::ENTRY,
    chang_roberts::ENTRY,
    raft::ENTRY,
    lease::ENTRY,
    raft_lease::ENTRY,
    central::ENTRY,
    token_ring::ENTRY,
    majority::ENTRY,
];

/// Property that is proved of an algorithm, without the model that proves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvedProperty {
    /// Name of the algorithm, as in `tenure list`.
    pub name: &'static str,
    /// Property that is proved, in words.
    pub property: &'static str,
    /// Variants of the code that the model describes.
    pub variants: &'static [ModelVariant],
}

/// Proved properties of all models, in the order of [`CATALOGUE`]. A program that only lists the
/// properties uses this table, so that its executable does not contain the models.
static PROVED_PROPERTIES: [ProvedProperty; CATALOGUE.len()] = {
    let mut properties =
        [ProvedProperty { name: "", property: "", variants: &[] }; CATALOGUE.len()];
    let mut place = 0;
    while place < properties.len() {
        let ModelEntry { name, property, variants, .. } = CATALOGUE[place];
        properties[place] = ProvedProperty { name, property, variants };
        place += 1;
    }
    properties
};

/// Returns the proved properties of an algorithm.
pub fn proved_properties_of(algorithm: &str) -> impl Iterator<Item = &'static ProvedProperty> {
    PROVED_PROPERTIES.iter().filter(move |proved| proved.name == algorithm)
}

/// Returns the entries of the catalogue for an algorithm, one for each proved property.
pub fn model_entries_of(algorithm: &str) -> impl Iterator<Item = &'static ModelEntry> {
    CATALOGUE.iter().filter(move |entry| entry.name == algorithm)
}

/// Returns the first entry of the catalogue for an algorithm. Returns `None` if the algorithm has
/// no model.
pub fn first_model_entry_of(algorithm: &str) -> Option<&'static ModelEntry> {
    CATALOGUE.iter().find(|entry| entry.name == algorithm)
}
