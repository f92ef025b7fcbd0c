//! Scripts, performed.

use tenure_core::{Group, Labelled, Order, ProcessId, Protocol};

use crate::scripts::script::{Action, Asking, Pick, Script};
use crate::scripts::spoken::Spoken;
use crate::scripts::stage::ENDLESS;
use crate::scripts::stage::Stage;
use crate::scripts::theatre::{Impossible, Theatre, timer_named};

/// A script could not be performed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PerformError {
    /// An action was not possible.
    #[error("line {line}: {error}")]
    Action {
        /// The number of its line.
        line: usize,
        /// Why not.
        #[source]
        error: Impossible,
    },
    /// Something was to happen before there was a group.
    #[error("line {line}: there is no group yet; say `group 3` first")]
    NoGroup {
        /// The number of the line.
        line: usize,
    },
}

/// Performs `script` on stages of `P`, with `config` for each process, over FIFO links until it
/// says `channel reordered`. Returns the outcome of each block.
///
/// # Errors
///
/// [`PerformError`] at the first action that is not possible; what came before is not returned.
pub fn perform<P: Protocol<Command: Spoken>>(
    script: &Script,
    config: impl Fn(Group) -> P::Config,
) -> Result<Vec<String>, PerformError> {
    let mut stages = Vec::new();
    perform_on::<P>(&mut stages, script, config)
}

/// The same, keeping the stages: one for each group of the script.
pub(crate) fn perform_on<P: Protocol<Command: Spoken>>(
    stages: &mut Vec<Stage<P>>,
    script: &Script,
    config: impl Fn(Group) -> P::Config,
) -> Result<Vec<String>, PerformError> {
    let mut outcomes = Vec::with_capacity(script.blocks.len());
    for block in &script.blocks {
        let mut lines = Vec::new();
        for (line, action) in block.actions() {
            match (action, stages.last_mut()) {
                (Action::Group(size), _) => {
                    stages.push(Stage::telling(*size, Order::Fifo, &config));
                }
                (_, None) => return Err(PerformError::NoGroup { line }),
                (action, Some(stage)) => {
                    stage.perform(action).map_err(|error| PerformError::Action { line, error })?
                }
            }
            lines.extend(stages.last_mut().into_iter().flat_map(Stage::take_lines));
        }
        outcomes.push(lines.join("\n"));
    }
    Ok(outcomes)
}

impl<P: Protocol<Command: Spoken>> Theatre for Stage<P> {
    fn perform(&mut self, action: &Action) -> Result<(), Impossible> {
        self.batch.environment.drawn.clear();
        match action {
            Action::Group(_) => return Err(Impossible::GroupExists),
            Action::Choose { at, value } => return self.choose(*at, *value),
            Action::Channel(order) => self.order = *order,
            Action::Ask(asking) => self.ask(asking)?,
            Action::Deliver(pick) => {
                let place = self.next(pick)?;
                self.arrive(place);
            }
            Action::Tell { from, to } => self.tell(*from, *to)?,
            Action::Hear(pick) => self.hear(pick)?,
            Action::Lose(pick) => {
                let place = self.find(pick)?;
                self.remove(place);
            }
            Action::Duplicate(pick) => {
                let place = self.find(pick)?;
                self.copy(place);
            }
            // On a stage there is no time; a later message is one that is not delivered yet.
            Action::Delay { pick, .. } => drop(self.find(pick)?),
            Action::Fire { at, timer } => {
                let timer = self.armed(*at, timer)?;
                self.fire(*at, timer);
            }
            Action::Mute(_) | Action::Unsaved(_) | Action::Crash(_) | Action::Recover(_) => {
                self.fare(action)?;
            }
            Action::Split(sides) => {
                sides.iter().flatten().try_for_each(|at| self.exists(*at))?;
                self.note(|| action.to_string());
                self.sides.clone_from(sides);
            }
            Action::Heal => {
                self.note(|| action.to_string());
                self.sides.clear();
            }
            Action::Suspicion { at, peer, verdict } => {
                self.exists(*peer).and_then(|()| self.up(*at))?;
                self.suspicion(*at, *peer, *verdict);
            }
            Action::Stabilize { timers, most } => self.stabilize(*timers, *most)?,
            Action::Look(at) => {
                self.exists(*at)?;
                self.look(*at);
            }
        }
        match action {
            Action::Group(_) | Action::Channel(_) | Action::Stabilize { .. } | Action::Look(_) => {}
            // It is said of the next step, as what is drawn in that.
            Action::Unsaved(_) => self.done.push(action.clone()),
            action => self.did(action.clone()),
        }
        Ok(())
    }
}

impl<P: Protocol<Command: Spoken>> Stage<P> {
    /// A process crashes, or comes back, or will crash and has not saved or told what it does.
    fn fare(&mut self, action: &Action) -> Result<(), Impossible> {
        match action {
            Action::Recover(at) => self.down(*at).map(|()| self.recover(*at)),
            Action::Mute(at) => self.up(*at).map(|()| self.mute(*at)),
            Action::Unsaved(at) => self.up(*at).map(|()| self.not_save(*at)),
            Action::Crash(at) => self.up(*at).map(|()| self.crash(*at)),
            _ => Ok(()),
        }
    }

    fn choose(&mut self, at: ProcessId, value: u32) -> Result<(), Impossible> {
        self.exists(at)?;
        self.batch.environment.said.push_back(value);
        Ok(())
    }

    fn tell(&mut self, from: ProcessId, to: ProcessId) -> Result<(), Impossible> {
        self.up(from)?;
        self.exists(to)?;
        self.note(|| format!("{from}'s application tells {to}'s"));
        self.told.push((from, to));
        Ok(())
    }

    fn down(&self, at: ProcessId) -> Result<(), Impossible> {
        self.exists(at)?;
        if self.is_up(at) { Err(Impossible::Up { at }) } else { Ok(()) }
    }

    fn exists(&self, at: ProcessId) -> Result<(), Impossible> {
        let size = self.size() as usize;
        if at.index() < size { Ok(()) } else { Err(Impossible::NoProcess { at, size }) }
    }

    fn up(&self, at: ProcessId) -> Result<(), Impossible> {
        self.exists(at)?;
        if self.is_up(at) { Ok(()) } else { Err(Impossible::Down { at }) }
    }

    fn ask(&mut self, asking: &Asking) -> Result<(), Impossible> {
        self.up(asking.at)?;
        let understood = P::Command::understand(asking);
        let command = understood.ok_or_else(|| Impossible::NotUnderstood(asking.clone()))?;
        self.command(asking.at, command);
        Ok(())
    }

    /// Where the picked message is.
    fn find(&self, pick: &Pick) -> Result<usize, Impossible> {
        self.exists(pick.from)?;
        self.exists(pick.to)?;
        let kinds = self.under_way().map(|(from, to, message)| (from, to, message.label().kind));
        pick.among(kinds).ok_or_else(|| Impossible::NoMessage(pick.clone()))
    }

    /// The same, if the channel lets it arrive.
    fn next(&self, pick: &Pick) -> Result<usize, Impossible> {
        let place = self.find(pick)?;
        if self.is_cut((pick.from, pick.to)) {
            return Err(Impossible::Now(Action::Deliver(pick.clone())));
        }
        let oldest = self.find(&Pick::oldest(pick.from, pick.to))?;
        if self.order == Order::Fifo && place != oldest {
            return Err(Impossible::Overtakes(pick.clone()));
        }
        Ok(place)
    }

    fn hear(&mut self, pick: &Pick) -> Result<(), Impossible> {
        let told = pick.among(self.told.iter().map(|(from, to)| (*from, *to, "")));
        self.told.remove(told.ok_or_else(|| Impossible::NoMessage(pick.clone()))?);
        self.note(|| format!("{}'s application hears {}'s", pick.to, pick.from));
        Ok(())
    }

    fn armed(&self, at: ProcessId, name: &str) -> Result<P::Timer, Impossible> {
        self.up(at)?;
        let armed = self.timers_of(at);
        let found = timer_named(armed.iter().copied(), name).cloned();
        found.ok_or_else(|| Impossible::NoTimer {
            at,
            timer: name.to_owned(),
            armed: format!("{armed:?}"),
        })
    }

    fn stabilize(&mut self, timers: bool, most: Option<u32>) -> Result<(), Impossible> {
        for _ in 0..most.unwrap_or(ENDLESS) {
            if !self.go_on(timers) {
                return Ok(());
            }
        }
        let rests = self.next_parcel().is_none() && !(timers && self.next_timer().is_some());
        if most.is_some() || rests { Ok(()) } else { Err(Impossible::Endless) }
    }
}
