//! Dijkstra's self-stabilizing ring: it converges from any initial states.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use tenure_algorithms::mutex::KStateTokenRing;
use tenure_algorithms::mutex::dijkstra_ring::{Config, Message, State, Timer};
use tenure_core::service::mutex::Command;
use tenure_core::{ChannelOrder, EffectBuffer, Group, Input, ProcessId, Property, Protocol};

use crate::support::mutex::{NONE, Plan, entered, run_as};
use crate::support::p;
use tenure_trace::{SplitMix64, TestCluster};

/// Returns true if some fair run that begins in `starts` stays in `wrong` states forever.
/// `successors` returns all possible steps from a state, each with the number of its action and the
/// next state. A run is unfair if, from some time on, an action in `owed` is always possible and
/// never taken.
fn never_converges<S: Clone + Eq + Hash>(
    starts: impl IntoIterator<Item = S>,
    successors: impl Fn(&S) -> Vec<(u32, S)>,
    wrong: impl Fn(&S) -> bool,
    owed: &[u32],
) -> bool {
    let (mut places, mut edges, mut states) = (HashMap::new(), Vec::new(), Vec::new());
    for start in starts.into_iter().filter(&wrong) {
        if !places.contains_key(&start) {
            places.insert(start.clone(), states.len());
            states.push(start);
        }
    }
    let mut next = 0;
    while next < states.len() {
        let (mut inner, mut able) = (Vec::new(), BTreeSet::new());
        for (machine, state) in successors(&states[next].clone()) {
            able.insert(machine);
            if wrong(&state) {
                let place = *places.entry(state.clone()).or_insert_with(|| {
                    states.push(state);
                    states.len() - 1
                });
                inner.push((machine, place));
            }
        }
        edges.push((inner, able));
        next += 1;
    }
    components(&edges).into_iter().any(|component| {
        let inside: BTreeSet<usize> = component.iter().copied().collect();
        let mut moves = component.iter().flat_map(|at| {
            edges[*at].0.iter().filter(|(_, to)| inside.contains(to)).map(|(machine, _)| *machine)
        });
        let taken: BTreeSet<u32> = moves.by_ref().collect();
        let fair = |machine: &u32| {
            taken.contains(machine) || component.iter().any(|at| !edges[*at].1.contains(machine))
        };
        !taken.is_empty() && owed.iter().all(fair)
    })
}

type Edges = Vec<(Vec<(u32, usize)>, BTreeSet<u32>)>;

/// Returns the strongly connected components, by Tarjan's algorithm without recursion.
fn components(edges: &Edges) -> Vec<Vec<usize>> {
    let (mut index, mut low) = (vec![usize::MAX; edges.len()], vec![0; edges.len()]);
    let (mut stack, mut on_stack, mut found) = (Vec::new(), vec![false; edges.len()], Vec::new());
    let mut counter = 0;
    for root in 0..edges.len() {
        if index[root] != usize::MAX {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((at, edge)) = path.pop() {
            if edge == 0 {
                (index[at], low[at]) = (counter, counter);
                counter += 1;
                stack.push(at);
                on_stack[at] = true;
            }
            if let Some((_, to)) = edges[at].0.get(edge) {
                path.push((at, edge + 1));
                if index[*to] == usize::MAX {
                    path.push((*to, 0));
                } else if on_stack[*to] {
                    low[at] = low[at].min(index[*to]);
                }
                continue;
            }
            if let Some((parent, _)) = path.last() {
                low[*parent] = low[*parent].min(low[at]);
            }
            if low[at] == index[at] {
                let from = stack.iter().rposition(|it| *it == at).expect("it is on the stack");
                let component = stack.split_off(from);
                component.iter().for_each(|it| on_stack[*it] = false);
                found.push(component);
            }
        }
    }
    found
}

/// Returns all lists of `length` numbers below `states`.
fn all_lists(length: usize, states: u32) -> Vec<Vec<u32>> {
    (0..length).fold(vec![vec![]], |lists, _| {
        let longer =
            |list: Vec<u32>| (0..states).map(move |it| list.iter().copied().chain([it]).collect());
        lists.into_iter().flat_map(longer).collect()
    })
}

/// Returns the number of privileged processes on a ring of registers. The first process is
/// privileged if its register equals the last one. Any other process is privileged if its register
/// differs from its predecessor's register.
fn privileges(ring: &[u32]) -> usize {
    let changes = ring.windows(2).filter(|pair| pair[0] != pair[1]).count();
    changes + usize::from(ring.first() == ring.last())
}

/// Returns the smallest number of states with which a ring of `machines` converges from every start
/// under every scheduler. In the paper's model, every process reads its neighbour's state, and one
/// process moves at a time.
fn min_states_with_shared_reads(machines: usize) -> u32 {
    let moves = |ring: &Vec<u32>, states: u32| {
        let last = ring.len() - 1;
        let mut moves = Vec::new();
        for at in 0..ring.len() {
            let left = ring[if at == 0 { last } else { at - 1 }];
            if (left == ring[at]) == (at == 0) {
                let mut next = ring.clone();
                next[at] = if at == 0 { (ring[0] + 1) % states } else { left };
                moves.push((0, next));
            }
        }
        moves
    };
    let diverges = |states: &u32| {
        let successors = |ring: &Vec<u32>| moves(ring, *states);
        never_converges(all_lists(machines, *states), successors, |ring| privileges(ring) > 1, &[])
    };
    (2..).find(|states| !diverges(states)).expect("some number of states is enough")
}

#[test]
fn shared_reads_need_n_minus_one_states() {
    let fewest: Vec<u32> = (2..=6).map(min_states_with_shared_reads).collect();
    assert_eq!(fewest, [2, 2, 3, 4, 5], "for 2 to 6 processes");
}

/// The processes of the tested implementation, and the messages in flight on each link.
type Ring = (Vec<KStateTokenRing>, Vec<Vec<u32>>);

fn batch() -> EffectBuffer<KStateTokenRing> {
    EffectBuffer::default()
}

fn ring(states: u32, start: &[u32]) -> Ring {
    let size = u32::try_from(start.len() / 2).unwrap();
    let start = start.chunks(2).map(|it| State { own: it[0], left: it[1] }).collect();
    let config = Config { state_count: Some(states), initial_states: start, ..Config::default() };
    let boot =
        |at| KStateTokenRing::boot(Group::new(ProcessId(at), size), &config, None, &mut batch());
    ((0..size).map(boot).collect(), vec![Vec::new(); size as usize])
}

/// Returns all steps that are possible on a ring whose links hold at most one message. Each step is
/// a pair: the number of the action, and the ring after the action. In action 3*i*, process *i*
/// moves. In action 3*i* + 1, process *i* sends its state again. In action 3*i* + 2, process *i*
/// receives its predecessor's state.
fn possible_steps((processes, links): &Ring) -> Vec<(u32, Ring)> {
    let mut next = Vec::new();
    for at in 0..processes.len() {
        let number = u32::try_from(at).unwrap();
        let mut happens = |choice: u32, input: Input<KStateTokenRing>, links: &[Vec<u32>]| {
            let (mut processes, mut links) = (processes.clone(), links.to_vec());
            let mut batch = batch();
            processes[at].step(input, &mut batch);
            for (_, Message::State { own }) in batch.messages.drain(..) {
                links[at].push(own);
            }
            next.push((3 * number + choice, (processes, links)));
        };
        if links[at].is_empty() {
            if processes[at].is_privileged() {
                happens(0, Input::Timer(Timer::Pass), links);
            }
            happens(1, Input::Timer(Timer::Repeat), links);
        }
        let before = (at + processes.len() - 1) % processes.len();
        if let Some(own) = links[before].first() {
            let message = Message::State { own: *own };
            let mut rest = links.clone();
            rest[before].remove(0);
            let from = ProcessId::from_index(before);
            happens(2, Input::Message { from, message }, &rest);
        }
    }
    next
}

/// Returns the registers along the ring: for each process, its own state, and the state that it
/// knows of its predecessor.
fn registers(starts: &Ring) -> Vec<u32> {
    let (processes, links) = starts;
    let mut along = Vec::new();
    for (at, process) in processes.iter().enumerate() {
        let State { own, left } = process.state();
        if at > 0 {
            along.push(left);
        }
        along.push(own);
        along.extend(links[at].iter().rev());
    }
    along.push(processes[0].state().left);
    along
}

fn min_states_with_messages(size: usize) -> u32 {
    let owed: Vec<u32> = (0..3 * u32::try_from(size).unwrap()).collect();
    let diverges = |states: &u32| {
        let starts = all_lists(2 * size, *states).into_iter().map(|start| ring(*states, &start));
        let wrong = |ring: &Ring| privileges(&registers(ring)) > 1;
        never_converges(starts, possible_steps, wrong, &owed)
    };
    (2..).find(|states| !diverges(states)).expect("some number of states is enough")
}

/// Finds the smallest number of states with which this implementation converges from every start,
/// over links that hold one message (`docs/checklist.md`, 3.3).
#[test]
fn messages_need_three_states_for_two_processes() {
    assert_eq!(min_states_with_messages(2), 3);
}

#[test]
fn converges_from_any_start() {
    for seed in 0..400 {
        let mut rng = SplitMix64(seed);
        let size = 2 + u32::try_from(rng.below(4)).unwrap();
        let mut any = || u32::try_from(rng.below(2 * size as usize)).unwrap();
        let start = (0..size).map(|_| State { own: any(), left: any() }).collect();
        let config = Config { initial_states: start, ..Config::default() };
        let mut cluster =
            TestCluster::<KStateTokenRing>::with_same_config(size, ChannelOrder::Fifo, config);
        for _ in 0..400 * size {
            let (links, timers) = (cluster.links_in_use(), cluster.armed_timers());
            // Delivers messages more often than it fires timers, so that the number of messages in
            // flight stays bounded.
            let repeats = |timer: &Timer| *timer == Timer::Repeat;
            match rng.pick(&links).copied().filter(|_| !rng.one_in(4)) {
                Some(link) => cluster.deliver(link, &mut rng),
                None => {
                    let (at, timer) = *rng.pick(&timers).expect("repeats never end");
                    if !repeats(&timer) || links.len() < 2 * size as usize {
                        cluster.fire_timer(at, timer);
                    }
                }
            }
        }
        cluster.deliver_all(&mut rng);
        let privileged = cluster
            .process_ids()
            .into_iter()
            .filter(|at| cluster.process(*at).unwrap().is_privileged());
        assert_eq!(privileged.count(), 1, "seed {seed}");
    }
}

#[test]
fn several_may_be_inside_before_convergence() {
    let start = [State { own: 0, left: 1 }, State { own: 2, left: 0 }, State { own: 1, left: 2 }];
    let config = Config { initial_states: start.into(), ..Config::default() };
    let mut cluster =
        TestCluster::<KStateTokenRing>::with_same_config(3, ChannelOrder::Fifo, config);
    (2..=3).for_each(|at| cluster.issue_command(p(at), Command::Enter));
    assert_eq!(entered(&mut cluster), [2, 3]);
}

#[test]
fn converged_ring_tolerates_loss_and_duplication() {
    let card = |size| <KStateTokenRing as tenure_core::Algorithm>::card(&Config::default(), size);
    assert!(!card(3).promises.contains(&Property::Fencing));
    for size in 1..=5_u32 {
        for seed in 0..200 {
            let plan = Plan::of(ChannelOrder::Fifo, &vec![3; size as usize]);
            let plan = plan.duplicating(3).losing(3).seeded(seed);
            let outcome = run_as::<KStateTokenRing>(&card(size), Config::default(), &plan);
            let outcome = outcome.unwrap_or_else(|error| panic!("{plan:?}: {error}"));
            assert!(outcome.bypass <= 1, "{plan:?}");
        }
    }
}

#[test]
fn lost_state_is_repeated() {
    let mut cluster =
        TestCluster::<KStateTokenRing>::with_same_config(2, ChannelOrder::Fifo, Config::default());
    cluster.issue_command(p(2), Command::Enter);
    cluster.fire_timer(p(1), Timer::Pass);
    cluster.lose_oldest((p(1), p(2)));
    assert_eq!(entered(&mut cluster), NONE);
    cluster.fire_timer(p(1), Timer::Repeat);
    cluster.deliver_at((p(1), p(2)), 0);
    assert_eq!(entered(&mut cluster), [2]);
}
