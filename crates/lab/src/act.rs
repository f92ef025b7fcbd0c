//! Requests of the page to act upon the run of a session.

use serde::{Deserialize, Serialize};
use tenure_core::{PeerVerdict, ProcessId, TICKS_PER_TIME_UNIT};
use tenure_trace::{ScriptAction, ScriptCommand};

use crate::run_state::{MessageView, RunState};

/// Action that the page requests. Exactly one field other than `by` names the action. `lose`,
/// `duplicate`, `deliver` and `delay` contain the id of a message in flight. `by` contains the
/// delay in units, and only `delay` has it. `crash` and `recover` contain the number of a process,
/// from 1.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ActionRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    lose: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deliver: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crash: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recover: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fire: Option<Fire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<CommandRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspect: Option<SuspicionRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<SuspicionRequest>,
}

/// Timer to fire: the number of its process, from 1, and its name.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Fire {
    process: u32,
    timer: String,
}

/// Command of a user: the number of the process, from 1, and the command in the syntax of scripts
/// without the process.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CommandRequest {
    process: u32,
    command: String,
}

/// Verdict of the failure detector of `process` on `peer`, both as process numbers from 1.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SuspicionRequest {
    process: u32,
    peer: u32,
}

/// Maximum delay that the page may give to a message, in units of simulated time.
const MAX_DELAY: f64 = 1e6;

impl ActionRequest {
    /// Converts the request to an action on the messages and processes in `state`. Returns a
    /// description of the problem if the request is invalid. The action may still be impossible.
    pub(crate) fn to_action(&self, state: &RunState) -> Result<ScriptAction, String> {
        let mut meant = Vec::new();
        let pick = |id: u64| message(state, id).map(|message| message.pick.clone());
        if let Some(id) = self.lose {
            meant.push(ScriptAction::Lose(pick(id)?));
        }
        if let Some(id) = self.duplicate {
            meant.push(ScriptAction::Duplicate(pick(id)?));
        }
        if let Some(id) = self.deliver {
            meant.push(ScriptAction::Deliver(pick(id)?));
        }
        if let Some(id) = self.delay {
            meant.push(ScriptAction::Delay { pick: pick(id)?, by: ticks(self.by)? });
        }
        if let Some(at) = self.crash {
            meant.push(ScriptAction::Crash(process(at, state)?));
        }
        if let Some(at) = self.recover {
            meant.push(ScriptAction::Recover(process(at, state)?));
        }
        if let Some(Fire { process: at, timer }) = &self.fire {
            meant.push(ScriptAction::Fire { at: process(*at, state)?, timer: timer.clone() });
        }
        if let Some(CommandRequest { process: at, command }) = &self.ask {
            let mut words = command.split_whitespace().map(str::to_owned);
            let (at, verb) = (process(*at, state)?, words.next().unwrap_or_default());
            meant.push(ScriptAction::Command(ScriptCommand {
                verb,
                at,
                peer: None,
                words: words.collect(),
            }));
        }
        for (opinion, verdict) in
            [(&self.suspect, PeerVerdict::Suspect), (&self.trust, PeerVerdict::Trust)]
        {
            let Some(SuspicionRequest { process: at, peer }) = opinion else { continue };
            let (at, peer) = (process(*at, state)?, process(*peer, state)?);
            meant.push(ScriptAction::Suspicion { at, peer, verdict });
        }
        if self.by.is_some() && self.delay.is_none() {
            return Err("`by` requires `delay`".to_owned());
        }
        match <[ScriptAction; 1]>::try_from(meant) {
            Ok([action]) => Ok(action),
            Err(meant) if meant.is_empty() => Err("no action given".to_owned()),
            Err(_) => Err("expected exactly one action".to_owned()),
        }
    }
}

fn message(state: &RunState, id: u64) -> Result<&MessageView, String> {
    let found = state.messages.iter().find(|message| message.id == id);
    found.ok_or_else(|| format!("message {id} is not under way"))
}

fn process(number: u32, state: &RunState) -> Result<ProcessId, String> {
    let size = state.processes.len();
    let place = (number as usize).checked_sub(1).filter(|place| *place < size);
    place
        .map(ProcessId::from_index)
        .ok_or_else(|| format!("there is no P{number}; expected P1 to P{size}"))
}

fn ticks(units: Option<f64>) -> Result<u64, String> {
    let units = units.ok_or("`delay` requires `by`, in units")?;
    if !(0.0..=MAX_DELAY).contains(&units) {
        return Err(format!("a message can be delayed by 0 to {MAX_DELAY} units"));
    }
    Ok((units * TICKS_PER_TIME_UNIT as f64).round() as u64)
}
