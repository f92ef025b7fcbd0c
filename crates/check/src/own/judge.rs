//! Evaluates properties in the worlds of a search.

use std::sync::Arc;

use tenure_core::ProcessId;
use tenure_trace::property::StepFacts;

use super::view::{EvaluationResult, WorldView, message_name};
use super::{OwnProperties, Watched};
use crate::explore::successors::{StepResult, Worker};
use crate::model::cache::OutcomeRow;
use crate::model::fingerprint::{Role, fingerprint};

impl Watched {
    /// Returns the key of the result, if it depends on commands and events only.
    fn memo_key(
        &self,
        index: usize,
        facts: u32,
        observation: u32,
        before: u32,
    ) -> Option<[u32; 4]> {
        let uses = self.property.uses();
        let observation = if uses.events { observation } else { 0 };
        uses.is_of_services().then_some([index as u32, facts, observation, before])
    }

    fn evaluate(&self, before: u32, view: &mut WorldView<'_>) -> EvaluationResult {
        if !self.property.form().is_liveness() {
            return EvaluationResult { pending: 0, violated: self.property.violation(view) };
        }
        let mut pending = 0;
        for (place, binding) in self.bindings.iter().enumerate() {
            let was_pending = before & 1 << place != 0;
            let is_pending = self.property.is_pending(binding, was_pending, view);
            pending |= u32::from(is_pending) << place;
        }
        EvaluationResult { pending, violated: None }
    }
}

impl Worker {
    /// Evaluates all properties in a world after a step of a process, or of the environment.
    #[inline]
    pub(crate) fn judge_own(
        &mut self,
        world: &mut [u32],
        step: Option<(usize, OutcomeRow)>,
        result: &mut StepResult,
    ) {
        if self.rules.own.is_some() {
            self.judge_own_properties(world, step, result);
        }
    }

    #[inline(never)]
    fn judge_own_properties(
        &mut self,
        world: &mut [u32],
        step: Option<(usize, OutcomeRow)>,
        result: &mut StepResult,
    ) {
        let rules = Arc::clone(&self.rules);
        let Some(own) = rules.own.as_deref() else { return };
        let mut sent = Vec::new();
        let mut facts = StepFacts::default();
        let observation = step.map_or(0, |(_, row)| row.observation);
        if let Some((process, row)) = step {
            facts = StepFacts { at: Some(ProcessId(process as u32)), ..facts };
            if row.observation != 0 {
                facts = self.own.step(&rules, row.observation);
            }
            if own.properties.iter().any(|watched| watched.property.uses().sent) {
                sent.extend(self.cache.sent(row).map(|index| {
                    let item = self.cache.sent_item(index);
                    let message = rules.network.packet_by_id(item.packet).message;
                    (message_name(&rules, message), item.to)
                }));
            }
        }
        let pending = self.evaluate_own(own, world, (facts, observation), &sent, result);
        let layout = rules.layout;
        for (index, after) in pending {
            let slot = layout.own(index);
            let before = world[slot];
            if after != before {
                let change = pending_fingerprint(index, after)
                    .wrapping_sub(pending_fingerprint(index, before));
                result.fingerprint = result.fingerprint.wrapping_add(change);
                self.set(world, slot, after);
            }
        }
    }

    /// Evaluates all properties and records the violated ones in the result. Returns the index of
    /// each liveness property, and as bits the bindings for which an event is still due.
    fn evaluate_own(
        &mut self,
        own: &OwnProperties,
        world: &[u32],
        (step, observation): (StepFacts, u32),
        sent: &[(&'static str, u32)],
        result: &mut StepResult,
    ) -> Vec<(usize, u32)> {
        let rules = Arc::clone(&self.rules);
        let layout = rules.layout;
        let services = match own.fold {
            Some(index) => self.own.facts(&rules, index, world[layout.monitor(index)]),
            None => Arc::clone(&own.no_facts),
        };
        let (model, cache) = (&mut self.cache, &mut self.own);
        let facts = own.fold.map_or(0, |index| world[layout.monitor(index)]);
        let mut view = WorldView { rules: &rules, model, cache, world, services, step, sent };
        let mut pending = Vec::new();
        for (index, watched) in own.properties.iter().enumerate() {
            let before = world[layout.own(index)];
            let key = watched.memo_key(index, facts, observation, before);
            let known = key.and_then(|key| view.cache.results.get(&key).cloned());
            let evaluated = known.unwrap_or_else(|| {
                let evaluated = watched.evaluate(before, &mut view);
                if let Some(key) = key {
                    view.cache.results.insert(key, evaluated.clone());
                }
                evaluated
            });
            if watched.property.form().is_liveness() {
                pending.push((index, evaluated.pending));
            }
            if let Some(binding) = evaluated.violated {
                result.violated |= 1 << (layout.monitors + index);
                let violated = &mut view.cache.violated;
                violated.retain(|(known, _)| *known != index);
                violated.push((index, binding));
            }
        }
        pending
    }

    /// Prepares an initial world: evaluates all properties in it. Returns the new fingerprint and
    /// the bits of the violated properties.
    pub(crate) fn begin_own(&mut self, world: &mut [u32], fingerprint: u64) -> (u64, u32) {
        let rules = Arc::clone(&self.rules);
        let Some(own) = rules.own.as_deref() else { return (fingerprint, 0) };
        let mut result = StepResult::of(fingerprint);
        for (index, watched) in own.properties.iter().enumerate() {
            let all = u32::MAX.checked_shr(u32::BITS - watched.bindings.len() as u32).unwrap_or(0);
            let first = if watched.property.is_pending_at_first() { all } else { 0 };
            let change = pending_fingerprint(index, first);
            result.fingerprint = result.fingerprint.wrapping_add(change);
            world[rules.layout.own(index)] = first;
        }
        self.judge_own_properties(world, None, &mut result);
        self.forget_changes();
        (result.fingerprint, result.violated)
    }

    /// Returns the bits of the properties that an initial world violates.
    pub(crate) fn violated_at_first(&mut self, world: &[u32]) -> u32 {
        let mut copy = world.to_vec();
        let mut result = StepResult::of(0);
        self.judge_own(&mut copy, None, &mut result);
        self.forget_changes();
        result.violated
    }
}

fn pending_fingerprint(index: usize, pending: u32) -> u64 {
    if pending == 0 { 0 } else { fingerprint(Role::Pending(index), &pending) }
}
