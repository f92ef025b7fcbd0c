//! Dijkstra's second solution: a line of machines with four states each.
//!
//! E. W. Dijkstra, *Self-stabilizing systems in spite of distributed control*, CACM 17(11), 1974.
//! A state is two booleans, x and up. At the bottom machine, `up` is always true. At the top
//! machine, `up` is always false. L and R are the left and the right neighbour:
//!
//! ```text
//! bottom: if x = xR and non upR then x := non x
//! top:    if x ≠ xL             then x := non x
//! others: if x ≠ xL                       then x := non x; up := true
//!         if x = xR and up and non upR    then up := false
//! ```
//!
//! | | |
//! |---|---|
//! | assumes | a central daemon: one machine moves at a time |
//! | states of a machine | 4; bottom and top have 2 |
//! | legitimate states | those with exactly one privilege |
//! | moves to converge, at most | 2, 7 and 13 for 3, 4 and 5 machines |
//!
//! A machine has one *privilege* for each of its rules whose condition is true. The machines form a
//! line, because the bottom and the top machine are not neighbours. In legitimate states, the
//! privilege travels up and down the line. A machine sets `up` to true when the privilege passes
//! this machine towards the top.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::ProcessId;
use tenure_core::stabilization::{StabilizingCard, StabilizingSystem, SystemStep};

use crate::Variants;
use crate::variants::variant_ids;

/// Line of machines with four states each, from the bottom machine to the top machine.
#[derive(Clone, Debug)]
pub struct FourStateLine {
    size: u32,
    variants: Variants<VariantId>,
}

variant_ids! {
    BottomIgnoresUp = "bottom-ignores-up", unsound,
        "the bottom machine moves whenever its neighbour has the same x, though the privilege is \
         on its way up"
        => "D-4", "-n 3 --from any";
    DownIgnoresUp = "down-ignores-up", unsound,
        "a machine turns down though its right neighbour has not yet turned"
        => "D-4", "-n 4 --from any";
}

/// State of a machine.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Machine {
    x: bool,
    up: bool,
}

const FOLLOWS: usize = 0;
const TURNS: usize = 1;

impl FourStateLine {
    /// Name of this system on the command line.
    pub const NAME: &str = "dijkstra-four-state";

    /// Creates a line of `size` machines, at least 2. The bottom machine is the first.
    pub fn new(size: u32, variants: Variants<VariantId>) -> Self {
        FourStateLine { size, variants }
    }

    /// Returns the [`StabilizingCard`] of this system: its source, states and variants.
    pub fn card() -> StabilizingCard {
        StabilizingCard {
            name: Self::NAME,
            title: "a line of four-state machines: Dijkstra's second solution",
            paper: "Dijkstra, CACM 17(11), 1974",
            states: "4, and 2 at both ends",
            variants: Variants::<VariantId>::declarations(),
        }
    }

    /// Encodes `machine`, the state of the machine at index `at`, as a number.
    fn value(&self, at: usize, machine: Machine) -> u8 {
        let is_inner = at > 0 && at + 1 < self.size as usize;
        u8::from(machine.x) + 2 * u8::from(machine.up && is_inner)
    }

    /// Returns true if the rule that inverts `x` applies to the machine at this index. The rule of
    /// the bottom machine reads `x` and `up` of the right neighbour. The rule of every other
    /// machine reads `x` of the left neighbour.
    fn can_follow(&self, state: &[u8], at: usize) -> bool {
        let own = machine(state, at);
        if at > 0 {
            return own.x != machine(state, at - 1).x;
        }
        let right = machine(state, at + 1);
        own.x == right.x && (!right.up || self.variants.has(VariantId::BottomIgnoresUp))
    }

    /// Returns true if the machine at this index may turn, which means that it sets its `up` to
    /// false. The machines at the ends never turn.
    fn can_turn(&self, state: &[u8], at: usize) -> bool {
        if at == 0 || at + 1 == state.len() {
            return false;
        }
        let (own, right) = (machine(state, at), machine(state, at + 1));
        own.x == right.x && own.up && (!right.up || self.variants.has(VariantId::DownIgnoresUp))
    }
}

fn machine(state: &[u8], at: usize) -> Machine {
    let up = at == 0 || at + 1 < state.len() && state[at] & 2 != 0;
    Machine { x: state[at] & 1 != 0, up }
}

impl StabilizingSystem for FourStateLine {
    fn size(&self) -> u32 {
        self.size
    }

    fn domain_sizes(&self) -> Vec<u8> {
        let mut domain_sizes = vec![4; self.size as usize];
        domain_sizes[0] = 2;
        domain_sizes[self.size as usize - 1] = 2;
        domain_sizes
    }

    fn rules(&self) -> &'static [&'static str] {
        &["follows", "turns"]
    }

    fn for_each_step(&self, state: &[u8], visit: &mut dyn FnMut(SystemStep, &[u8])) {
        let mut next = state.to_vec();
        for (at, value) in state.iter().copied().enumerate() {
            let own = machine(state, at);
            let rules = [
                (FOLLOWS, self.can_follow(state, at), Machine { x: !own.x, up: true }),
                (TURNS, self.can_turn(state, at), Machine { up: false, ..own }),
            ];
            for (rule, _, after) in rules.into_iter().filter(|(_, is_present, _)| *is_present) {
                next[at] = self.value(at, after);
                visit(
                    SystemStep { machine: ProcessId::from_index(at), rule, is_move: true },
                    &next,
                );
                next[at] = value;
            }
        }
    }

    fn format_machine(&self, state: &[u8], at: ProcessId) -> String {
        let Machine { x, up } = machine(state, at.index());
        let mut cell = String::from(if x { "1" } else { "0" });
        cell.push(if up { '↑' } else { '↓' });
        cell
    }

    fn legend(&self) -> &'static str {
        "x of the machine, with ↑ if up is true"
    }
}
