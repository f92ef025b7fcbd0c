//! What somebody wants to do, as the page says it.

use serde::Deserialize;
use tenure_core::{ProcessId, TICKS_PER_UNIT, Verdict};
use tenure_trace::{Action, Asking};

use crate::look::{Look, Message};

/// What somebody wants to do: one key says what, the others with what.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Act {
    lose: Option<u64>,
    duplicate: Option<u64>,
    deliver: Option<u64>,
    delay: Option<u64>,
    by: Option<f64>,
    crash: Option<u32>,
    recover: Option<u32>,
    fire: Option<Fire>,
    ask: Option<Ask>,
    suspect: Option<Opinion>,
    trust: Option<Opinion>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fire {
    process: u32,
    timer: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    process: u32,
    command: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Opinion {
    process: u32,
    peer: u32,
}

/// A message cannot be put off for longer, in units.
const LONGEST: f64 = 1e6;

impl Act {
    /// The action that it means at a moment.
    pub(crate) fn action(&self, look: &Look) -> Result<Action, String> {
        let mut meant = Vec::new();
        let pick = |id: u64| message(look, id).map(|message| message.pick.clone());
        if let Some(id) = self.lose {
            meant.push(Action::Lose(pick(id)?));
        }
        if let Some(id) = self.duplicate {
            meant.push(Action::Duplicate(pick(id)?));
        }
        if let Some(id) = self.deliver {
            meant.push(Action::Deliver(pick(id)?));
        }
        if let Some(id) = self.delay {
            meant.push(Action::Delay { pick: pick(id)?, by: ticks(self.by)? });
        }
        if let Some(at) = self.crash {
            meant.push(Action::Crash(process(at, look)?));
        }
        if let Some(at) = self.recover {
            meant.push(Action::Recover(process(at, look)?));
        }
        if let Some(Fire { process: at, timer }) = &self.fire {
            meant.push(Action::Fire { at: process(*at, look)?, timer: timer.clone() });
        }
        if let Some(Ask { process: at, command }) = &self.ask {
            let mut words = command.split_whitespace().map(str::to_owned);
            let (at, verb) = (process(*at, look)?, words.next().unwrap_or_default());
            meant.push(Action::Ask(Asking { verb, at, peer: None, words: words.collect() }));
        }
        for (opinion, verdict) in [(&self.suspect, Verdict::Suspect), (&self.trust, Verdict::Trust)]
        {
            let Some(Opinion { process: at, peer }) = opinion else { continue };
            let (at, peer) = (process(*at, look)?, process(*peer, look)?);
            meant.push(Action::Suspicion { at, peer, verdict });
        }
        if self.by.is_some() && self.delay.is_none() {
            return Err("only a message that is delayed takes `by`".to_owned());
        }
        match <[Action; 1]>::try_from(meant) {
            Ok([action]) => Ok(action),
            Err(meant) if meant.is_empty() => Err("nothing is to be done".to_owned()),
            Err(_) => Err("one thing can be done at a time".to_owned()),
        }
    }
}

fn message(look: &Look, id: u64) -> Result<&Message, String> {
    let found = look.messages.iter().find(|message| message.id == id);
    found.ok_or_else(|| format!("message {id} is not under way"))
}

fn process(number: u32, look: &Look) -> Result<ProcessId, String> {
    let size = look.processes.len();
    let place = (number as usize).checked_sub(1).filter(|place| *place < size);
    place.map(ProcessId::at).ok_or_else(|| format!("there is no P{number}, but P1 to P{size}"))
}

fn ticks(units: Option<f64>) -> Result<u64, String> {
    let units = units.ok_or("a message is delayed `by` some units")?;
    if !(0.0..=LONGEST).contains(&units) {
        return Err(format!("a message can be delayed by 0 to {LONGEST} units"));
    }
    Ok((units * TICKS_PER_UNIT as f64).round() as u64)
}
