//! Every value of every choice: an odometer instead of a random source.

use tenure_core::{Environment, LocalTime};
use tenure_trace::Choice;

/// An environment that walks through all combinations of choices, one run of a handler each.
///
/// The first run takes 0 everywhere; [`Odometer::advance`] turns the last wheel that can still
/// turn. A handler that chooses nothing runs once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Odometer {
    wheels: Vec<Wheel>,
    place: usize,
    clock_readings: u32,
}

#[derive(Clone, Copy, Debug)]
struct Wheel {
    value: u32,
    bound: u32,
    /// Whether it is the reading of a clock.
    is_clock: bool,
}

impl Odometer {
    /// An odometer under which a local clock reads anything below `clock_readings`.
    pub(crate) fn new(clock_readings: u32) -> Self {
        Odometer { wheels: Vec::new(), place: 0, clock_readings: clock_readings.max(1) }
    }

    /// What was drawn in this run, each with what it is less than.
    pub(crate) fn drawn(&self) -> Vec<Choice> {
        let drawn = self.wheels[..self.place].iter().filter(|wheel| !wheel.is_clock);
        drawn.map(|wheel| Choice { value: wheel.value, bound: wheel.bound }).collect()
    }

    fn turn(&mut self, bound: u32, is_clock: bool) -> u32 {
        if self.place == self.wheels.len() {
            self.wheels.push(Wheel { value: 0, bound, is_clock });
        }
        let wheel = self.wheels[self.place];
        assert_eq!(wheel.bound, bound, "a handler chooses alike when it is run again");
        self.place += 1;
        wheel.value
    }

    /// Turns to the next combination; `false` when all have been run.
    pub(crate) fn advance(&mut self) -> bool {
        self.wheels.truncate(self.place);
        self.place = 0;
        while let Some(wheel) = self.wheels.last_mut() {
            wheel.value += 1;
            if wheel.value < wheel.bound {
                return true;
            }
            self.wheels.pop();
        }
        false
    }
}

impl Environment for Odometer {
    fn choose(&mut self, bound: u32) -> u32 {
        self.turn(bound, false)
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime(u64::from(self.turn(self.clock_readings, true)) * tenure_core::TICKS_PER_UNIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_run_once_even_where_one_choice_decides_on_another() {
        let mut odometer = Odometer::new(1);
        let mut runs = Vec::new();
        loop {
            let first = odometer.choose(3);
            let second = (first == 1).then(|| odometer.choose(2));
            runs.push((first, second));
            if !odometer.advance() {
                break;
            }
        }
        assert_eq!(runs, [(0, None), (1, Some(0)), (1, Some(1)), (2, None)]);
    }

    #[test]
    fn a_handler_without_choices_runs_once() {
        assert!(!Odometer::new(1).advance());
    }
}
