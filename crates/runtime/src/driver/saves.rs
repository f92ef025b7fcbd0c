//! Saves of steps, and the release of their effects.

use tenure_trace::RecordableProtocol;

use crate::application::Application;
use crate::driver::Driver;
use crate::executor::EffectExecutor;
use crate::failure::NodeFailure;
use crate::store_worker::StoreCompletion;

impl<P, App> Driver<P, App>
where
    P: RecordableProtocol,
    App: Application<P>,
{
    /// Starts a save that covers all steps that wait for one. Starts none if a save is in progress.
    /// If these steps changed nothing that must be saved, releases their effects without a save.
    /// Together with a save, may start a rewrite of the whole state. The condition is that the
    /// saved changes have become too long, or that the process has deferred a change.
    pub(super) fn save(&mut self) -> Result<(), NodeFailure> {
        if let Some(saving) = self.node.begin_save() {
            self.executor.start_save(&saving, self.node.full_saved_state())?;
            self.saving = Some(saving);
            let is_rewrite_due =
                self.executor.store_worker.is_rewrite_due() || self.node.needs_rewrite();
            if let Some(whole) = is_rewrite_due.then(|| self.node.begin_rewrite()).flatten() {
                self.executor.start_rewrite(whole)?;
            }
        }
        self.release_effects()
    }

    /// Handles the end of a disk operation, after the leases that are overdue have ended. A user
    /// must not get an entry whose lease ended while the process was suspended.
    pub(super) fn end_claims_and_release(
        &mut self,
        done: StoreCompletion,
    ) -> Result<(), NodeFailure> {
        self.fire_preceding_timers()?;
        self.on_disk_done(done)
    }

    fn on_disk_done(&mut self, done: StoreCompletion) -> Result<(), NodeFailure> {
        match done {
            // The effects of the steps that this save covers may now be released.
            StoreCompletion::Saved(done) => {
                done?;
                self.node
                    .finish_save(self.saving.take().expect("a completed save was in progress"));
                self.release_effects()
            }
            StoreCompletion::Rewritten(done) => {
                done?;
                self.node.finish_rewrite();
                Ok(())
            }
        }
    }

    fn release_effects(&mut self) -> Result<(), NodeFailure> {
        while let Some(released) = self.node.release() {
            self.executor.release_next_step(released)?;
        }
        Ok(())
    }

    /// Repeats saves until no effect waits for a save. Meanwhile fires the timers that end leases
    /// or pace heartbeats.
    pub(super) async fn finish_saves(&mut self) -> Result<(), NodeFailure> {
        while self.node.has_pending_effects() {
            self.save()?;
            while self.saving.is_some() {
                let EffectExecutor { store_worker, timers, .. } = &mut self.executor;
                let deadline =
                    timers.next_deadline_if(|timer| P::timer_role(timer).precedes_messages());
                let timer = self.wake_timer.wait_until(deadline);
                let done = tokio::select! {
                    done = store_worker.next_completion() => Some(done),
                    () = timer => None,
                };
                match done {
                    Some(done) => self.end_claims_and_release(done)?,
                    None => self.fire_preceding_timers()?,
                }
            }
        }
        Ok(())
    }

    /// Repeats saves until no effect waits for a save. For scripts: no timer fires.
    pub(crate) async fn flush_saves(&mut self) -> Result<(), NodeFailure> {
        while self.node.has_pending_effects() {
            self.save()?;
            if self.saving.is_some() {
                let done = self.executor.store_worker.next_completion().await;
                self.on_disk_done(done)?;
            }
        }
        Ok(())
    }
}
