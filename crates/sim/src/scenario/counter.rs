//! Race of several threads that change a counter. A statement such as `counter += 1` consists of
//! three instructions. Instructions of different threads may interleave.
//!
//! ```
//! use tenure_sim::scenario::counter::{CounterRace, Atomicity};
//!
//! let race = CounterRace::new(5, [1, -1]);
//! let finals = race.final_values(Atomicity::Interruptible);
//! assert_eq!(finals.into_iter().collect::<Vec<_>>(), [(4, 9), (5, 2), (6, 9)]);
//! ```

use std::collections::BTreeMap;
use std::fmt;

/// Number of instructions per statement.
const INSTRUCTIONS: usize = 3;

/// Threads that change one counter concurrently, each by one statement. Sums wrap around on
/// overflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterRace {
    start: i64,
    changes: Vec<i64>,
}

/// Atomicity of a statement: the points at which threads may interleave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// Threads may interleave after each instruction.
    Interruptible,
    /// Threads may interleave only between statements, as if each statement were executed under a
    /// lock.
    Atomic,
}

/// Effect of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionEffect {
    /// A thread has changed its register.
    Register {
        /// Number of the thread; 1 is the first.
        thread: usize,
        /// New value of the thread's register.
        value: i64,
    },
    /// The counter has a new value.
    Counter(i64),
}

impl fmt::Display for InstructionEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstructionEffect::Register { thread, value } => write!(f, "r{thread}={value}"),
            InstructionEffect::Counter(value) => write!(f, "counter={value}"),
        }
    }
}

impl CounterRace {
    /// Creates a race. `start` is the initial value of the counter, and `changes` contains the
    /// number that each thread adds to it.
    pub fn new(start: i64, changes: impl Into<Vec<i64>>) -> Self {
        CounterRace { start, changes: changes.into() }
    }

    /// Runs one schedule and returns the effects of its instructions. The schedule contains one
    /// element per instruction: the number of the thread that executes the instruction. The first
    /// thread has the number 1.
    ///
    /// # Panics
    ///
    /// If the schedule does not contain each thread exactly three times, or contains another
    /// number.
    pub fn run(&self, schedule: &[usize]) -> Vec<InstructionEffect> {
        let mut counter = self.start;
        let mut registers = vec![0; self.changes.len()];
        let mut executed = vec![0; self.changes.len()];
        let mut steps = Vec::new();
        for &thread in schedule {
            let register = &mut registers[thread - 1];
            steps.push(match executed[thread - 1] {
                0 => {
                    *register = counter;
                    InstructionEffect::Register { thread, value: *register }
                }
                1 => {
                    *register = register.wrapping_add(self.changes[thread - 1]);
                    InstructionEffect::Register { thread, value: *register }
                }
                _ => {
                    counter = *register;
                    InstructionEffect::Counter(counter)
                }
            });
            executed[thread - 1] += 1;
        }
        assert!(
            executed.iter().all(|it| *it == INSTRUCTIONS),
            "each thread has three instructions"
        );
        steps
    }

    /// Returns every possible schedule, in the form that [`CounterRace::run`] expects.
    pub fn all_schedules(&self, atomicity: Atomicity) -> Vec<Vec<usize>> {
        let (turns, length) = match atomicity {
            Atomicity::Interruptible => (INSTRUCTIONS, 1),
            Atomicity::Atomic => (1, INSTRUCTIONS),
        };
        let mut schedules = Vec::new();
        interleave(&mut vec![turns; self.changes.len()], length, &mut Vec::new(), &mut schedules);
        schedules
    }

    /// Returns the final values of the counter. For each final value, the result contains the
    /// number of schedules that lead to the value.
    pub fn final_values(&self, atomicity: Atomicity) -> BTreeMap<i64, usize> {
        let mut finals = BTreeMap::new();
        for schedule in self.all_schedules(atomicity) {
            let last = self.run(&schedule).into_iter().rev().find_map(|step| match step {
                InstructionEffect::Counter(value) => Some(value),
                InstructionEffect::Register { .. } => None,
            });
            *finals.entry(last.unwrap_or(self.start)).or_default() += 1;
        }
        finals
    }
}

/// Generates all orders of the remaining turns of the threads, and appends them to `schedules`.
/// `left` contains the number of remaining turns of each thread. In each turn, a thread executes
/// `length` instructions. `schedule` contains the instructions of the earlier turns.
fn interleave(
    left: &mut Vec<usize>,
    length: usize,
    schedule: &mut Vec<usize>,
    schedules: &mut Vec<Vec<usize>>,
) {
    if left.iter().all(|turns| *turns == 0) {
        schedules.push(schedule.clone());
    }
    for thread in 0..left.len() {
        if left[thread] > 0 {
            left[thread] -= 1;
            schedule.extend(std::iter::repeat_n(thread + 1, length));
            interleave(left, length, schedule, schedules);
            schedule.truncate(schedule.len() - length);
            left[thread] += 1;
        }
    }
}
