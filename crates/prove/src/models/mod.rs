//! Models of algorithms: one file each, in the vocabulary of its paper.

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

/// Algorithm with a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelEntry {
    /// Name of the algorithm, as in `tenure list`.
    pub name: &'static str,
    /// Paper whose proof the invariant formalizes.
    pub paper: &'static str,
    /// Property that is proved, in words.
    pub property: &'static str,
    /// Returns the model, with a variant of the code if one is given.
    pub(crate) model: fn(Option<&str>) -> Model,
    /// Maps a state of the code to a state of the model. `None` if the model has not been compared
    /// with the code.
    pub abstraction: Option<Abstraction>,
    /// Variants of the code that the model describes.
    pub variants: &'static [ModelVariant],
}

/// Variant of an algorithm.
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

    /// Returns the model of a variant. `None` if the model does not describe this variant.
    pub fn with_variant(&self, name: &str) -> Option<Model> {
        let is_known = self.variants.iter().any(|variant| variant.name == name);
        is_known.then(|| (self.model)(Some(name)))
    }
}

/// All algorithms with a model.
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
pub struct Claim {
    /// Name of the algorithm, as in `tenure list`.
    pub name: &'static str,
    /// Property that is proved, in words.
    pub property: &'static str,
    /// Variants of the code that the model describes.
    pub variants: &'static [ModelVariant],
}

/// Claims of the catalogue, in its order. A program that only lists them contains no model.
static CLAIMS: [Claim; CATALOGUE.len()] = {
    let mut claims = [Claim { name: "", property: "", variants: &[] }; CATALOGUE.len()];
    let mut place = 0;
    while place < claims.len() {
        let ModelEntry { name, property, variants, .. } = CATALOGUE[place];
        claims[place] = Claim { name, property, variants };
        place += 1;
    }
    claims
};

/// Returns the claims about an algorithm, one for each proved property.
pub fn claims(name: &str) -> impl Iterator<Item = &'static Claim> {
    CLAIMS.iter().filter(move |claim| claim.name == name)
}

/// Returns the entries of an algorithm, one for each proved property.
pub fn entries(name: &str) -> impl Iterator<Item = &'static ModelEntry> {
    CATALOGUE.iter().filter(move |entry| entry.name == name)
}

/// Returns the first entry of an algorithm. `None` if it has no model.
pub fn find(name: &str) -> Option<&'static ModelEntry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}
