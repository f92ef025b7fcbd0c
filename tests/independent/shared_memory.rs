//! Locks in shared memory, and a search of their states. The lines of the programs in the papers
//! are numbered. The state of a process contains the line that it executes next. A step is a
//! request, an access to one register, or an exit.
//!
//! Two of the locks are those of G. L. Peterson, *Myths about the mutual exclusion problem*, IPL
//! 12(3), 1981, and of L. Lamport, *A new solution of Dijkstra's concurrent programming problem*,
//! CACM 17(8), 1974. The third lock is the spinlock of textbooks.

use std::collections::{HashMap, HashSet, VecDeque};

/// A lock, or a faulty variant of this lock. The fields select the variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Peterson's lock. In the correct lock, `turn_first` is false, and `turn` and `flag` are true.
    /// If `turn_first` is true, a process writes the turn before its flag. If `turn` is false, a
    /// process waits without comparing the turn. If `flag` is false, a process waits without
    /// comparing the flags.
    Peterson { turn_first: bool, turn: bool, flag: bool },
    /// Lamport's bakery. If `choosing` is false, a process does not wait while another process
    /// chooses its ticket. `ties` decides between equal tickets. `tickets` is the upper bound on
    /// tickets, and the search excludes states with a higher ticket.
    Bakery { choosing: bool, ties: Ties, tickets: u8 },
    /// The spinlock. If `atomic` is false, the test and the set are two instructions.
    Spinlock { atomic: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ties {
    ByName,
    Enter,
    Wait,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Findings {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    /// Least number of steps until two processes are inside at the same time; `None` if that never
    /// happens.
    pub(crate) collision: Option<usize>,
    /// True if there is a fair schedule in which processes wait for ever and no process enters any
    /// more.
    pub(crate) deadlock: bool,
    /// True if there is a fair schedule in which a process waits for ever.
    pub(crate) starvation: bool,
    /// Greatest number of times that one process enters while another process waits. The count
    /// begins when the waiting process has left its doorway: the part of the entry code before it
    /// begins to wait. `None` if the number exceeds [`MAX_COUNTED_BYPASS`].
    pub(crate) bypass: Option<u32>,
}

/// Maximum value of [`Findings::bypass`]. The search does not count more entries.
pub(crate) const MAX_COUNTED_BYPASS: u32 = 4;

const REST: u8 = 0;
const CRITICAL: u8 = 20;
const LEAVE: u8 = 21;

/// State of one process: the line that it executes next, and two local variables. An unused
/// variable is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Local {
    line: u8,
    a: u8,
    b: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Global {
    locals: Vec<Local>,
    /// Values of the registers. They form two arrays with one element per process. The second array
    /// follows the first array.
    memory: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Rest,
    Doorway,
    Waiting,
    Critical,
    Leaving,
}

impl Program {
    fn place(self, local: Local) -> Place {
        match (self, local.line) {
            (_, REST) => Place::Rest,
            (_, CRITICAL) => Place::Critical,
            (_, LEAVE) => Place::Leaving,
            (Program::Peterson { .. }, 1 | 2) if local.a == 1 => Place::Doorway,
            (Program::Bakery { .. }, 1..=4) => Place::Doorway,
            _ => Place::Waiting,
        }
    }

    fn execute(self, state: &mut Global, me: usize) {
        let n = state.locals.len();
        let Local { line, a, b } = state.locals[me];
        let at = |line, a, b| Local { line, a, b };
        state.locals[me] = match (self, line) {
            (Program::Peterson { turn_first, .. }, REST) => {
                at(if turn_first { 2 } else { 1 }, 1, 0)
            }
            (Program::Bakery { choosing: false, .. }, REST) => at(2, 0, first(n, me)),
            (Program::Spinlock { .. } | Program::Bakery { .. }, REST) => at(1, 0, 0),
            (_, CRITICAL) => at(LEAVE, 0, 0),
            (Program::Peterson { .. }, LEAVE) => {
                state.memory[me] = 0;
                at(REST, 0, 0)
            }
            (Program::Bakery { .. }, LEAVE) => {
                state.memory[n + me] = 0;
                at(REST, 0, 0)
            }
            (Program::Spinlock { .. }, LEAVE) => {
                state.memory[0] = 0;
                at(REST, 0, 0)
            }
            (Program::Peterson { .. }, _) => self.peterson(state, me),
            (Program::Bakery { .. }, _) => self.bakery(state, me),
            (Program::Spinlock { atomic: true }, _) => {
                match std::mem::replace(&mut state.memory[0], 1) {
                    0 => at(CRITICAL, 0, 0),
                    _ => at(1, a, b),
                }
            }
            (Program::Spinlock { .. }, 1) => at(if state.memory[0] == 0 { 2 } else { 1 }, 0, 0),
            (Program::Spinlock { .. }, _) => {
                state.memory[0] = 1;
                at(CRITICAL, 0, 0)
            }
        };
    }

    /// Executes a line of Peterson's lock, from 1 to 4. The variable `a` is the level. `b` is the
    /// number, from 1, of the process whose flag is read.
    fn peterson(self, state: &mut Global, me: usize) -> Local {
        let Program::Peterson { turn_first, turn, flag } = self else { unreachable!() };
        let n = state.locals.len();
        let Local { line, a: level, b: other } = state.locals[me];
        let wait = match flag {
            true => Local { line: 3, a: level, b: first(n, me) },
            false => Local { line: 4, a: level, b: 0 },
        };
        let pass = match usize::from(level) == n - 1 {
            true => Local { line: CRITICAL, a: 0, b: 0 },
            false => Local { line: if turn_first { 2 } else { 1 }, a: level + 1, b: 0 },
        };
        match line {
            1 => {
                state.memory[me] = level;
                if turn_first { wait } else { Local { line: 2, a: level, b: 0 } }
            }
            2 => {
                state.memory[n + usize::from(level)] = me as u8 + 1;
                if turn_first { Local { line: 1, a: level, b: 0 } } else { wait }
            }
            3 if state.memory[usize::from(other) - 1] >= level => match turn {
                true => Local { line: 4, a: level, b: 0 },
                false => wait,
            },
            3 => match after(n, me, other) {
                0 => pass,
                next => Local { line: 3, a: level, b: next },
            },
            _ if state.memory[n + usize::from(level)] == me as u8 + 1 => wait,
            _ => pass,
        }
    }

    /// Executes a line of the bakery, from 1 to 6. The variable `a` is first the maximum of the
    /// tickets, and then the ticket of the process. `b` is the number, from 1, of the process that
    /// is examined.
    fn bakery(self, state: &mut Global, me: usize) -> Local {
        let Program::Bakery { choosing, ties, .. } = self else { unreachable!() };
        let n = state.locals.len();
        let Local { line, a, b } = state.locals[me];
        let compare = if choosing { 5 } else { 6 };
        match line {
            1 => {
                state.memory[me] = 1;
                Local { line: 2, a: 0, b: first(n, me) }
            }
            2 => {
                let a = a.max(state.memory[n + usize::from(b) - 1]);
                match after(n, me, b) {
                    0 => Local { line: 3, a, b: 0 },
                    b => Local { line: 2, a, b },
                }
            }
            3 => {
                state.memory[n + me] = a + 1;
                match choosing {
                    true => Local { line: 4, a: a + 1, b: 0 },
                    false => Local { line: 6, a: a + 1, b: first(n, me) },
                }
            }
            4 => {
                state.memory[me] = 0;
                Local { line: compare, a, b: first(n, me) }
            }
            5 if state.memory[usize::from(b) - 1] != 0 => Local { line: 5, a, b },
            5 => Local { line: 6, a, b },
            _ => {
                let theirs = state.memory[n + usize::from(b) - 1];
                let is_before = match ties {
                    Ties::ByName => (theirs, usize::from(b) - 1) < (a, me),
                    Ties::Enter => theirs < a,
                    Ties::Wait => theirs <= a,
                };
                match after(n, me, b) {
                    _ if theirs != 0 && is_before => Local { line: 6, a, b },
                    0 => Local { line: CRITICAL, a: 0, b: 0 },
                    next => Local { line: compare, a, b: next },
                }
            }
        }
    }
}

/// Returns the number of the first process other than `me`. Processes are numbered from 1 to `n`,
/// but `me` is an index from 0.
fn first(n: usize, me: usize) -> u8 {
    after(n, me, 0)
}

/// Returns the smallest process number above `b` that is not the number of `me`, in a group of `n`
/// processes. Returns 0 if there is no such number. Process numbers begin with 1, but `me` is an
/// index from 0.
fn after(n: usize, me: usize, b: u8) -> u8 {
    (usize::from(b)..n).find(|other| *other != me).map_or(0, |other| other as u8 + 1)
}

/// Graph of the reachable states. For each state, `steps` contains the possible steps. A step
/// consists of the process that takes the step, and of the index of the next state. The index is
/// `None` if the next state is out of bounds.
struct Graph {
    program: Program,
    states: Vec<Global>,
    steps: Vec<Vec<(usize, Option<usize>)>>,
    depths: Vec<usize>,
}

/// Explores the lock in a group of `n` processes whose users request entry again and again.
pub(crate) fn findings(program: Program, n: usize) -> Findings {
    let graph = Graph::of(program, n);
    let count = |state: &Global, place| {
        state.locals.iter().filter(|local| program.place(**local) == place).count()
    };
    let collides = |at: &usize| count(&graph.states[*at], Place::Critical) > 1;
    let tries = |at: usize, process| {
        let place = graph.place(at, process);
        place == Place::Doorway || place == Place::Waiting
    };
    let is_stuck = |at: usize| {
        (0..n).any(|process| tries(at, process)) && count(&graph.states[at], Place::Critical) == 0
    };
    Findings {
        states: graph.states.len() as u64,
        transitions: 1 + graph.steps.iter().map(Vec::len).sum::<usize>() as u64,
        collision: (0..graph.states.len()).find(collides).map(|at| graph.depths[at]),
        deadlock: graph.is_endless(n, is_stuck),
        starvation: (0..n).any(|process| graph.is_endless(n, |at| tries(at, process))),
        bypass: graph.bypass(n),
    }
}

impl Graph {
    fn of(program: Program, n: usize) -> Self {
        let first = Global { locals: vec![Local::default(); n], memory: vec![0; 2 * n] };
        let mut numbers = HashMap::from([(first.clone(), 0)]);
        let mut graph = Graph { program, states: vec![first], steps: Vec::new(), depths: vec![0] };
        let mut next = 0;
        while next < graph.states.len() {
            let mut steps = Vec::new();
            for process in 0..n {
                let mut state = graph.states[next].clone();
                program.execute(&mut state, process);
                let limit = match program {
                    Program::Bakery { tickets, .. } => tickets,
                    _ => u8::MAX,
                };
                if state.memory.iter().any(|value| *value > limit) {
                    steps.push((process, None));
                    continue;
                }
                let number = *numbers.entry(state.clone()).or_insert_with(|| {
                    graph.states.push(state);
                    graph.depths.push(graph.depths[next] + 1);
                    graph.states.len() - 1
                });
                steps.push((process, Some(number)));
            }
            graph.steps.push(steps);
            next += 1;
        }
        graph
    }

    fn place(&self, at: usize, process: usize) -> Place {
        self.program.place(self.states[at].locals[process])
    }

    /// Returns true if a fair run can stay for ever in the states for which `belongs` is true.
    ///
    /// A run is fair if each process takes steps for ever, or is at rest again and again. The
    /// function repeatedly removes states from which some process can neither take a step nor come
    /// to rest within the remaining states. The result is true if some states remain.
    fn is_endless(&self, n: usize, belongs: impl Fn(usize) -> bool) -> bool {
        let mut kept: HashSet<usize> = (0..self.states.len()).filter(|at| belongs(*at)).collect();
        loop {
            let before = kept.len();
            for process in 0..n {
                let settles = |at: usize| {
                    let has_step = |step: &&(usize, Option<usize>)| {
                        step.1.is_some_and(|to| kept.contains(&to))
                    };
                    let mut steps = self.steps[at].iter().filter(has_step);
                    let moves = steps.clone().any(|step| step.0 == process);
                    // Even if the process is at rest, a run can stay only if some other process can
                    // take a step.
                    moves || self.place(at, process) == Place::Rest && steps.next().is_some()
                };
                let goals: HashSet<usize> =
                    kept.iter().copied().filter(|at| settles(*at)).collect();
                kept = self.reaching(&kept, goals);
            }
            if kept.len() == before {
                return !kept.is_empty();
            }
        }
    }

    /// Returns the states in `kept` from which a path within `kept` leads to a state in `goals`.
    fn reaching(&self, kept: &HashSet<usize>, goals: HashSet<usize>) -> HashSet<usize> {
        let mut sources: HashMap<usize, Vec<usize>> = HashMap::new();
        for at in kept {
            for to in self.steps[*at].iter().filter_map(|step| step.1) {
                sources.entry(to).or_default().push(*at);
            }
        }
        let mut open: Vec<usize> = goals.iter().copied().collect();
        let mut reached = goals;
        while let Some(at) = open.pop() {
            for from in sources.get(&at).into_iter().flatten() {
                if reached.insert(*from) {
                    open.push(*from);
                }
            }
        }
        reached
    }

    fn bypass(&self, n: usize) -> Option<u32> {
        let mut most = 0;
        for waiter in 0..n {
            for rival in (0..n).filter(|rival| *rival != waiter) {
                most = most.max(self.entries_while_waiting(waiter, rival));
            }
        }
        (most <= MAX_COUNTED_BYPASS).then_some(most)
    }

    fn entries_while_waiting(&self, waiter: usize, rival: usize) -> u32 {
        let mut seen = HashSet::from([(0, 0)]);
        let mut open = VecDeque::from([(0, 0)]);
        let mut most = 0;
        while let Some((at, count)) = open.pop_front() {
            most = most.max(count);
            for (process, to) in &self.steps[at] {
                let Some(to) = *to else { continue };
                let waits = |at| self.place(at, waiter) == Place::Waiting;
                let enters = *process == rival && self.place(to, rival) == Place::Critical;
                let count = if enters && waits(at) { count + 1 } else { count };
                let next = (to, if waits(to) { count.min(MAX_COUNTED_BYPASS + 1) } else { 0 });
                if seen.insert(next) {
                    open.push_back(next);
                }
            }
        }
        most
    }
}
