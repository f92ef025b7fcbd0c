//! Contract of self-stabilizing systems: machines that may start in any state.
//!
//! E. W. Dijkstra, *Self-stabilizing systems in spite of distributed control*, CACM 17(11), 1974,
//! calls a condition under which a machine may move a *privilege*. A daemon selects one privilege
//! at a time, and the machine that has it moves. The system is self-stabilizing if it reaches a
//! legitimate state from every state, whatever the daemon selects, and never leaves the legitimate
//! states again.

use alloc::string::String;
use alloc::vec::Vec;

use crate::card::Variant;
use crate::process::ProcessId;

/// A system of machines with finitely many states.
///
/// The state of the system is a list of small numbers, the values of its variables. A step is
/// atomic, and steps follow one another.
pub trait StabilizingSystem {
    /// Returns the number of machines.
    fn size(&self) -> u32;

    /// Returns the number of values of each variable, at least 1. The values are the numbers below.
    fn domains(&self) -> Vec<u8>;

    /// Returns the names of the rules, each as a verb in the third person.
    fn rules(&self) -> &'static [&'static str];

    /// Calls `visit` with each possible step and the state after it.
    fn for_each_step(&self, state: &[u8], visit: &mut dyn FnMut(SystemStep, &[u8]));

    /// Returns true if the state is legitimate. By default exactly one step is possible in a
    /// legitimate state: there is one privilege.
    fn is_legitimate(&self, state: &[u8]) -> bool {
        let mut steps = 0;
        self.for_each_step(state, &mut |_, _| steps += 1);
        steps == 1
    }

    /// Returns true if schedules are weakly fair: a rule that stays applicable at a machine for
    /// ever is eventually applied. By default the daemon may ignore a machine for ever.
    fn is_fair(&self) -> bool {
        false
    }

    /// Returns the state of a machine as text.
    fn cell(&self, state: &[u8], machine: ProcessId) -> String;

    /// Returns an explanation of [`StabilizingSystem::cell`].
    fn legend(&self) -> &'static str;
}

/// A step of a system: one machine applies one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SystemStep {
    /// Machine that takes the step.
    pub machine: ProcessId,
    /// Index of the rule in [`StabilizingSystem::rules`].
    pub rule: usize,
    /// True if the step is a move, which uses a privilege. Sending and receiving are none.
    pub is_move: bool,
}

/// The claims of a self-stabilizing system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StabilizingCard {
    /// Name on the command line.
    pub name: &'static str,
    /// Title in one line.
    pub title: &'static str,
    /// Source: author, title, year.
    pub paper: &'static str,
    /// Number of states of a machine.
    pub states: &'static str,
    /// Declared variants.
    pub variants: Vec<Variant>,
}
