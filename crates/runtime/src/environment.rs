//! Where a real process takes its choices and its clock from.

use std::collections::VecDeque;
use std::time::Instant;

use tenure_core::{Environment, LocalTime};
use tenure_trace::Choice;

/// The operating system: its entropy, and its monotonic clock since boot of the process.
#[derive(Debug)]
pub struct System {
    started: Instant,
    /// What is drawn in the next step, as far as it was said.
    said: VecDeque<u32>,
    /// The choices since they were last read: they are recorded.
    chosen: Vec<Choice>,
}

impl System {
    pub(crate) fn new() -> Self {
        System { started: Instant::now(), said: VecDeque::new(), chosen: Vec::new() }
    }

    /// The next number that is drawn in the next step is this, if one is.
    pub(crate) fn will_draw(&mut self, value: u32) {
        self.said.push_back(value);
    }

    pub(crate) fn take_choices(&mut self) -> Vec<Choice> {
        self.said.clear();
        std::mem::take(&mut self.chosen)
    }
}

impl Environment for System {
    fn choose(&mut self, bound: u32) -> u32 {
        let said = self.said.pop_front().map(|value| value.min(bound - 1));
        let drawn = || u32::try_from(draw(u64::from(bound) - 1)).expect("it is below a u32");
        let value = said.unwrap_or_else(drawn);
        self.chosen.push(Choice { value, bound });
        value
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime(u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// A number from 0 to `most`, each equally likely, from the system's entropy.
///
/// # Panics
///
/// When the system has no entropy to give: nothing random can be promised then.
pub(crate) fn draw(most: u64) -> u64 {
    if most == 0 {
        return 0;
    }
    let Some(bound) = most.checked_add(1) else { return entropy() };
    // Numbers beyond the last whole multiple of the bound would favour the small ones.
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
    getrandom::fill(&mut bytes).expect("the operating system gives random numbers");
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_reaches_every_value_and_none_beyond() {
        let mut seen = [0_u32; 5];
        for _ in 0..2_000 {
            seen[usize::try_from(draw(4)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|times| *times > 200), "{seen:?}");
        assert_eq!(draw(0), 0);
    }
}
