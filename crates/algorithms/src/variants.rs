//! Switches that an algorithm declares: other rules in one place each.

use core::fmt;
use core::hash::Hash;
use core::marker::PhantomData;

use alloc::string::String;
use alloc::vec::Vec;

use tenure_core::Variant;

/// The variants of one algorithm, as an enumeration of at most 32.
pub trait Switch: Copy + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// All of them, in the order of their declaration.
    const ALL: &'static [Self];

    /// What `tenure list` says of this one.
    fn declaration(self) -> Variant;
}

/// Which variants of an algorithm are switched on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variants<S> {
    bits: u32,
    switches: PhantomData<fn(S)>,
}

impl<S: Switch> Variants<S> {
    /// None: the algorithm as it should be.
    pub const fn none() -> Self {
        Variants { bits: 0, switches: PhantomData }
    }

    /// These and one more.
    pub fn with(self, switch: S) -> Self {
        Variants { bits: self.bits | bit(switch), ..self }
    }

    /// Whether a variant is switched on.
    pub fn has(self, switch: S) -> bool {
        self.bits & bit(switch) != 0
    }

    /// Those whose names are given.
    ///
    /// # Errors
    ///
    /// The first name that the algorithm does not declare.
    pub fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownVariant> {
        names.into_iter().try_fold(Variants::none(), |variants, name| {
            S::ALL
                .iter()
                .find(|switch| switch.declaration().name == name)
                .map(|switch| variants.with(*switch))
                .ok_or_else(|| UnknownVariant {
                    name: name.into(),
                    known: S::ALL.iter().map(|switch| switch.declaration().name).collect(),
                })
        })
    }

    /// What the algorithm declares, for its card.
    pub fn declared() -> Vec<Variant> {
        S::ALL.iter().map(|switch| switch.declaration()).collect()
    }
}

fn bit<S: Switch>(switch: S) -> u32 {
    let place = S::ALL.iter().position(|other| *other == switch);
    1 << place.expect("every switch is listed in ALL")
}

impl<S: Switch> Default for Variants<S> {
    fn default() -> Self {
        Variants::none()
    }
}

impl<S: Switch> fmt::Debug for Variants<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(S::ALL.iter().filter(|switch| self.has(**switch))).finish()
    }
}

/// An algorithm declares no variant of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownVariant {
    /// The name that was asked for.
    pub name: String,
    /// The names that exist.
    pub known: Vec<&'static str>,
}

impl UnknownVariant {
    /// Those that are declared, the ones first that have the name within theirs.
    fn told(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const TOLD: usize = 5;
        let is_like = |known: &&&str| known.contains(&*self.name);
        let all = || self.known.iter();
        let told = all().filter(is_like).chain(all().filter(|known| !is_like(known)));
        let told: Vec<&str> = told.take(TOLD).copied().collect();
        write!(f, "this algorithm declares {}", told.join(", "))?;
        match self.known.len().saturating_sub(TOLD) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl fmt::Display for UnknownVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no variant `{}`; ", self.name)?;
        match self.known.is_empty() {
            true => f.write_str("this algorithm declares none"),
            false => self.told(f),
        }
    }
}

impl core::error::Error for UnknownVariant {}

/// The variant of an algorithm that is another one, which survives crashes.
pub(crate) fn tolerant(says: &'static str) -> Variant {
    Variant { name: "fault-tolerant", says, sound: true, verdict: "", shown_by: "" }
}

/// Declares the variants of an algorithm: `Name = "name", sound|unsound, "what is different"`,
/// and perhaps `=> "verdict", "options of a check"`: which verdict of the project's checklist it
/// shows, and how `tenure check` shows it.
macro_rules! switches {
    ($($name:ident = $text:literal, $sound:ident, $says:literal
        $(=> $verdict:literal, $shown_by:literal)?;)*) => {
        /// The variants of this algorithm.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Switch {
            $(#[doc = $says] $name,)*
        }

        impl $crate::Switch for Switch {
            const ALL: &'static [Self] = &[$(Switch::$name,)*];

            fn declaration(self) -> tenure_core::Variant {
                match self {
                    $(Switch::$name => tenure_core::Variant {
                        name: $text,
                        says: $says,
                        sound: $crate::variants::$sound,
                        verdict: concat!($($verdict)?),
                        shown_by: concat!($($shown_by)?),
                    },)*
                }
            }
        }
    };
}
pub(crate) use switches;

#[allow(non_upper_case_globals, reason = "read as words in a declaration of switches")]
mod words {
    pub(crate) const sound: bool = true;
    pub(crate) const unsound: bool = false;
}
pub(crate) use words::{sound, unsound};
