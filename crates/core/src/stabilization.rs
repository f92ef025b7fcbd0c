//! Contract of self-stabilizing systems: machines that may start in any state.
//!
//! E. W. Dijkstra, *Self-stabilizing systems in spite of distributed control*, CACM 17(11), 1974.
//!
//! A *privilege* is a condition under which a machine may move. A daemon selects one privilege at a
//! time, and the machine with this privilege moves. The system is self-stabilizing if two
//! conditions hold, whatever the daemon selects. First, the system reaches a legitimate state from
//! every state. Second, the system never leaves the legitimate states again.

use alloc::string::String;
use alloc::vec::Vec;

use crate::card::Variant;
use crate::process::ProcessId;

/// A system of machines with finitely many states.
///
/// The state of the system is a list of small numbers, the values of its variables. Steps are
/// atomic, and happen one at a time.
pub trait StabilizingSystem {
    /// Returns the number of machines.
    fn size(&self) -> u32;

    /// Returns, for each variable of the system, the number of its values, which is at least 1. The
    /// values of a variable with *n* values are 0 to *n* − 1.
    fn domain_sizes(&self) -> Vec<u8>;

    /// Returns the names of the rules, each as a verb in the third person.
    fn rules(&self) -> &'static [&'static str];

    /// Calls `visit` with each step that is possible in `state`, and with the state after the step.
    fn for_each_step(&self, state: &[u8], visit: &mut dyn FnMut(SystemStep, &[u8]));

    /// Returns true if the state is legitimate. By default, a state is legitimate if exactly one
    /// step is possible in it, so that exactly one machine has a privilege.
    fn is_legitimate(&self, state: &[u8]) -> bool {
        let mut steps = 0;
        self.for_each_step(state, &mut |_, _| steps += 1);
        steps == 1
    }

    /// Returns true if schedules are weakly fair: a rule that stays applicable at a machine is
    /// eventually applied. The default is false: the scheduler may ignore a machine forever.
    fn assumes_weak_fairness(&self) -> bool {
        false
    }

    /// Returns the local state of `machine` in the system state `state`, in the notation that
    /// [`StabilizingSystem::legend`] explains.
    fn format_machine(&self, state: &[u8], machine: ProcessId) -> String;

    /// Returns an explanation of the notation of [`StabilizingSystem::format_machine`].
    fn legend(&self) -> &'static str;
}

/// A step of a system: one machine applies one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SystemStep {
    /// Machine that takes the step.
    pub machine: ProcessId,
    /// Index of the rule in [`StabilizingSystem::rules`].
    pub rule: usize,
    /// True if the step is a move: the machine uses its privilege. False if the step only sends or
    /// receives a message.
    pub is_move: bool,
}

/// Card of a self-stabilizing system: its source, states and variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StabilizingCard {
    /// Name of the system on the command line.
    pub name: &'static str,
    /// Title of the system, in one line.
    pub title: &'static str,
    /// Publication that describes the system: author, title and year.
    pub paper: &'static str,
    /// Number of states of each machine, as text.
    pub states: &'static str,
    /// Variants that the system declares.
    pub variants: Vec<Variant>,
}
