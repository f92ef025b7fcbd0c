//! Liveness: who can wait for ever, if the environment is fair.
//!
//! Fairness is weak: a delivery, a timer, an exit, a word of the detector or the passing of time
//! that stays possible for ever happens in the end. A request, a fault or a recovery need not.
//!
//! For each thing that must not last (a process waits; an end that a monitor refuses) the worlds
//! in which it lasts are split into strongly connected components. A run can stay in one of them
//! for ever, fairly, when each fair step either is taken inside or is impossible somewhere
//! inside. Standing still is a run too, so a world without any step is such a component.

use std::collections::BTreeMap;

use crate::components::{Components, NOWHERE, components};
use crate::graph::{BEYOND, Graph};
use crate::processes::NOT_FAIR;

/// What lasts for ever, and where.
#[derive(Debug)]
pub(crate) struct Lasting {
    /// The bit of the marks that lasts.
    pub(crate) mark: u32,
    /// The worlds from which there is no way out at all without another fault.
    pub(crate) doomed: Vec<u32>,
    /// Worlds in which a fair run can stay although there is a way out, by component.
    pub(crate) circles: Vec<Vec<u32>>,
}

impl Lasting {
    /// Every world in which it can begin to last.
    pub(crate) fn worlds(&self) -> impl Iterator<Item = u32> + '_ {
        self.doomed.iter().chain(self.circles.iter().flatten()).copied()
    }
}

/// Where the thing marked by the bit `mark` can last for ever.
pub(crate) fn lasting(graph: &Graph, mark: u32) -> Lasting {
    let belongs = |world: u32| graph.marks(world) & 1 << mark != 0 && !graph.is_open(world);
    let parts = components(graph, belongs);
    let escapes = escapes(graph, &parts);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); parts.count];
    let mut lasting = Lasting { mark, doomed: Vec::new(), circles: Vec::new() };
    for world in 0..graph.len() as u32 {
        match parts.of[world as usize] {
            NOWHERE => {}
            part if escapes[part as usize] => members[part as usize].push(world),
            _ => lasting.doomed.push(world),
        }
    }
    let fair = |part: &Vec<u32>| !part.is_empty() && is_fair(graph, &parts, part);
    lasting.circles = members.into_iter().filter(fair).collect();
    lasting
}

/// For each component, whether a way leads out of the part.
fn escapes(graph: &Graph, parts: &Components) -> Vec<bool> {
    // Components are numbered so that steps lead to smaller numbers: one pass in their order.
    let mut order: Vec<u32> =
        (0..graph.len() as u32).filter(|world| parts.of[*world as usize] != NOWHERE).collect();
    order.sort_by_key(|world| parts.of[*world as usize]);
    let mut escapes = vec![false; parts.count];
    for world in order {
        let here = parts.of[world as usize] as usize;
        let out = graph.steps(world).iter().any(|step| {
            if step.to == BEYOND {
                return true;
            }
            match parts.of[step.to as usize] {
                NOWHERE => true,
                there => there as usize != here && escapes[there as usize],
            }
        });
        escapes[here] |= out;
    }
    escapes
}

/// Whether a fair run can stay within a component.
fn is_fair(graph: &Graph, parts: &Components, members: &[u32]) -> bool {
    let needs = needs(graph, parts, members);
    needs.values().all(|need| need.taken_inside || need.possible_at < members.len())
}

/// What fairness asks about one label within a component.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Need {
    /// Whether a step of it stays inside.
    pub(crate) taken_inside: bool,
    /// At how many members it is possible.
    possible_at: usize,
    last: u32,
}

/// The fair labels of a component.
pub(crate) fn needs(graph: &Graph, parts: &Components, members: &[u32]) -> BTreeMap<u32, Need> {
    let mut needs: BTreeMap<u32, Need> = BTreeMap::new();
    for (turn, world) in (1..).zip(members) {
        for step in graph.steps(*world).iter().filter(|step| step.label != NOT_FAIR) {
            let need = needs.entry(step.label).or_default();
            if need.last != turn {
                need.last = turn;
                need.possible_at += 1;
            }
            let inside =
                step.to != BEYOND && parts.of[step.to as usize] == parts.of[*world as usize];
            need.taken_inside |= inside;
        }
    }
    needs
}
