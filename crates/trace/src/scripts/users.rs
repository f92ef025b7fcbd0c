//! A stage and its users, who ask of a lock and of a barrier only what they may.

use std::collections::BTreeMap;

use tenure_core::service::{agreement, mutex};
use tenure_core::{Facts, Observed, ProcessId};

use crate::scripts::script::Action;
use crate::scripts::spoken::{Recorded, Spoken};
use crate::scripts::stage::{Seen, Stage};
use crate::scripts::theatre::{Impossible, Theatre};

/// Where a user stands who is not outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Inside,
    Leaving,
}

/// A stage whose users ask only what a protocol can be asked, which it need not check itself.
pub(super) struct Staged<P: Recorded> {
    pub(super) stage: Stage<P>,
    phases: BTreeMap<ProcessId, Phase>,
}

impl<P: Recorded> Staged<P> {
    pub(super) fn new(stage: Stage<P>) -> Self {
        let mut staged = Staged { stage, phases: BTreeMap::new() };
        staged.look();
        staged
    }

    /// Goes on by itself; tells whether there was something to do.
    pub(super) fn go_on(&mut self) -> bool {
        let went_on = self.stage.go_on(true);
        self.look();
        went_on
    }

    /// The first who is inside.
    pub(super) fn inside(&self) -> Option<ProcessId> {
        let inside = self.phases.iter().find(|(_, phase)| **phase == Phase::Inside);
        inside.map(|(at, _)| *at)
    }

    fn may(&self, action: &Action) -> bool {
        let Action::Ask(asking) = action else { return true };
        let phase = self.phases.get(&asking.at);
        match asking.verb.as_str() {
            "enter" | "arrive" => phase.is_none(),
            "exit" => phase == Some(&Phase::Inside),
            _ => true,
        }
    }

    /// Where the users stand after what they asked and were told.
    fn look(&mut self) {
        for (at, seen) in self.stage.take_seen() {
            let phase = match (&seen, seen.observed()) {
                (Seen::Command(command), _) => match command.say(at).verb.as_str() {
                    "enter" | "arrive" => Some(Phase::Waiting),
                    "exit" => Some(Phase::Leaving),
                    _ => continue,
                },
                (_, Observed::Event(event)) => match (event.of_mutex(), event.of_agreement()) {
                    (Some(mutex::Event::Entered { .. }), _) => Some(Phase::Inside),
                    (Some(mutex::Event::Exited), _) => None,
                    (None, Some(agreement::Event::Barrier(_))) => None,
                    _ => continue,
                },
                _ => None, // who crashed or came back wants nothing
            };
            match phase {
                Some(phase) => drop(self.phases.insert(at, phase)),
                None => drop(self.phases.remove(&at)),
            }
        }
    }
}

impl<P: Recorded> Theatre for Staged<P> {
    fn perform(&mut self, action: &Action) -> Result<(), Impossible> {
        if !self.may(action) {
            return Err(Impossible::Now(action.clone()));
        }
        let done = self.stage.perform(action);
        self.look();
        done
    }
}
