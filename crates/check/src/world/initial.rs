//! Initial global states of a search. The boot of a process can have several outcomes. Each
//! combination of outcomes, one for each process, leads to one initial state.

use tenure_core::ProcessId;

use crate::error::CheckError;
use crate::model::StepOutcome;
use crate::model::intern::Interned;
use crate::world::LimitedFault;
use crate::world::network::EMPTY_QUEUE;
use crate::world::rules::SearchRules;

/// The initial global states, each with its fingerprint.
pub(crate) type InitialWorlds = Vec<(Vec<u32>, u64)>;

/// Returns one global state for each combination of boot outcomes. The processes in `down` are down
/// from the start. Returns an error if a boot violates a property or sends too many messages.
pub(crate) fn initial_worlds(
    rules: &SearchRules,
    down: &[ProcessId],
) -> Result<InitialWorlds, CheckError> {
    let (model, layout) = (&rules.model, rules.layout);
    let all_processes = (0..layout.size).map(ProcessId::from_index);
    let boots: Vec<Vec<StepOutcome>> = all_processes
        .map(|at| {
            if down.contains(&at) {
                let local = model.initially_down_state(at);
                return vec![StepOutcome { local, packets: Vec::new(), observation: 0, weight: 0 }];
            }
            model.boot_outcomes(at)
        })
        .collect();
    let monitors: Vec<Interned> =
        (0..layout.monitor_count).map(|index| model.initial_monitor_state(index)).collect();
    let mut indices = vec![0; boots.len()];
    let mut worlds = Vec::new();
    loop {
        let chosen: Vec<&StepOutcome> =
            boots.iter().zip(&indices).map(|(outcomes, index)| &outcomes[*index]).collect();
        worlds.push(assemble(&monitors, rules, &chosen, down)?);
        let Some(advanced) =
            (0..indices.len()).rev().find(|index| indices[*index] + 1 < boots[*index].len())
        else {
            return Ok(worlds);
        };
        indices[advanced] += 1;
        indices[advanced + 1..].fill(0);
    }
}

fn assemble(
    monitors: &[Interned],
    rules: &SearchRules,
    chosen: &[&StepOutcome],
    down: &[ProcessId],
) -> Result<(Vec<u32>, u64), CheckError> {
    let layout = rules.layout;
    let mut world = vec![0; layout.stride()];
    let mut prints = vec![0u64; layout.stride()];
    for (index, first) in monitors.iter().enumerate() {
        world[layout.monitor_slot(index)] = first.id;
        prints[layout.monitor_slot(index)] = first.fingerprint;
    }
    for (process, outcome) in chosen.iter().enumerate() {
        world[process] = outcome.local.id;
        prints[process] = outcome.local.fingerprint;
        for id in &outcome.packets {
            let packet = rules.network.packet_by_id(*id);
            let never_comes = rules.budget.count(LimitedFault::Recovery) == 0;
            if down.contains(&ProcessId(packet.to)) && never_comes {
                continue;
            }
            let slot = layout.link_slot(packet.from, packet.to, false);
            let pushed = rules.network.queue_with_appended(world[slot], *id).unwrap_or(EMPTY_QUEUE);
            if pushed == EMPTY_QUEUE {
                return Err(CheckError::BootMessages { process: ProcessId::from_index(process) });
            }
            (world[slot], prints[slot]) = (pushed.id, pushed.fingerprint);
        }
        if outcome.observation == 0 {
            continue;
        }
        for index in 0..layout.monitor_count {
            let slot = layout.monitor_slot(index);
            let judged = rules.model.judge(index, world[slot], outcome.observation);
            let judged = judged.map_err(|violation| CheckError::ViolatedByBoot { violation })?;
            (world[slot], prints[slot]) = (judged.id, judged.fingerprint);
        }
    }
    Ok((world, prints.into_iter().fold(0, u64::wrapping_add)))
}
