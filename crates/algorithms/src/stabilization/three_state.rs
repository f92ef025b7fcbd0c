//! Dijkstra's third solution: a ring of machines with three states each.
//!
//! E. W. Dijkstra, *Self-stabilizing systems in spite of distributed control*, CACM 17(11), 1974.
//! A machine reads its own state S, the state L of its left neighbour and the state R of its right
//! neighbour. The right neighbour of the top machine is the bottom machine:
//!
//! ```text
//! bottom: if (S + 1) mod 3 = R              then S := (S − 1) mod 3
//! top:    if L = R and (L + 1) mod 3 ≠ S    then S := (L + 1) mod 3
//! others: if (S + 1) mod 3 = L              then S := L
//!         if (S + 1) mod 3 = R              then S := R
//! ```
//!
//! | | |
//! |---|---|
//! | assumes | a central daemon: one machine moves at a time |
//! | states of a machine | 3 |
//! | legitimate states | those with exactly one privilege |
//! | moves to converge, at most | 2, 10, 22 and 39 for 3, 4, 5 and 6 machines |
//!
//! A machine has one *privilege* for each of its rules whose condition is true. If two conditions
//! are true, both rules lead to the same state.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::ProcessId;
use tenure_core::stabilization::{StabilizingCard, StabilizingSystem, SystemStep};

use crate::Variants;
use crate::variants::variant_ids;

/// Ring of machines with three states each, from the bottom machine to the top machine.
#[derive(Clone, Debug)]
pub struct ThreeStateRing {
    size: u32,
    variants: Variants<VariantId>,
}

variant_ids! {
    TopIgnoresBottom = "top-ignores-bottom", unsound,
        "the top machine moves whenever its left neighbour allows it, whatever the bottom machine"
        => "D-3", "-n 3 --from any";
    TopIgnoresItself = "top-ignores-itself", unsound,
        "the top machine moves also if it has the new state already, and so for ever"
        => "D-3", "-n 3 --from any";
    OneWay = "one-way", unsound,
        "the machines between both ends do not follow their right neighbour, and all privileges \
         die out"
        => "D-3", "-n 3 --from any";
}

const MOVES: usize = 0;
const FOLLOWS_LEFT: usize = 1;
const FOLLOWS_RIGHT: usize = 2;

impl ThreeStateRing {
    /// Name of this system on the command line.
    pub const NAME: &str = "dijkstra-three-state";

    /// Creates a ring of `size` machines, at least 2. The bottom machine is the first, and the top
    /// machine the last.
    pub fn new(size: u32, variants: Variants<VariantId>) -> Self {
        ThreeStateRing { size, variants }
    }

    /// Returns the [`StabilizingCard`] of this system: its source, states and variants.
    pub fn card() -> StabilizingCard {
        StabilizingCard {
            name: Self::NAME,
            title: "a ring of three-state machines: Dijkstra's third solution",
            paper: "Dijkstra, CACM 17(11), 1974",
            states: "3",
            variants: Variants::<VariantId>::declarations(),
        }
    }

    /// Returns the state to which the top machine moves; `None` if the machine has no privilege.
    fn next_of_top(&self, own: u8, left: u8, right: u8) -> Option<u8> {
        let next = (left + 1) % 3;
        let agrees = left == right || self.variants.has(VariantId::TopIgnoresBottom);
        let differs = next != own || self.variants.has(VariantId::TopIgnoresItself);
        (agrees && differs).then_some(next)
    }

    /// Returns a pair for each of the two rules: the index of the rule, and the new state of the
    /// machine at index `at`. The state is `None` if the rule does not apply. The bottom and the
    /// top machine have only one rule, so the second pair has no state.
    fn next_of(&self, state: &[u8], at: usize) -> [(usize, Option<u8>); 2] {
        let (own, last) = (state[at], state.len() - 1);
        let right = state[(at + 1) % state.len()];
        if at == 0 {
            return [(MOVES, ((own + 1) % 3 == right).then_some((own + 2) % 3)), (MOVES, None)];
        }
        let left = state[at - 1];
        if at == last {
            return [(MOVES, self.next_of_top(own, left, right)), (MOVES, None)];
        }
        let follows_right = (own + 1) % 3 == right && !self.variants.has(VariantId::OneWay);
        [
            (FOLLOWS_LEFT, ((own + 1) % 3 == left).then_some(left)),
            (FOLLOWS_RIGHT, follows_right.then_some(right)),
        ]
    }
}

impl StabilizingSystem for ThreeStateRing {
    fn size(&self) -> u32 {
        self.size
    }

    fn domain_sizes(&self) -> Vec<u8> {
        vec![3; self.size as usize]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["moves", "follows its left neighbour", "follows its right neighbour"]
    }

    fn for_each_step(&self, state: &[u8], visit: &mut dyn FnMut(SystemStep, &[u8])) {
        let mut next = state.to_vec();
        for (at, own) in state.iter().copied().enumerate() {
            for (rule, after) in self.next_of(state, at) {
                let Some(after) = after else { continue };
                next[at] = after;
                visit(
                    SystemStep { machine: ProcessId::from_index(at), rule, is_move: true },
                    &next,
                );
                next[at] = own;
            }
        }
    }

    fn format_machine(&self, state: &[u8], machine: ProcessId) -> String {
        state[machine.index()].to_string()
    }

    fn legend(&self) -> &'static str {
        "state of the machine"
    }
}
