//! The worlds that a search begins with: one for each way in which everybody can boot.

use tenure_core::ProcessId;

use crate::model::Outcome;
use crate::model::intern::Interned;
use crate::model::processes::Processes;
use crate::users::user::Checkable;
use crate::world::Fault;
use crate::world::parcel::EMPTY;
use crate::world::rules::Rules;

/// The first worlds and their fingerprints.
pub(crate) fn first_worlds<P: Checkable>(
    processes: &Processes<P>,
    rules: &Rules,
    down: &[ProcessId],
) -> Vec<(Vec<u32>, u64)> {
    let everybody = (0..processes.setting.size).map(ProcessId);
    let boots: Vec<Vec<Outcome>> = everybody
        .map(|at| {
            if down.contains(&at) {
                let local = processes.down(at);
                return vec![Outcome { local, parcels: Vec::new(), observation: 0 }];
            }
            processes.boots(at)
        })
        .collect();
    let judges: Vec<Interned> = processes.judges.iter().map(|judge| judge.first()).collect();
    every_combination(&boots, &judges, rules, down)
}

/// The same of what is known by number: nothing here is generic, so it is compiled once.
fn every_combination(
    boots: &[Vec<Outcome>],
    judges: &[Interned],
    rules: &Rules,
    down: &[ProcessId],
) -> Vec<(Vec<u32>, u64)> {
    let mut wheels = vec![0; boots.len()];
    let mut worlds = Vec::new();
    loop {
        let chosen: Vec<&Outcome> =
            boots.iter().zip(&wheels).map(|(outcomes, wheel)| &outcomes[*wheel]).collect();
        worlds.push(assemble(judges, rules, &chosen, down));
        let Some(turned) =
            (0..wheels.len()).rev().find(|place| wheels[*place] + 1 < boots[*place].len())
        else {
            return worlds;
        };
        wheels[turned] += 1;
        wheels[turned + 1..].fill(0);
    }
}

fn assemble(
    judges: &[Interned],
    rules: &Rules,
    chosen: &[&Outcome],
    down: &[ProcessId],
) -> (Vec<u32>, u64) {
    let layout = rules.layout;
    let mut world = vec![0; layout.stride()];
    let mut prints = vec![0u64; layout.stride()];
    for (place, first) in judges.iter().enumerate() {
        world[layout.monitor(place)] = first.id;
        prints[layout.monitor(place)] = first.fingerprint;
    }
    for (process, outcome) in chosen.iter().enumerate() {
        world[process] = outcome.local.id;
        prints[process] = outcome.local.fingerprint;
        for id in &outcome.parcels {
            let parcel = rules.freight.parcel_of(*id);
            let never_comes = rules.budget.of(Fault::Recovery) == 0;
            if down.contains(&ProcessId(parcel.to)) && never_comes {
                continue;
            }
            let slot = layout.link(parcel.from, parcel.to, false);
            let pushed = rules.freight.push(world[slot], *id).unwrap_or(EMPTY);
            assert_ne!(pushed, EMPTY, "what is sent at boot fits the links");
            (world[slot], prints[slot]) = (pushed.id, pushed.fingerprint);
        }
        if outcome.observation == 0 {
            continue;
        }
        for place in 0..layout.monitors {
            let slot = layout.monitor(place);
            let judged = rules.model.judge(place, world[slot], outcome.observation);
            let judged = judged.expect("booting violates no property");
            (world[slot], prints[slot]) = (judged.id, judged.fingerprint);
        }
    }
    (world, prints.into_iter().fold(0, u64::wrapping_add))
}
