//! Computation of the steps that are possible in a global state.

use std::sync::Arc;

use tenure_core::ChannelOrder;

use crate::custom::view::CustomPropertyCache;
use crate::explore::step_setup::ChangesBeforeInput;
use crate::explore::successor::{
    DROPPED_BIT, ExceededBound, FAULT_LABEL, ScratchWorld, StepResult, Successor, SuccessorVisitor,
    WorldRef,
};
use crate::model::cache::{CachedOutcome, StepCache};
use crate::model::intern::NO_ID;
use crate::reduce::canonical::{canonical_fingerprint, shift_timestamps_to_zero};
use crate::reduce::deliveries::DeliveryRecord;
use crate::world::action::{Action, ActionKind, ProcessInput};
use crate::world::rules::SearchRules;
use crate::world::{FaultCounts, LimitedFault, VIOLATED_MONITOR};

/// Computes the successors of global states on one thread, with a cache for this thread.
pub(crate) struct SuccessorWorker {
    pub(crate) rules: Arc<SearchRules>,
    pub(crate) cache: StepCache,
    pub(super) scratch: Vec<u32>,
    /// Slots of the current global state that changed since the last undo, with their previous
    /// values.
    pub(crate) undo_log: Vec<(u32, u32)>,
    /// Fairness labels of suspicions and trust by the failure detector. The label for process *p*
    /// and peer *q* of *n* processes has the index *p* × *n* + *q*.
    suspicion_labels: Vec<u32>,
    /// Fairness labels of the suspicions and trust that a new session of a peer causes. Indexed
    /// like `suspicion_labels`.
    pub(super) restart_labels: Vec<u32>,
    /// For each process, by index: the fairness label of its crash if the process is *mute*. A mute
    /// process releases no further effects before it crashes. Empty if the search has no mute
    /// processes.
    pub(super) mute_crash_labels: Vec<u32>,
    /// True if a full link has prevented the duplication of a message since this flag was last
    /// reset.
    pub(crate) has_blocked_duplicate: bool,
    pub(crate) custom_property_cache: CustomPropertyCache,
    /// Deliveries that this thread chose to explore alone, and all inputs that processes received.
    /// Used only by the reduction by commuting deliveries.
    pub(crate) deliveries: DeliveryRecord,
}

impl SuccessorWorker {
    pub(crate) fn new(rules: Arc<SearchRules>) -> Self {
        let cache = StepCache::new(Arc::clone(&rules));
        let scratch = vec![0; rules.layout.stride()];
        let pairs = (rules.layout.size * rules.layout.size) as u64;
        let labels =
            |kind: u64| (0..pairs).map(|pair| rules.network.intern_label(kind, pair)).collect();
        let (suspicion_labels, restart_labels) = (labels(3 << 40), labels(4 << 40));
        let mute_crash_labels = if rules.has_mute_crashes { labels(5 << 40) } else { Vec::new() };
        SuccessorWorker {
            rules,
            cache,
            scratch,
            undo_log: Vec::new(),
            suspicion_labels,
            restart_labels,
            mute_crash_labels,
            has_blocked_duplicate: false,
            custom_property_cache: CustomPropertyCache::default(),
            deliveries: DeliveryRecord::default(),
        }
    }

    /// Visits the successors of a global state in a fixed order, except those of
    /// [`SuccessorWorker::visit_time_steps`]. Visits only some of them if a step is prescribed, if
    /// a process must step next in the round, or if a reduction selects one delivery.
    pub(crate) fn visit_successors(
        &mut self,
        from: WorldRef<'_>,
        visit: &mut impl SuccessorVisitor,
    ) {
        let mut world = std::mem::take(&mut self.scratch);
        world.copy_from_slice(from.world);
        self.undo_log.clear();
        if self.visit_forced_step(&mut world, from.fingerprint, visit) {
            return self.scratch = world;
        }
        let ample = if self.rules.uses_ample_sets {
            self.find_ample_delivery(&mut world, from.fingerprint)
        } else {
            None
        };
        if let Some(slot) = ample {
            let mut scratch = ScratchWorld { world: &mut world, fingerprint: from.fingerprint };
            self.visit_delivery_steps(&mut scratch, slot, visit);
            self.scratch = world;
            return;
        }
        let mut scratch = ScratchWorld { world: &mut world, fingerprint: from.fingerprint };
        if self.rules.has_rounds && self.visit_round_steps(&mut scratch, visit) {
            return self.scratch = world;
        }
        if self.rules.excluded_deliveries.is_some()
            && self.visit_commuting_delivery(&mut scratch, visit)
        {
            return self.scratch = world;
        }
        for process in 0..self.rules.layout.size {
            if self.rules.has_pending_trust(scratch.world, process) {
                continue;
            }
            for (item, entry) in self.cache.enabled_inputs(scratch.world[process]).enumerate() {
                let (cause, label) = self.cache.enabled_input(entry);
                let at = Action::new(ActionKind::Internal, process, item, 0);
                self.visit_outcomes(
                    &mut scratch,
                    at,
                    ChangesBeforeInput::default(),
                    (label, cause),
                    visit,
                );
            }
        }
        for slot in self.rules.layout.link_slots() {
            if scratch.world[slot] != 0 && !self.rules.is_link_blocked(scratch.world, slot) {
                self.visit_delivery_steps(&mut scratch, slot, visit);
            }
        }
        if self.rules.has_detectors || self.rules.budget.count(LimitedFault::FalseSuspicion) > 0 {
            self.visit_suspicion_steps(&mut scratch, visit);
        }
        if self.rules.layout.detects_restarts {
            self.visit_restart_detection_steps(&mut scratch, visit);
        }
        if self.rules.budget != FaultCounts::default() {
            self.visit_limited_steps(&mut scratch, visit);
        }
        self.scratch = world;
    }

    /// Visits the states to which the deliveries of the messages on one link lead. `slot` is the
    /// slot of the link.
    pub(super) fn visit_delivery_steps(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        slot: usize,
        visit: &mut impl SuccessorVisitor,
    ) {
        let row = self.cache.cached_queue(scratch.world[slot]);
        for (item, entry) in self.cache.item_indices(row).enumerate() {
            let entry = self.cache.item_at(entry);
            if entry.is_ready {
                let cause = ProcessInput::Deliver(entry.packet);
                let at = Action::new(ActionKind::Deliver, slot, item, 0);
                let setup = ChangesBeforeInput::replacing_queue(slot, entry.rest);
                self.visit_outcomes(scratch, at, setup, (entry.label, cause), visit);
            } else if self.rules.order == ChannelOrder::Fifo {
                break;
            }
        }
    }

    fn visit_suspicion_steps(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        visit: &mut impl SuccessorVisitor,
    ) {
        let fault = LimitedFault::FalseSuspicion;
        let may_be_false = self.rules.remaining_faults(scratch.world, fault) > 0;
        let size = self.rules.layout.size;
        for (process, peer) in (0..size).flat_map(|p| (0..size).map(move |peer| (p, peer))) {
            let mine = self.cache.local_facts(scratch.world[process]);
            if mine.down || process == peer || self.rules.has_pending_trust(scratch.world, process)
            {
                continue;
            }
            let gone = self.is_unreachable(scratch.world, process, peer);
            let suspected = mine.suspected & 1 << peer != 0;
            let fair = self.suspicion_labels[process * size + peer];
            if suspected && !gone {
                let at = Action::new(ActionKind::Trust, process, peer, 0);
                self.visit_input(scratch, at, fair, visit);
            } else if !suspected && (gone && self.rules.has_detectors || !gone && may_be_false) {
                let at = Action::new(ActionKind::Suspect, process, peer, 0);
                self.visit_input(scratch, at, if gone { fair } else { FAULT_LABEL }, visit);
            }
        }
    }

    /// Returns true if the peer is down or beyond a partition. A suspicion of this peer is then
    /// correct.
    fn is_unreachable(&mut self, world: &[u32], process: usize, peer: usize) -> bool {
        self.cache.local_facts(world[peer]).down
            || self.rules.is_cut_by_partition(world, process, peer)
    }

    /// Visits all outcomes of a step that gives an input to a process. The caller ensures that the
    /// step is possible.
    pub(crate) fn visit_input(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        at: Action,
        label: u32,
        visit: &mut impl SuccessorVisitor,
    ) {
        let cause = self.process_input(scratch.world, at).expect("a process receives an input");
        let setup = self.setup(scratch.world, at).expect("the step is possible");
        self.visit_outcomes(scratch, at, setup, (label, cause), visit);
    }

    /// Visits all outcomes of an input. `at` is the action for the first outcome. The actions for
    /// further outcomes differ only in the index of the outcome.
    #[inline]
    pub(super) fn visit_outcomes(
        &mut self,
        scratch: &mut ScratchWorld<'_>,
        at: Action,
        setup: ChangesBeforeInput,
        (label, cause): (u32, ProcessInput),
        visit: &mut impl SuccessorVisitor,
    ) {
        let process = self.process_of(at);
        if self.rules.excluded_deliveries.is_some() {
            self.deliveries.taken_inputs.insert((process, scratch.world[process], cause));
        }
        let mut row = self.cache.first_outcome(scratch.world[process], cause);
        for choice in 0.. {
            let fingerprint = self.apply_setup(scratch.world, scratch.fingerprint, setup);
            let result = self.apply_outcome(scratch.world, fingerprint, at, process, row);
            let dropped =
                if result.has_dropped_message && label != FAULT_LABEL { DROPPED_BIT } else { 0 };
            let action = at.with_outcome(choice);
            visit(Successor { action, label: label | dropped, world: scratch.world, result });
            self.undo_changes(scratch.world);
            match self.cache.next_outcome(row) {
                Some(next) => row = next,
                None => return,
            }
        }
    }

    /// Sets a slot of a global state, and records the old value for
    /// [`SuccessorWorker::undo_changes`].
    #[inline]
    pub(crate) fn set_slot(&mut self, world: &mut [u32], slot: usize, id: u32) {
        self.undo_log.push((slot as u32, world[slot]));
        world[slot] = id;
    }

    /// Undoes all changes since the last call of `undo_changes` or `forget_changes`.
    #[inline]
    pub(crate) fn undo_changes(&mut self, world: &mut [u32]) {
        while let Some((slot, id)) = self.undo_log.pop() {
            world[slot as usize] = id;
        }
    }

    /// Forgets the recorded old values. [`SuccessorWorker::undo_changes`] can then no longer undo
    /// the changes so far.
    pub(crate) fn forget_changes(&mut self) {
        self.undo_log.clear();
    }

    pub(crate) fn process_of(&self, action: Action) -> usize {
        if action.kind() == ActionKind::Deliver {
            self.rules.layout.receiver(action.slot())
        } else {
            action.slot()
        }
    }

    /// Performs an action. Returns `None` if the action is not possible. In contrast to
    /// [`SuccessorWorker::perform`], the action cannot be reverted by
    /// [`SuccessorWorker::undo_changes`].
    pub(crate) fn perform_without_undo(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
    ) -> Option<StepResult> {
        let result = self.perform(world, fingerprint, action);
        self.undo_log.clear();
        result
    }

    /// Performs an action. Returns `None` if the action is not possible.
    /// [`SuccessorWorker::undo_changes`] can revert every action except the passing of time.
    pub(crate) fn perform(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
    ) -> Option<StepResult> {
        if action.kind() == ActionKind::Tick {
            return self.tick(world, fingerprint);
        }
        let mut result = self.perform_freely(world, fingerprint, action)?;
        self.proceed_in_forced_steps(world, &mut result);
        Some(result)
    }

    fn perform_freely(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
    ) -> Option<StepResult> {
        let cause = self.process_input(world, action);
        let setup = self.setup(world, action)?;
        let fingerprint = self.apply_setup(world, fingerprint, setup);
        let Some(cause) = cause else {
            let mut result = StepResult::new(fingerprint);
            if action.kind() == ActionKind::Partition {
                self.clear_cut_links(world, &mut result);
            }
            self.judge_custom_after_step(world, None, &mut result);
            self.canonicalize(world, &mut result);
            return Some(result);
        };
        let process = self.process_of(action);
        let row = self.cache.outcome_at(world[process], cause, action.outcome());
        Some(self.apply_outcome(world, fingerprint, action, process, row))
    }

    /// Returns the input that an action gives to a process. `None` if no process receives an input.
    pub(crate) fn process_input(&mut self, world: &[u32], action: Action) -> Option<ProcessInput> {
        Some(match action.kind() {
            ActionKind::Internal => {
                self.cache.enabled_input_at(world[action.slot()], action.item())
            }
            ActionKind::Deliver => {
                let row = self.cache.cached_queue(world[action.slot()]);
                ProcessInput::Deliver(self.cache.item_of(row, action.item()).packet)
            }
            ActionKind::Suspect => ProcessInput::Suspect(action.item() as u32),
            ActionKind::Trust => ProcessInput::Trust(action.item() as u32),
            ActionKind::Crash => ProcessInput::Crash,
            ActionKind::Recover => ProcessInput::Recover,
            ActionKind::Send => ProcessInput::Send(action.item() as u32),
            ActionKind::RestartSuspect => ProcessInput::RestartSuspect(action.item() as u32),
            ActionKind::RestartTrust => ProcessInput::RestartTrust(action.item() as u32),
            ActionKind::Mute => ProcessInput::Mute,
            ActionKind::StepEnd => ProcessInput::StepEnd,
            ActionKind::Lose | ActionKind::Duplicate | ActionKind::Tick | ActionKind::Partition => {
                return None;
            }
        })
    }

    /// Returns the changes that an action makes before a process receives its input. Returns `None`
    /// if the action is not possible: it would duplicate a message on a full link.
    fn setup(&mut self, world: &[u32], action: Action) -> Option<ChangesBeforeInput> {
        let slot = action.slot();
        let item = |cache: &mut StepCache| {
            let row = cache.cached_queue(world[slot]);
            cache.item_of(row, action.item())
        };
        Some(match action.kind() {
            ActionKind::Internal
            | ActionKind::Trust
            | ActionKind::Tick
            | ActionKind::StepEnd
            | ActionKind::RestartSuspect
            | ActionKind::RestartTrust => ChangesBeforeInput::default(),
            ActionKind::Deliver => {
                ChangesBeforeInput::replacing_queue(slot, item(&mut self.cache).rest)
            }
            ActionKind::Lose => {
                let setup = ChangesBeforeInput::replacing_queue(slot, item(&mut self.cache).rest);
                let is_free = self.has_sender_crashed(world, slot);
                ChangesBeforeInput { fault: (!is_free).then_some(LimitedFault::Loss), ..setup }
            }
            ActionKind::Duplicate => {
                let packet = item(&mut self.cache).packet;
                let duplicated = self.cache.replacement_after_duplication(world[slot], packet);
                if duplicated.id == NO_ID {
                    return None;
                }
                let setup = ChangesBeforeInput::replacing_queue(slot, duplicated);
                ChangesBeforeInput { fault: Some(LimitedFault::Duplication), ..setup }
            }
            // A correct suspicion does not count as a fault.
            ActionKind::Suspect if self.is_unreachable(world, slot, action.item()) => {
                ChangesBeforeInput::default()
            }
            ActionKind::Suspect => ChangesBeforeInput::counting_fault(LimitedFault::FalseSuspicion),
            ActionKind::Partition => ChangesBeforeInput::counting_fault(LimitedFault::Partition),
            ActionKind::Crash if self.cache.local_facts(world[slot]).is_mute => {
                ChangesBeforeInput::default()
            }
            ActionKind::Crash | ActionKind::Mute => {
                ChangesBeforeInput::counting_fault(LimitedFault::Crash)
            }
            ActionKind::Recover => ChangesBeforeInput::counting_fault(LimitedFault::Recovery),
            ActionKind::Send => {
                ChangesBeforeInput::counting_fault(LimitedFault::ApplicationMessage)
            }
        })
    }

    #[inline]
    fn apply_setup(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        setup: ChangesBeforeInput,
    ) -> u64 {
        let mut fingerprint = fingerprint;
        if let Some((slot, link)) = setup.link {
            self.set_slot(world, slot, link.id);
            fingerprint = fingerprint.wrapping_add(link.fingerprint_change);
        }
        match setup.fault {
            Some(fault) => self.spend(world, fingerprint, fault),
            None => fingerprint,
        }
    }

    /// Counts a fault in a global state, and returns the new fingerprint of the state.
    fn spend(&mut self, world: &mut [u32], fingerprint: u64, fault: LimitedFault) -> u64 {
        let slot = self.rules.layout.fault_counts_slot();
        let before = FaultCounts(world[slot]);
        let after = before.incremented(fault);
        self.set_slot(world, slot, after.0);
        fingerprint.wrapping_sub(before.fingerprint()).wrapping_add(after.fingerprint())
    }

    /// Applies an outcome to a global state: the new state of the process, the messages that it
    /// sent, and the new states of the monitors.
    #[inline]
    fn apply_outcome(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
        action: Action,
        process: usize,
        row: CachedOutcome,
    ) -> StepResult {
        self.set_slot(world, process, row.local);
        let fingerprint = fingerprint.wrapping_add(row.fingerprint_change);
        let mut result = StepResult { weight: row.weight, ..StepResult::new(fingerprint) };
        for index in self.cache.sent_indices(row) {
            let sent = self.cache.sent_message(index);
            if self.rules.can_processes_be_down && self.is_dead_forever(world, sent.to as usize) {
                continue;
            }
            if self.rules.partition_side != 0
                && self.rules.is_cut_by_partition(world, process, sent.to as usize)
            {
                continue;
            }
            let pushed = self.cache.replacement_after_push(world[sent.slot as usize], sent.packet);
            if pushed.id != NO_ID {
                self.set_slot(world, sent.slot as usize, pushed.id);
                result.fingerprint = result.fingerprint.wrapping_add(pushed.fingerprint_change);
            } else if self.rules.drops_when_link_full {
                result.has_dropped_message = true;
            } else {
                result.exceeded_bound = Some(ExceededBound::InFlight);
                result.lacks_message = true;
            }
        }
        if row.observation != 0 {
            self.judge(world, row.observation, &mut result);
        }
        if self.rules.has_crashes_or_term_bound {
            self.apply_crashes_and_term_bound(world, action, row.local, &mut result);
        }
        self.judge_custom_after_step(world, Some((process, row)), &mut result);
        self.canonicalize(world, &mut result);
        result
    }

    /// Updates the links after a crash or a recovery, and the detection of restarts. Compares the
    /// term of the process with the bound on terms. Not inlined, because most searches have neither
    /// crashes nor a bound on terms.
    #[inline(never)]
    fn apply_crashes_and_term_bound(
        &mut self,
        world: &mut [u32],
        action: Action,
        local: u32,
        result: &mut StepResult,
    ) {
        if matches!(action.kind(), ActionKind::Crash | ActionKind::Recover) {
            self.clear_links_to_dead(world, result);
        }
        if self.rules.layout.detects_restarts {
            self.update_restart_detection(world, action, result);
        }
        if self.rules.has_term_bound && self.cache.local_facts(local).exceeds_term_bound {
            result.exceeded_bound = Some(ExceededBound::Term);
        }
    }

    /// Lets all monitors observe the observation with this id. Records their new states in `world`,
    /// and violations in `result`.
    fn judge(&mut self, world: &mut [u32], observation: u32, result: &mut StepResult) {
        for index in 0..self.rules.layout.monitor_count {
            let slot = self.rules.layout.monitor_slot(index);
            if world[slot] == VIOLATED_MONITOR {
                continue;
            }
            let judged = self.cache.judge(index, world[slot], observation);
            self.set_slot(world, slot, judged.id);
            result.fingerprint = result.fingerprint.wrapping_add(judged.fingerprint_change);
            if judged.id == VIOLATED_MONITOR {
                result.violated |= 1 << index;
            }
        }
    }

    /// Returns true if the process is down and the check allows no further recovery.
    fn is_dead_forever(&mut self, world: &[u32], process: usize) -> bool {
        self.cache.local_facts(world[process]).down
            && self.rules.remaining_faults(world, LimitedFault::Recovery) == 0
    }

    /// Empties the links to processes that are down and can no longer recover. No process will
    /// receive the messages on these links.
    fn clear_links_to_dead(&mut self, world: &mut [u32], result: &mut StepResult) {
        for slot in self.rules.layout.link_slots() {
            if world[slot] != 0 && self.is_dead_forever(world, self.rules.layout.receiver(slot)) {
                let queue = self.cache.cached_queue(world[slot]);
                result.fingerprint = result.fingerprint.wrapping_sub(queue.fingerprint);
                self.set_slot(world, slot, 0);
            }
        }
    }

    /// Clears the links between the sides of a partition, because their messages never arrive.
    fn clear_cut_links(&mut self, world: &mut [u32], result: &mut StepResult) {
        let layout = self.rules.layout;
        for slot in layout.link_slots() {
            let (from, to) = (layout.sender(slot), layout.receiver(slot));
            if world[slot] != 0 && self.rules.is_cut_by_partition(world, from, to) {
                let queue = self.cache.cached_queue(world[slot]);
                result.fingerprint = result.fingerprint.wrapping_sub(queue.fingerprint);
                self.set_slot(world, slot, 0);
            }
        }
    }

    /// Shifts the timestamps of a global state if the search merges states that differ only by such
    /// a shift. Sets the key of the state.
    #[inline]
    fn canonicalize(&mut self, world: &mut [u32], result: &mut StepResult) {
        if self.rules.shifts_timestamps {
            let (cache, changed) = (&mut self.cache, &mut self.undo_log);
            result.fingerprint = shift_timestamps_to_zero(
                cache,
                self.rules.layout,
                world,
                changed,
                result.fingerprint,
            );
        }
        result.key = self.canonical_key(world, result.fingerprint);
    }

    /// Returns the key under which the visited set stores a global state. Without symmetry
    /// reduction, this is the fingerprint of the state.
    #[inline]
    pub(crate) fn canonical_key(&mut self, world: &[u32], fingerprint: u64) -> u64 {
        if self.rules.renaming_count == 1 {
            return fingerprint;
        }
        canonical_fingerprint(&mut self.cache, &self.rules, world)
    }
}
