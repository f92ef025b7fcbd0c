//! Enumeration of all choices that a handler can make.

use tenure_core::{Environment, LocalTime};
use tenure_trace::RandomChoice;

/// An environment for a handler that makes choices. It enumerates all combinations of these
/// choices, and the handler runs once for each combination.
///
/// In the first run, every choice is 0. After each run, [`ChoiceEnumerator::advance`] increments
/// the last choice that can still be incremented, and discards the choices after it. A handler
/// without choices runs once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChoiceEnumerator {
    points: Vec<ChoicePoint>,
    /// Number of choices that the handler has made in the current run.
    index: usize,
    clock_readings: u32,
}

/// A choice of the handler: a number from 0 to `bound` minus 1.
#[derive(Clone, Copy, Debug)]
struct ChoicePoint {
    value: u32,
    bound: u32,
    is_clock: bool,
}

impl ChoiceEnumerator {
    /// Creates an enumerator in which a local clock reads any number of units below
    /// `clock_readings`. 0 has the same effect as 1.
    pub(crate) fn new(clock_readings: u32) -> Self {
        ChoiceEnumerator { points: Vec::new(), index: 0, clock_readings: clock_readings.max(1) }
    }

    /// Returns the choices of the current run, without the readings of the clock.
    pub(crate) fn choices_made(&self) -> Vec<RandomChoice> {
        let choices = self.points[..self.index].iter().filter(|point| !point.is_clock);
        choices.map(|point| RandomChoice { value: point.value, bound: point.bound }).collect()
    }

    /// Returns the next choice of the current run. Panics if an earlier run with the same previous
    /// choices had another bound here.
    fn next_choice(&mut self, bound: u32, is_clock: bool) -> u32 {
        if self.index == self.points.len() {
            self.points.push(ChoicePoint { value: 0, bound, is_clock });
        }
        let point = self.points[self.index];
        assert_eq!(point.bound, bound, "handler repeats its choices");
        self.index += 1;
        point.value
    }

    /// Advances to the next combination of choices. Returns false after the last one.
    pub(crate) fn advance(&mut self) -> bool {
        self.points.truncate(self.index);
        self.index = 0;
        while let Some(point) = self.points.last_mut() {
            point.value += 1;
            if point.value < point.bound {
                return true;
            }
            self.points.pop();
        }
        false
    }
}

impl Environment for ChoiceEnumerator {
    fn choose(&mut self, bound: u32) -> u32 {
        self.next_choice(bound, false)
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime(
            u64::from(self.next_choice(self.clock_readings, true))
                * tenure_core::TICKS_PER_TIME_UNIT,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enumerates_each_combination_of_dependent_choices_once() {
        let mut choices = ChoiceEnumerator::new(1);
        let mut runs = Vec::new();
        loop {
            let first = choices.choose(3);
            let second = (first == 1).then(|| choices.choose(2));
            runs.push((first, second));
            if !choices.advance() {
                break;
            }
        }
        assert_eq!(runs, [(0, None), (1, Some(0)), (1, Some(1)), (2, None)]);
    }

    #[test]
    fn runs_handler_without_choices_once() {
        assert!(!ChoiceEnumerator::new(1).advance());
    }
}
