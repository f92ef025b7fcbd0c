//! Self-stabilizing systems. From every state, such a system reaches a legitimate state.
//!
//! Dijkstra's paper of 1974 describes three such systems. In each of them, a machine reads its own
//! state and the states of one or two neighbours in one atomic step. The checker starts a system in
//! every state: `tenure check dijkstra-ring -n 4 --from any`.

pub mod four_state;
pub mod k_state;
mod ring_with_messages;
pub mod three_state;

use core::fmt;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use tenure_core::stabilization::{StabilizingCard, StabilizingSystem};

use crate::variants::{UnknownVariant, VariantId, Variants};

pub use four_state::FourStateLine;
pub use k_state::KStateRing;
pub use ring_with_messages::KStateRingWithMessages;
pub use three_state::ThreeStateRing;

/// Names of the systems, in the order in which Dijkstra's paper describes them.
pub const NAMES: [&str; 3] = [KStateRing::NAME, FourStateLine::NAME, ThreeStateRing::NAME];

/// Largest number of states that a machine may have. A variable for a message has one value more,
/// and a variable has at most 255 values.
pub const MAX_MACHINE_STATES: u8 = 254;

/// Configuration of a self-stabilizing system.
#[derive(Clone, Debug)]
pub struct StabilizingSystemConfig {
    /// Number of machines, at least 2.
    pub size: u32,
    /// Number of states of a machine, from 2 to [`MAX_MACHINE_STATES`]. Only [`KStateRing`] and
    /// [`KStateRingWithMessages`] accept a number. `None` selects the default: the number of
    /// machines, or twice this number if the machines exchange messages.
    pub machine_state_count: Option<u8>,
    /// True if machines exchange messages instead of reading the states of their neighbours.
    pub has_messages: bool,
    /// Names of the variants that are switched on.
    pub variants: Vec<String>,
}

/// Returns the [`StabilizingCard`] of the system with this name, or `None` for an unknown name.
pub fn card(name: &str) -> Option<StabilizingCard> {
    Some(match name {
        KStateRing::NAME => KStateRing::card(),
        FourStateLine::NAME => FourStateLine::card(),
        ThreeStateRing::NAME => ThreeStateRing::card(),
        _ => return None,
    })
}

/// Creates the system with this name.
///
/// # Errors
///
/// Returns an error for an unknown name or variant, and for a configuration that the system does
/// not support.
pub fn create_system(
    name: &str,
    config: &StabilizingSystemConfig,
) -> Result<Box<dyn StabilizingSystem>, StabilizingSystemError> {
    let StabilizingSystemConfig { size, machine_state_count: states, has_messages, .. } = *config;
    let name =
        NAMES.into_iter().find(|known| *known == name).ok_or(StabilizingSystemError::Name)?;
    if size < 2 {
        return Err(StabilizingSystemError::Size { size });
    }
    if states.is_some() && name != KStateRing::NAME {
        return Err(StabilizingSystemError::FixedStates { name });
    }
    if has_messages && name != KStateRing::NAME {
        return Err(StabilizingSystemError::NoMessages { name });
    }
    let default = if has_messages { size.saturating_mul(2) } else { size };
    let states = states.map_or(default, u32::from);
    let in_range = |states: &u8| (2..=MAX_MACHINE_STATES).contains(states);
    let states = u8::try_from(states)
        .ok()
        .filter(in_range)
        .ok_or(StabilizingSystemError::States { states })?;
    Ok(match name {
        KStateRing::NAME if has_messages => {
            expect_none(config)?;
            Box::new(KStateRingWithMessages::new(size, states))
        }
        KStateRing::NAME => Box::new(KStateRing::new(size, states, variants(config)?)),
        FourStateLine::NAME => Box::new(FourStateLine::new(size, variants(config)?)),
        _ => Box::new(ThreeStateRing::new(size, variants(config)?)),
    })
}

fn variants<S: VariantId>(
    config: &StabilizingSystemConfig,
) -> Result<Variants<S>, StabilizingSystemError> {
    let names = config.variants.iter().map(String::as_str);
    Variants::from_names(names).map_err(StabilizingSystemError::Variant)
}

fn expect_none(config: &StabilizingSystemConfig) -> Result<(), StabilizingSystemError> {
    match config.variants.first() {
        Some(name) => Err(StabilizingSystemError::Variant(UnknownVariant {
            name: name.clone(),
            known: Vec::new(),
        })),
        None => Ok(()),
    }
}

/// Reason for which a self-stabilizing system cannot be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StabilizingSystemError {
    /// No system has this name.
    Name,
    /// There are fewer than two machines.
    Size {
        /// Requested number of machines.
        size: u32,
    },
    /// The number of states of a machine is out of range.
    States {
        /// Requested number of states.
        states: u32,
    },
    /// The user chose a number of states per machine, but this system has a fixed number.
    FixedStates {
        /// Name of the system.
        name: &'static str,
    },
    /// The user chose machines that exchange messages, but this system does not support them.
    NoMessages {
        /// Name of the system.
        name: &'static str,
    },
    /// The system declares no variant with this name.
    Variant(UnknownVariant),
}

impl fmt::Display for StabilizingSystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StabilizingSystemError::Name => write!(f, "expected {}", NAMES.join(", ")),
            StabilizingSystemError::Size { size } => {
                write!(f, "invalid number of machines {size}: expected at least 2")
            }
            StabilizingSystemError::States { states } => {
                write!(f, "invalid number of states {states}: expected 2 to {MAX_MACHINE_STATES}")
            }
            StabilizingSystemError::FixedStates { name } => {
                let variable = KStateRing::NAME;
                write!(f, "--states does not apply to {name}: only {variable} has K states")
            }
            StabilizingSystemError::NoMessages { name } => {
                let variable = KStateRing::NAME;
                write!(f, "{name} has no version with messages: only {variable} has one")
            }
            StabilizingSystemError::Variant(unknown) => unknown.fmt(f),
        }
    }
}

impl core::error::Error for StabilizingSystemError {}
