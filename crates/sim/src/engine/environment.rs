//! Environment of the processes: their random choices and clock readings.

use std::collections::VecDeque;

use tenure_core::{Environment, LocalTime, ProcessId};
use tenure_trace::RandomChoice;

use crate::engine::clocks::LocalClocks;
use crate::engine::random::Random;

/// Environment of the process that takes the present step.
#[derive(Clone, Debug)]
pub(crate) struct RunEnvironment {
    /// Stream of the random choices of all processes.
    pub(super) choices: Random,
    clocks: LocalClocks,
    /// Process that takes the step.
    pub(super) at: ProcessId,
    /// Time of the step, in ticks.
    pub(super) now: u64,
    /// Random choices that are prescribed for the step. They replace draws from `choices`. A number
    /// that is too large is reduced to the maximum.
    pub(super) scripted: VecDeque<u32>,
    /// Random choices that the step has drawn so far.
    pub(super) drawn: Vec<RandomChoice>,
}

impl RunEnvironment {
    pub(crate) fn new(choices: Random, clocks: LocalClocks) -> Self {
        let (scripted, drawn) = (VecDeque::new(), Vec::new());
        RunEnvironment { choices, clocks, at: ProcessId(0), now: 0, scripted, drawn }
    }
}

impl Environment for RunEnvironment {
    fn choose(&mut self, bound: u32) -> u32 {
        let scripted = self.scripted.pop_front().map(|value| value.min(bound - 1));
        let value = scripted.unwrap_or_else(|| self.choices.below(u64::from(bound)) as u32);
        self.drawn.push(RandomChoice { value, bound });
        value
    }

    fn local_clock(&mut self) -> LocalTime {
        self.clocks.local_time(self.at, self.now)
    }
}
