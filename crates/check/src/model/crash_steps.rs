//! Steps in which a process crashes, recovers, or becomes mute. A mute process releases no further
//! effects before it crashes.

use tenure_core::Group;
use tenure_trace::MuteState;

use crate::model::handler_run::HandlerRun;
use crate::model::monitors::OwnedObservation;
use crate::model::protocol_model::ProtocolModel;
use crate::users::user::{Checkable, User};
use crate::world::local::{Lifecycle, LocalState};

impl<P: Checkable> ProtocolModel<P> {
    /// Returns the outcomes of a crash. If the process has not saved its last step, there are two
    /// outcomes: first, the crash undoes this step, and second, the step was saved.
    pub(super) fn crash_runs(&self, local: &LocalState<P>) -> Vec<HandlerRun<P>> {
        let saved = match &local.lifecycle {
            Lifecycle::Up(process)
            | Lifecycle::Mute { process, .. }
            | Lifecycle::Postponed { process, .. } => vec![process.stable()],
            Lifecycle::SaveBehind { process, saved } => vec![saved.clone(), process.stable()],
            Lifecycle::Down(_) => panic!("{} is down already", local.at),
        };
        let crashed = |stable| {
            let mut crashed = local.clone();
            crashed.lifecycle = Lifecycle::Down(stable);
            crashed.timers.clear();
            crashed.unfinished_steps.clear();
            crashed.user.on_crash();
            crashed.suspected = 0;
            let seen = vec![OwnedObservation::Crashed];
            HandlerRun { seen, ..HandlerRun::without_effects(crashed) }
        };
        saved.into_iter().map(crashed).collect()
    }

    /// Returns the run in which the process becomes mute.
    pub(super) fn mute_run(&self, local: &LocalState<P>) -> HandlerRun<P> {
        let process = local.lifecycle.process().cloned();
        let process = process.unwrap_or_else(|| panic!("{} is down", local.at));
        let mut mute = local.clone();
        mute.lifecycle = Lifecycle::Mute { process, since: MuteState::NoInputYet };
        mute.unfinished_steps.clear();
        HandlerRun::without_effects(mute)
    }

    /// Returns the runs in which a process boots with its saved state, one for each combination of
    /// choices.
    pub(super) fn recovery_runs(&self, local: &LocalState<P>) -> Vec<HandlerRun<P>> {
        let Lifecycle::Down(stable) = &local.lifecycle else {
            panic!("{} is up already", local.at)
        };
        let mut back = local.clone();
        back.user.on_recovery();
        self.run_for_each_choice(|batch| {
            let group = Group::new(local.at, self.config.size);
            let process = P::boot(group, &self.protocol, Some(stable.clone()), &mut batch.sink());
            let mut back = back.clone();
            back.lifecycle = Lifecycle::Up(process);
            self.apply_effects(back, vec![OwnedObservation::Recovered], batch)
        })
    }
}
