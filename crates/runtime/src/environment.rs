//! Randomness and clock of a real process.

use std::collections::VecDeque;
use std::time::Instant;

use tenure_core::{Environment, LocalTime};
use tenure_trace::RandomChoice;

/// Environment of a process in a real node. Random choices use entropy of the operating system, and
/// the monotonic clock starts when the environment is created.
#[derive(Debug)]
pub struct SystemEnvironment {
    started: Instant,
    forced: VecDeque<u32>,
    choices: Vec<RandomChoice>,
}

impl SystemEnvironment {
    pub(crate) fn new() -> Self {
        SystemEnvironment { started: Instant::now(), forced: VecDeque::new(), choices: Vec::new() }
    }

    /// Forces the next random choice of the next step. Several calls before this step force its
    /// choices in order. A value above the range of its choice becomes the highest value of the
    /// range. Values that the step does not use are dropped.
    pub(crate) fn force_next_choice(&mut self, value: u32) {
        self.forced.push_back(value);
    }

    pub(crate) fn take_choices(&mut self) -> Vec<RandomChoice> {
        self.forced.clear();
        std::mem::take(&mut self.choices)
    }
}

impl Environment for SystemEnvironment {
    fn choose(&mut self, bound: u32) -> u32 {
        let forced = self.forced.pop_front().map(|value| value.min(bound - 1));
        let drawn =
            || u32::try_from(random_up_to(u64::from(bound) - 1)).expect("the value is below a u32");
        let value = forced.unwrap_or_else(drawn);
        self.choices.push(RandomChoice { value, bound });
        value
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Returns a uniformly distributed number from 0 to `max`.
///
/// # Panics
///
/// If the operating system provides no entropy.
pub(crate) fn random_up_to(max: u64) -> u64 {
    if max == 0 {
        return 0;
    }
    let Some(bound) = max.checked_add(1) else { return entropy() };
    // Values beyond the last whole multiple of the bound would favour small results.
    let unfair = u64::MAX - (u64::MAX % bound + 1) % bound;
    loop {
        let number = entropy();
        if number <= unfair {
            return number % bound;
        }
    }
}

fn entropy() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system provides entropy");
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draw_covers_exactly_the_range() {
        let mut counts = [0_u32; 5];
        for _ in 0..2_000 {
            counts[usize::try_from(random_up_to(4)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|times| *times > 200), "{counts:?}");
        assert_eq!(random_up_to(0), 0);
    }
}
