//! Variants that an algorithm declares: switches that replace a rule of the algorithm, usually by a
//! known mistake.

use core::fmt;
use core::hash::Hash;
use core::marker::PhantomData;

use alloc::string::String;
use alloc::vec::Vec;

use tenure_core::Variant;

/// The variants of one algorithm: an enumeration of at most 32 values.
pub trait VariantId: Copy + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// All variants, in the order of their declaration.
    const ALL: &'static [Self];

    /// Returns the declaration of the variant: its name, its description and the way to demonstrate
    /// it. The command `tenure list` shows this declaration.
    fn declaration(self) -> Variant;
}

/// The set of variants that are switched on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variants<S> {
    bits: u32,
    ids: PhantomData<fn(S)>,
}

impl<S: VariantId> Variants<S> {
    /// Returns the empty set: the unmodified algorithm.
    pub const fn none() -> Self {
        Variants { bits: 0, ids: PhantomData }
    }

    /// Returns this set with `variant` added.
    pub fn with(self, variant: S) -> Self {
        Variants { bits: self.bits | bit(variant), ..self }
    }

    /// Returns true if `variant` is switched on.
    pub fn has(self, variant: S) -> bool {
        self.bits & bit(variant) != 0
    }

    /// Returns the set of the variants with these names.
    ///
    /// # Errors
    ///
    /// Returns an error for the first name that the algorithm does not declare.
    pub fn from_names<'a>(
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, UnknownVariant> {
        let bits = bits_of(&Self::declarations(), &mut names.into_iter())?;
        Ok(Variants { bits, ..Variants::none() })
    }

    /// Checks that no variant is switched on, for a configuration in which variants have no effect.
    ///
    /// # Errors
    ///
    /// Returns an error for the first variant that is switched on. The error lists `known`, the
    /// names that are valid in this configuration.
    pub(crate) fn expect_none(
        self,
        known: impl IntoIterator<Item = &'static str>,
    ) -> Result<(), UnknownVariant> {
        match S::ALL.iter().find(|variant| self.has(**variant)) {
            Some(variant) => Err(UnknownVariant {
                name: variant.declaration().name.into(),
                known: known.into_iter().collect(),
            }),
            None => Ok(()),
        }
    }

    /// Returns the declarations of all variants of the algorithm, as its
    /// [`Card`](tenure_core::Card) lists them.
    pub fn declarations() -> Vec<Variant> {
        S::ALL.iter().map(|variant| variant.declaration()).collect()
    }
}

/// Returns a number in which the bits of the variants in `names` are set. Bit *i* belongs to the
/// variant with index *i* in `declared`. Returns an error for the first name that is not in
/// `declared`.
fn bits_of(
    declared: &[Variant],
    names: &mut dyn Iterator<Item = &str>,
) -> Result<u32, UnknownVariant> {
    let mut bits = 0;
    for name in names {
        let Some(place) = declared.iter().position(|variant| variant.name == name) else {
            let known = declared.iter().map(|variant| variant.name).collect();
            return Err(UnknownVariant { name: name.into(), known });
        };
        bits |= 1 << place;
    }
    Ok(bits)
}

fn bit<S: VariantId>(variant: S) -> u32 {
    let place = S::ALL.iter().position(|other| *other == variant);
    1 << place.expect("every variant is listed in ALL")
}

impl<S: VariantId> Default for Variants<S> {
    fn default() -> Self {
        Variants::none()
    }
}

impl<S: VariantId> fmt::Debug for Variants<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(S::ALL.iter().filter(|variant| self.has(**variant))).finish()
    }
}

/// Error: a variant is unknown, or it has no effect in the selected configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVariant {
    /// Name of the variant that the user gave.
    pub name: String,
    /// Names of the variants that are valid in the selected configuration.
    pub known: Vec<&'static str>,
}

impl UnknownVariant {
    /// Writes up to five of the valid names, and how many more there are. The names that contain
    /// the given name come first.
    fn write_known(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_LISTED: usize = 5;
        let is_similar = |known: &&&str| known.contains(&*self.name);
        let all = || self.known.iter();
        let listed = all().filter(is_similar).chain(all().filter(|known| !is_similar(known)));
        let listed: Vec<&str> = listed.take(MAX_LISTED).copied().collect();
        write!(f, "this algorithm declares {}", listed.join(", "))?;
        match self.known.len().saturating_sub(MAX_LISTED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for UnknownVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown variant `{}`: ", self.name)?;
        match self.known.is_empty() {
            true => f.write_str("this algorithm declares none"),
            false => self.write_known(f),
        }
    }
}

impl core::error::Error for UnknownVariant {}

/// Returns the declaration of the variant `fault-tolerant`. The catalogue replaces an algorithm
/// with this variant by another algorithm that tolerates crashes.
pub(crate) fn fault_tolerant_variant(description: &'static str) -> Variant {
    Variant { name: "fault-tolerant", description, sound: true, known_result: "", shown_by: "" }
}

/// Declares the variants of an algorithm: `Name = "name", sound|unsound, "difference"`. A variant
/// is sound if the promises of the algorithm hold for it.
///
/// An optional `=> "result", "options"` follows. `result` is the number of a known result in
/// `docs/checklist.md`, or empty if no known result belongs to the variant. `options` are the
/// options with which `tenure check` shows the effect of the variant.
macro_rules! variant_ids {
    ($($name:ident = $text:literal, $sound:ident, $description:literal
        $(=> $verdict:literal, $shown_by:literal)?;)*) => {
        /// The variants of this algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum VariantId {
            $(#[doc = $description] $name,)*
        }

        impl $crate::VariantId for VariantId {
            const ALL: &'static [Self] = &[$(VariantId::$name,)*];

            fn declaration(self) -> tenure_core::Variant {
                match self {
                    $(VariantId::$name => tenure_core::Variant {
                        name: $text,
                        description: $description,
                        sound: $crate::variants::$sound,
                        known_result: concat!($($verdict)?),
                        shown_by: concat!($($shown_by)?),
                    },)*
                }
            }
        }
    };
}
pub(crate) use variant_ids;

#[allow(non_upper_case_globals, reason = "read as words in a declaration of variants")]
mod words {
    pub(crate) const sound: bool = true;
    pub(crate) const unsound: bool = false;
}
pub(crate) use words::{sound, unsound};
