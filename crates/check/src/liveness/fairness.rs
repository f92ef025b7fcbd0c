//! Liveness: which conditions can last for ever, if the environment is fair.
//!
//! Fairness is weak: a delivery, a timer, an exit, a word of the detector or the passing of time
//! that stays possible for ever happens in the end. A request, a fault or a recovery need not.
//!
//! For each [`Condition`] that must not last, the worlds in which it lasts are split into strongly
//! connected components. A run can stay in one of them for ever, fairly, when each fair step
//! either is taken inside or is impossible somewhere inside. Standing still is a run too, so a
//! world without any step is such a component.

use std::collections::{BTreeMap, VecDeque};

use crate::liveness::components::{Component, Components};
use crate::liveness::graph::{Arc, BEYOND, Graph};
use crate::model::processes::NOT_FAIR;

/// A condition that a fair run must not keep up for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// Bits of the marks of worlds: the condition is met where any of them is set.
    pub(crate) marks: u32,
    /// True if a step that clears one of these bits interrupts it, though others stay set.
    pub(crate) ends_with_any: bool,
}

impl Condition {
    /// One of these bits stays set.
    pub(crate) const fn of(marks: u32) -> Self {
        Condition { marks, ends_with_any: false }
    }

    /// Bits stay set, and none of them is cleared.
    pub(crate) const fn uninterrupted(marks: u32) -> Self {
        Condition { marks, ends_with_any: true }
    }

    fn is_met(self, graph: &Graph, world: u32) -> bool {
        graph.marks(world) & self.marks != 0 && !graph.is_open(world)
    }

    /// True if the condition is met after a step from a world where it is, without interruption.
    fn continues(self, graph: &Graph, from: u32, step: Arc) -> bool {
        let cleared = |to: u32| graph.marks(from) & self.marks & !graph.marks(to) != 0;
        step.to != BEYOND
            && self.is_met(graph, step.to)
            && !(self.ends_with_any && cleared(step.to))
    }
}

/// Where a condition can last for ever.
#[derive(Debug, Default)]
pub(crate) struct Lasting {
    /// The worlds from which there is no way out at all without another fault, as bits.
    doomed: Vec<u64>,
    /// The first of them.
    pub(crate) first_doomed: Option<u32>,
    /// Worlds in which a fair run can stay although there is a way out: of all such components
    /// the one that begins first, sorted.
    pub(crate) circle: Option<Vec<u32>>,
}

impl Lasting {
    /// The first world in which the condition can begin to last.
    pub(crate) fn first(&self) -> Option<u32> {
        let circle = self.circle.iter().map(|circle| circle[0]);
        self.first_doomed.into_iter().chain(circle).min()
    }

    fn is_doomed(&self, world: u32) -> bool {
        let word = self.doomed.get(world as usize / 64);
        word.is_some_and(|word| word >> (world % 64) & 1 != 0)
    }

    fn doom(&mut self, members: &[u32], worlds: usize) {
        self.doomed.resize(worlds.div_ceil(64), 0);
        for world in members {
            self.doomed[*world as usize / 64] |= 1 << (world % 64);
        }
        let first = members.iter().copied().chain(self.first_doomed).min();
        self.first_doomed = first;
    }
}

/// Processes that wait for ever.
#[derive(Debug)]
pub(crate) enum Unserved {
    /// These, from a world on from which there is no way to serve them.
    Doomed { who: Vec<u32>, world: u32 },
    /// This one, on a circle through these worlds, though it could be served.
    Starving { who: u32, circle: Vec<u32> },
}

/// The processes that wait for ever, where that begins first. Each process has a condition.
pub(crate) fn unserved(graph: &Graph, waits: &[Condition]) -> Option<Unserved> {
    let waits: Vec<Lasting> = waits.iter().map(|wait| lasting(graph, *wait)).collect();
    if let Some(world) = waits.iter().filter_map(|wait| wait.first_doomed).min() {
        let who = (0..).zip(&waits).filter(|(_, wait)| wait.is_doomed(world));
        return Some(Unserved::Doomed { who: who.map(|(process, _)| process).collect(), world });
    }
    let circles = (0..).zip(waits).filter_map(|(who, wait)| Some((who, wait.circle?)));
    // Members are sorted, and numbered level by level: the first is the shallowest.
    let (who, circle) = circles.min_by_key(|(who, circle)| (circle[0], *who))?;
    Some(Unserved::Starving { who, circle })
}

/// Where a condition can last for ever.
///
/// A message that a full link drops is only held up by a declared bound, so no fair run drops
/// for ever; but what has no other way out than by dropping is not doomed.
pub(crate) fn lasting(graph: &Graph, condition: Condition) -> Lasting {
    let mut lasting = Lasting::default();
    if graph.is_stopped() || always_ends(graph, condition) {
        return lasting;
    }
    let is_met = |world: u32| condition.is_met(graph, world);
    let continues = |from: u32, step: Arc| condition.continues(graph, from, step);
    let mut escapes: Vec<bool> = Vec::new();
    Components::new(graph, is_met, continues).each(|part| {
        let escapes_here = part.members.iter().any(|world| {
            graph.steps(*world).iter().any(|step| {
                if !condition.continues(graph, *world, *step) {
                    return true;
                }
                let there = part.of[step.to as usize];
                there != part.number && escapes[there as usize]
            })
        });
        escapes.push(escapes_here);
        if !escapes_here {
            lasting.doom(part.members, graph.len());
        }
    });
    let mut circle: Option<Vec<u32>> = None;
    let is_open = |world: u32| is_met(world) && !lasting.is_doomed(world);
    let stays = |from: u32, step: Arc| {
        !step.drops() && condition.continues(graph, from, step) && !lasting.is_doomed(step.to)
    };
    Components::new(graph, is_open, stays).each(|part| {
        let first = part.members.iter().min();
        let is_earlier = circle.as_ref().is_none_or(|circle| first < circle.first());
        if is_earlier && is_fair(graph, &part) {
            let mut members = part.members.to_vec();
            members.sort_unstable();
            circle = Some(members);
        }
    });
    Lasting { circle, ..lasting }
}

/// Whether plainly every fair run leaves the part: it has no circle, and no world in which
/// nothing need happen. This is the common case, and cheaper to see than components.
fn always_ends(graph: &Graph, condition: Condition) -> bool {
    const OUTSIDE: u32 = u32::MAX;
    let worlds = 0..graph.len() as u32;
    let is_met = |world: u32| condition.is_met(graph, world);
    let mut ways_in: Vec<u32> =
        worlds.clone().map(|world| if is_met(world) { 0 } else { OUTSIDE }).collect();
    let mut left = 0;
    for world in worlds.clone().filter(|world| is_met(*world)) {
        left += 1;
        if graph.is_stopped() {
            return true; // and nobody asks
        }
        for step in graph.steps(world) {
            if step.drops() {
                return false; // not plain enough
            }
            if condition.continues(graph, world, *step) {
                ways_in[step.to as usize] += 1;
            }
        }
    }
    let mut queue: VecDeque<u32> = worlds.filter(|world| ways_in[*world as usize] == 0).collect();
    while let Some(world) = queue.pop_front() {
        left -= 1;
        if graph.is_stopped() {
            return true;
        }
        let steps = graph.steps(world);
        if steps.iter().all(|step| step.label == NOT_FAIR) {
            return false;
        }
        for step in steps.iter().filter(|step| condition.continues(graph, world, **step)) {
            let ways = &mut ways_in[step.to as usize];
            *ways -= 1;
            if *ways == 0 {
                queue.push_back(step.to);
            }
        }
    }
    left == 0
}

/// Whether a fair run can stay within a component.
fn is_fair(graph: &Graph, part: &Component<'_>) -> bool {
    if let [world] = part.members {
        let steps = graph.steps(*world);
        let taken = |label| steps.iter().any(|step| step.label == label && step.to == *world);
        return steps.iter().all(|step| step.name() == NOT_FAIR || taken(step.name()));
    }
    let needs = needs(graph, part);
    needs.values().all(|need| need.taken_inside || need.possible_at < part.members.len())
}

/// What fairness asks about one label within a component.
#[derive(Clone, Copy, Debug, Default)]
struct Need {
    /// Whether a step of it stays inside.
    taken_inside: bool,
    /// At how many members it is possible.
    possible_at: usize,
    /// The last member at which it was seen.
    last: usize,
}

/// The fair labels of a component.
fn needs(graph: &Graph, part: &Component<'_>) -> BTreeMap<u32, Need> {
    let mut needs: BTreeMap<u32, Need> = BTreeMap::new();
    for (turn, world) in (1..).zip(part.members).take_while(|_| !graph.is_stopped()) {
        for step in graph.steps(*world).iter().filter(|step| step.name() != NOT_FAIR) {
            let need = needs.entry(step.name()).or_default();
            if need.last != turn {
                need.last = turn;
                need.possible_at += 1;
            }
            need.taken_inside |= part.contains(step.to) && !step.drops();
        }
    }
    needs
}
