//! Liveness: who can wait for ever, if the environment is fair.
//!
//! Fairness is weak: a delivery, a timer, an exit, a word of the detector or the passing of time
//! that stays possible for ever happens in the end. A request, a fault or a recovery need not.
//!
//! For each thing that must not last (a process waits; an end that a monitor refuses) the worlds
//! in which it lasts are split into strongly connected components. A run can stay in one of them
//! for ever, fairly, when each fair step either is taken inside or is impossible somewhere
//! inside. Standing still is a run too, so a world without any step is such a component.

use std::collections::{BTreeMap, VecDeque};

use crate::liveness::components::{Component, Components};
use crate::liveness::graph::{BEYOND, Graph};
use crate::model::processes::NOT_FAIR;

/// What lasts for ever, and where.
#[derive(Debug)]
pub(crate) struct Lasting {
    /// The bit of the marks that lasts.
    pub(crate) mark: u32,
    /// The worlds from which there is no way out at all without another fault.
    pub(crate) doomed: Vec<u32>,
    /// Worlds in which a fair run can stay although there is a way out, by component, sorted.
    pub(crate) circles: Vec<Vec<u32>>,
}

impl Lasting {
    /// Every world in which it can begin to last.
    pub(crate) fn worlds(&self) -> impl Iterator<Item = u32> + '_ {
        self.doomed.iter().chain(self.circles.iter().flatten()).copied()
    }
}

/// Somebody who waits for ever.
pub(crate) enum Unserved {
    /// These, from a world on from which there is no way to serve them.
    Doomed { who: Vec<u32>, world: u32 },
    /// This one, on a circle through these worlds, though it could be served.
    Starving { who: u32, circle: Vec<u32> },
}

/// Who of so many processes waits for ever, where that begins first.
pub(crate) fn unserved(graph: &Graph, size: u32) -> Option<Unserved> {
    let waits: Vec<Lasting> = (0..size).map(|process| lasting(graph, process)).collect();
    let doomed = waits.iter().flat_map(|lasting| lasting.doomed.iter().copied());
    if let Some(world) = doomed.min() {
        let who = waits.iter().filter(|lasting| lasting.doomed.binary_search(&world).is_ok());
        return Some(Unserved::Doomed { who: who.map(|lasting| lasting.mark).collect(), world });
    }
    let circles = waits
        .iter()
        .flat_map(|lasting| lasting.circles.iter().map(move |circle| (lasting.mark, circle)));
    // Members are sorted, and numbered level by level: the first is the shallowest.
    let (who, circle) = circles.min_by_key(|(mark, circle)| (circle[0], *mark))?;
    Some(Unserved::Starving { who, circle: circle.clone() })
}

/// Where the thing marked by the bit `mark` can last for ever.
///
/// A message that a full link drops is only held up by a declared bound, so no fair run drops
/// for ever; but what has no other way out than by dropping is not doomed.
pub(crate) fn lasting(graph: &Graph, mark: u32) -> Lasting {
    let lasts = |world: u32| graph.marks(world) & 1 << mark != 0 && !graph.is_open(world);
    let mut lasting = Lasting { mark, doomed: Vec::new(), circles: Vec::new() };
    if graph.is_stopped() || always_ends(graph, lasts) {
        return lasting;
    }
    let mut escapes: Vec<bool> = Vec::new();
    Components::new(graph, true, lasts).each(|part| {
        let escapes_here = part.members.iter().any(|world| {
            graph.steps(*world).iter().any(|step| {
                if step.to == BEYOND || !lasts(step.to) {
                    return true;
                }
                let there = part.of[step.to as usize];
                there != part.number && escapes[there as usize]
            })
        });
        escapes.push(escapes_here);
        if !escapes_here {
            lasting.doomed.extend(part.members);
        }
    });
    lasting.doomed.sort_unstable();
    let doomed = &lasting.doomed;
    let open = |world: u32| lasts(world) && doomed.binary_search(&world).is_err();
    Components::new(graph, false, open).each(|part| {
        if is_fair(graph, &part) {
            let mut members = part.members.to_vec();
            members.sort_unstable();
            lasting.circles.push(members);
        }
    });
    lasting
}

/// Whether plainly every fair run leaves the part: it has no circle, and no world in which
/// nothing need happen. This is the common case, and cheaper to see than components.
fn always_ends(graph: &Graph, lasts: impl Fn(u32) -> bool) -> bool {
    const OUTSIDE: u32 = u32::MAX;
    let worlds = 0..graph.len() as u32;
    let mut ways_in: Vec<u32> =
        worlds.clone().map(|world| if lasts(world) { 0 } else { OUTSIDE }).collect();
    let mut left = 0;
    for world in worlds.clone().filter(|world| lasts(*world)) {
        left += 1;
        if graph.is_stopped() {
            return true; // and nobody asks
        }
        for step in graph.steps(world) {
            if step.drops() {
                return false; // not plain enough
            }
            if step.to != BEYOND && ways_in[step.to as usize] != OUTSIDE {
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
        for step in steps.iter().filter(|step| step.to != BEYOND) {
            let ways = &mut ways_in[step.to as usize];
            if *ways != OUTSIDE {
                *ways -= 1;
                if *ways == 0 {
                    queue.push_back(step.to);
                }
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
