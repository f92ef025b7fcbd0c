//! Dijkstra's three self-stabilizing systems of 1974, started in every state.
//!
//! The search computes for each state the greatest number of moves to a legitimate state. A state
//! is settled when this number is known. Legitimate states are settled first, with 0 moves. Then
//! each state whose successors are all settled is settled: it needs one move more than its slowest
//! successor. A state that is never settled lies on a cycle, leads to one, or has no successor.

use std::collections::{BTreeMap, BTreeSet};

/// Value of a machine: a number, and a flag that only four-state machines use.
pub(crate) type Machine = (u8, bool);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) states: usize,
    pub(crate) legitimate: usize,
    pub(crate) transitions: usize,
    pub(crate) is_closed: bool,
    /// Greatest number of moves from any state until a legitimate state is reached. `None` if some
    /// sequence of moves never reaches a legitimate state.
    pub(crate) moves: Option<u32>,
}

/// Function that returns the possible moves in a state. Its second argument is the modulus. A move
/// is the index of a machine, and the machine's new value.
type Moves = fn(&[Machine], u8) -> Vec<(usize, Machine)>;

/// A system of machines: the values that each machine can have, and the possible moves.
pub(crate) struct System {
    pub(crate) values: Vec<Vec<Machine>>,
    pub(crate) moves: Moves,
    /// Modulus of the numbers of the machines. 0 in Dijkstra's second solution, which uses no
    /// modulus.
    pub(crate) modulus: u8,
}

impl System {
    /// Returns the possible moves in a state. A move consists of the machine that moves, and of the
    /// next state.
    pub(crate) fn successors(&self, state: &[Machine]) -> Vec<(usize, Vec<Machine>)> {
        let moves = (self.moves)(state, self.modulus).into_iter();
        let moved = |(machine, value)| {
            let mut next = state.to_vec();
            next[machine] = value;
            (machine, next)
        };
        moves.map(moved).collect()
    }

    fn states(&self) -> Vec<Vec<Machine>> {
        self.values.iter().fold(vec![Vec::new()], |states, values| {
            let longer = |state: &Vec<Machine>| {
                let longer = |value: &Machine| [&state[..], &[*value]].concat();
                values.iter().map(longer).collect::<Vec<_>>()
            };
            states.iter().flat_map(longer).collect()
        })
    }

    /// Computes the figures of the system. A state in which exactly one move is possible is
    /// legitimate.
    pub(crate) fn figures(&self) -> Figures {
        let after = |state: Vec<Machine>| {
            let next: Vec<Vec<Machine>> =
                self.successors(&state).into_iter().map(|(_, next)| next).collect();
            (state, next)
        };
        let graph: BTreeMap<_, _> = self.states().into_iter().map(after).collect();
        let legitimate: BTreeSet<_> =
            graph.iter().filter(|(_, next)| next.len() == 1).map(|(state, _)| state).collect();
        let is_closed = legitimate.iter().all(|state| legitimate.contains(&graph[*state][0]));
        let mut settled: BTreeMap<_, u32> = legitimate.iter().map(|state| (*state, 0)).collect();
        loop {
            let open = graph
                .iter()
                .filter(|(state, next)| !settled.contains_key(state) && !next.is_empty());
            let slowest = |(state, next): (_, &Vec<Vec<Machine>>)| {
                let known = next.iter().map(|to| settled.get(to).copied());
                let slowest = known.collect::<Option<Vec<u32>>>()?.into_iter().max()?;
                Some((state, slowest + 1))
            };
            let new: Vec<_> = open.filter_map(slowest).collect();
            if new.is_empty() {
                break;
            }
            settled.extend(new);
        }
        let all = settled.len() == graph.len();
        Figures {
            states: graph.len(),
            legitimate: legitimate.len(),
            transitions: graph.values().map(Vec::len).sum(),
            is_closed,
            moves: all.then(|| settled.values().copied().max()).flatten(),
        }
    }
}

fn plain(values: u8) -> Vec<Machine> {
    (0..values).map(|value| (value, false)).collect()
}

/// Returns the system of Dijkstra's first solution: a ring of machines with `modulus` states each.
pub(crate) fn k_state(machines: usize, modulus: u8) -> System {
    let moves = |state: &[Machine], modulus: u8| {
        let left = |at: usize| state[(at + state.len() - 1) % state.len()].0;
        let first = (left(0) == state[0].0).then(|| (0, ((state[0].0 + 1) % modulus, false)));
        let others = (1..state.len()).filter(|at| left(*at) != state[*at].0);
        first.into_iter().chain(others.map(|at| (at, (left(at), false)))).collect::<Vec<_>>()
    };
    System { values: vec![plain(modulus); machines], moves, modulus }
}

/// Returns the system of Dijkstra's second solution: a line of machines, each with the variables x
/// and up. The first machine is Dijkstra's bottom machine.
pub(crate) fn four_state(machines: usize) -> System {
    let both = |up: &[bool]| {
        let values = [0, 1].into_iter();
        values.flat_map(|x| up.iter().map(move |up| (x, *up))).collect::<Vec<Machine>>()
    };
    let mut values = vec![both(&[false, true]); machines];
    values[0] = both(&[true]);
    values[machines - 1] = both(&[false]);
    let moves = |state: &[Machine], _: u8| {
        let (mut moves, top) = (Vec::new(), state.len() - 1);
        for (at, (x, up)) in state.iter().copied().enumerate() {
            let left = at.checked_sub(1).map(|left| state[left]);
            let right = state.get(at + 1);
            if at == 0 && right.is_some_and(|right| right.0 == x && !right.1) {
                moves.push((at, (1 - x, up)));
            }
            if left.is_some_and(|left| left.0 != x) {
                moves.push((at, (1 - x, at < top)));
            }
            if at > 0 && up && right.is_some_and(|right| right.0 == x && !right.1) {
                moves.push((at, (x, false)));
            }
        }
        moves
    };
    System { values, moves, modulus: 0 }
}

/// Returns the system of Dijkstra's third solution: a ring of machines with three states each. The
/// first machine is Dijkstra's bottom machine.
pub(crate) fn three_state(machines: usize) -> System {
    let moves = |state: &[Machine], _: u8| {
        let s = |at: usize| state[at % state.len()].0;
        let (mut moves, top) = (Vec::new(), state.len() - 1);
        if (s(0) + 1) % 3 == s(1) {
            moves.push((0, ((s(0) + 2) % 3, false)));
        }
        for at in 1..top {
            let neighbours = [s(at - 1), s(at + 1)].into_iter();
            let ahead = neighbours.filter(|other| (s(at) + 1) % 3 == *other);
            moves.extend(ahead.map(|other| (at, (other, false))));
        }
        let left = s(top - 1);
        if left == s(0) && (left + 1) % 3 != s(top) {
            moves.push((top, ((left + 1) % 3, false)));
        }
        moves
    };
    System { values: vec![plain(3); machines], moves, modulus: 3 }
}
