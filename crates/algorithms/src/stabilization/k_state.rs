//! Dijkstra's first solution: a ring of machines with K states each.
//!
//! E. W. Dijkstra, *Self-stabilizing systems in spite of distributed control*, CACM 17(11), 1974.
//! A machine reads its own state S and the state L of its left neighbour in one atomic step:
//!
//! ```text
//! first machine:  if L = S then S := (S + 1) mod K
//! other machines: if L ≠ S then S := L
//! ```
//!
//! | | |
//! |---|---|
//! | assumes | a central daemon: one machine moves at a time |
//! | states of a machine | K: in the paper N, the number of machines; N − 1 also suffices |
//! | legitimate states | those with exactly one privilege |
//! | moves to converge, at most | 2, 13, 24 and 38 for 3, 4, 5 and 6 machines |
//!
//! **Why it is right.** A machine has a *privilege* if the condition of its rule is true. Some
//! machine always has a privilege: if no machine except the first has one, all states are equal,
//! and the first machine has one. Every machine except the first only copies a state when it moves.
//! Such a move either removes a privilege or passes it on, towards the first machine. So the first
//! machine moves again and again, and takes all K states in turn. With K = N, the N − 1 other
//! machines lack at least one state, and no other machine creates it. So at some time the first
//! machine takes a state that no other machine has. It next moves when its left neighbour has this
//! state too. All other machines have copied the state by then, so there is exactly one privilege.
//!
//! [`KStateTokenRing`](crate::mutex::KStateTokenRing) is this ring with messages.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::ProcessId;
use tenure_core::stabilization::{StabilizingCard, StabilizingSystem, SystemStep};

use crate::Variants;
use crate::variants::variant_ids;

/// Ring of machines with K states each. The first machine has a different rule from all other
/// machines.
#[derive(Clone, Debug)]
pub struct KStateRing {
    size: u32,
    states: u8,
    variants: Variants<VariantId>,
}

variant_ids! {
    NoFirst = "no-first", unsound,
        "all machines follow one rule, that of the others: the privileges die out"
        => "D-K", "-n 3 --from any";
}

impl KStateRing {
    /// Name of this system on the command line.
    pub const NAME: &str = "dijkstra-ring";

    /// Creates a ring of `size` machines, at least 2, with `states` states each.
    pub fn new(size: u32, states: u8, variants: Variants<VariantId>) -> Self {
        KStateRing { size, states, variants }
    }

    /// Returns the [`StabilizingCard`] of this system: its source, states and variants.
    pub fn card() -> StabilizingCard {
        StabilizingCard {
            name: Self::NAME,
            title: "a ring of K-state machines: Dijkstra's first solution",
            paper: "Dijkstra, CACM 17(11), 1974",
            states: "K, by default N",
            variants: Variants::<VariantId>::declarations(),
        }
    }
}

impl StabilizingSystem for KStateRing {
    fn size(&self) -> u32 {
        self.size
    }

    fn domain_sizes(&self) -> Vec<u8> {
        vec![self.states; self.size as usize]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["moves"]
    }

    fn for_each_step(&self, state: &[u8], visit: &mut dyn FnMut(SystemStep, &[u8])) {
        let mut next = state.to_vec();
        for (at, own) in state.iter().copied().enumerate() {
            let left = state[(at + state.len() - 1) % state.len()];
            let advances = at == 0 && !self.variants.has(VariantId::NoFirst);
            if (left == own) == advances {
                next[at] = if advances { (own + 1) % self.states } else { left };
                visit(
                    SystemStep { machine: ProcessId::from_index(at), rule: 0, is_move: true },
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
