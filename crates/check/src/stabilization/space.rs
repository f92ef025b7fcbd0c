//! States of a system as numbers.

use tenure_core::stabilization::{StabilizingSystem, SystemStep};

use crate::stabilization::StabilizationError;
use crate::strong_components::StepGraph;

/// All states of a system, numbered from 0. The number of a state is composed of the values of its
/// variables: each value is one digit, and the number of values of the variable is the base of this
/// digit.
pub(super) struct StateSpace<'s> {
    pub(super) system: &'s dyn StabilizingSystem,
    /// Number of values of each variable.
    domain_sizes: Vec<u8>,
    /// Number of states.
    pub(super) state_count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SystemSuccessor {
    pub(super) step: SystemStep,
    pub(super) to: u32,
}

impl<'s> StateSpace<'s> {
    /// Creates the state space of `system`. Returns an error if the system has more than `max`
    /// states, or 2³² states or more.
    pub(super) fn new(
        system: &'s dyn StabilizingSystem,
        max: u64,
    ) -> Result<Self, StabilizationError> {
        let domain_sizes = system.domain_sizes();
        let product = |states: u64, values: &u8| states.saturating_mul(u64::from(*values));
        let states = domain_sizes.iter().fold(1, product);
        let counted = u32::try_from(states).ok().filter(|_| states <= max);
        let states = counted.ok_or(StabilizationError::TooManyStates { states, max })?;
        Ok(StateSpace { system, domain_sizes, state_count: states })
    }

    pub(super) fn decode_state(&self, mut state: u32) -> Vec<u8> {
        let mut digit = |values: &u8| {
            let base = u32::from(*values);
            let value = state % base;
            state /= base;
            u8::try_from(value).expect("a value is below the number of values")
        };
        self.domain_sizes.iter().map(&mut digit).collect()
    }

    fn encode(&self, values: &[u8]) -> u32 {
        let digits = values.iter().zip(&self.domain_sizes).rev();
        digits.fold(0, |state, (value, base)| state * u32::from(*base) + u32::from(*value))
    }

    pub(super) fn successors(&self, state: u32) -> Vec<SystemSuccessor> {
        let mut successors = Vec::new();
        self.system.for_each_step(&self.decode_state(state), &mut |step, after| {
            successors.push(SystemSuccessor { step, to: self.encode(after) });
        });
        successors
    }
}

impl StepGraph for StateSpace<'_> {
    type Step = SystemSuccessor;
    type Steps<'g>
        = std::iter::Rev<std::vec::IntoIter<SystemSuccessor>>
    where
        Self: 'g;

    fn state_count(&self) -> usize {
        self.state_count as usize
    }

    fn steps_from(&self, state: u32) -> Self::Steps<'_> {
        self.successors(state).into_iter().rev()
    }

    fn target(step: SystemSuccessor) -> u32 {
        step.to
    }
}
