//! Evaluation of properties written as expressions, in the global states of a search.

use std::sync::Arc;

use tenure_core::ProcessId;
use tenure_trace::property::StepFacts;

use super::PreparedProperty;
use super::view::{CustomPropertyCache, EvaluationResult, ReachedStateView, message_name};
use crate::explore::successor::StepResult;
use crate::explore::successors::SuccessorWorker;
use crate::model::cache::{CachedOutcome, StepCache};
use crate::model::fingerprint::{HashDomain, fingerprint};
use crate::world::rules::SearchRules;

impl PreparedProperty {
    /// Writes into `key` the cache key for the result of the property, and returns true. If the
    /// property reads messages, returns false: results of such a property are not cached. `from`
    /// contains the four numbers with which each key begins: see [`CustomPropertyCache::results`].
    ///
    /// If the property reads the states or failures of processes, the key also contains the ids of
    /// the local states. Such an id determines the state of the process, whether the process is
    /// down, and which peers it suspects.
    fn write_key(&self, from: [u32; 4], locals: &[u32], key: &mut Vec<u32>) -> bool {
        let uses = self.property.inputs();
        if uses.reads_messages() {
            return false;
        }
        let [index, facts, observation, before] = from;
        let observation = if uses.events { observation } else { 0 };
        key.clear();
        key.extend([index, facts, observation, before]);
        if !uses.reads_services_only() {
            key.extend_from_slice(locals);
        }
        true
    }

    /// Evaluates the property in a global state. Bit *i* of `before` is set if an event was still
    /// due for the assignment with the index *i* before the step.
    fn evaluate(&self, before: u32, view: &mut ReachedStateView<'_>) -> EvaluationResult {
        if !self.property.operator().is_liveness() {
            return EvaluationResult {
                pending: 0,
                violated: self.property.violating_assignment(view),
            };
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

/// A step: the index of the process that takes it, and the outcome.
type ProcessStep = (usize, CachedOutcome);

impl SuccessorWorker {
    /// Evaluates all properties written as expressions in the global state after a step. `step` is
    /// `None` for a step of the environment. Adds the violations to `result`. Records in `world`
    /// which events the properties still demand. If the state lacks a message, skips the properties
    /// that read messages in flight.
    #[inline]
    pub(crate) fn judge_custom_after_step(
        &mut self,
        world: &mut [u32],
        step: Option<ProcessStep>,
        result: &mut StepResult,
    ) {
        if self.rules.custom_properties.is_some() {
            self.judge_custom_properties(world, step, result);
        }
    }

    #[inline(never)]
    fn judge_custom_properties(
        &mut self,
        world: &mut [u32],
        step: Option<ProcessStep>,
        result: &mut StepResult,
    ) {
        let SuccessorWorker {
            rules,
            cache,
            custom_property_cache: custom_cache,
            undo_log: changed,
            ..
        } = self;
        let rules: &SearchRules = rules;
        let Some(custom) = rules.custom_properties.as_deref() else { return };
        let layout = rules.layout;
        let facts = custom.fact_collector.map_or(0, |index| world[layout.monitor_slot(index)]);
        let observation = step.map_or(0, |(_, row)| row.observation);
        for (index, watched) in custom.properties.iter().enumerate() {
            if result.lacks_message && watched.property.inputs().in_flight {
                continue;
            }
            let slot = layout.custom_slot(index);
            let before = world[slot];
            let mut key = std::mem::take(&mut custom_cache.key);
            let from = [index as u32, facts, observation, before];
            let has_key = watched.write_key(from, &world[..layout.size], &mut key);
            let known = custom_cache.results.get(&*key).filter(|_| has_key).cloned();
            let is_known = known.is_some();
            let evaluated = known.unwrap_or_else(|| {
                evaluate_custom(
                    rules,
                    (&mut *cache, &mut *custom_cache),
                    world,
                    step,
                    watched,
                    before,
                )
            });
            if has_key && !is_known {
                custom_cache.cache_result(&key, &evaluated);
            }
            custom_cache.key = key;
            if let Some(binding) = evaluated.violated {
                result.violated |= 1 << (layout.monitor_count + index);
                custom_cache.violated.retain(|(known, _)| *known != index);
                custom_cache.violated.push((index, binding));
            }
            let after = evaluated.pending;
            if watched.property.operator().is_liveness() && after != before {
                let change = pending_fingerprint(index, after)
                    .wrapping_sub(pending_fingerprint(index, before));
                result.fingerprint = result.fingerprint.wrapping_add(change);
                changed.push((slot as u32, before));
                world[slot] = after;
            }
        }
    }

    /// Prepares an initial global state: records the events that are due from the start, and
    /// evaluates all properties written as expressions. Returns the new fingerprint and the bits of
    /// the violated properties.
    pub(crate) fn init_custom_properties(
        &mut self,
        world: &mut [u32],
        fingerprint: u64,
    ) -> (u64, u32) {
        let rules = Arc::clone(&self.rules);
        let Some(custom) = rules.custom_properties.as_deref() else { return (fingerprint, 0) };
        let mut result = StepResult::new(fingerprint);
        for (index, watched) in custom.properties.iter().enumerate() {
            let all = u32::MAX.checked_shr(u32::BITS - watched.bindings.len() as u32).unwrap_or(0);
            let first = if watched.property.is_pending_initially() { all } else { 0 };
            let change = pending_fingerprint(index, first);
            result.fingerprint = result.fingerprint.wrapping_add(change);
            world[rules.layout.custom_slot(index)] = first;
        }
        self.judge_custom_properties(world, None, &mut result);
        self.forget_changes();
        (result.fingerprint, result.violated)
    }

    /// Returns the violated properties of an initial global state, as bits. Evaluates only
    /// properties written as expressions.
    pub(crate) fn initial_custom_violations(&mut self, world: &[u32]) -> u32 {
        let mut copy = world.to_vec();
        let mut result = StepResult::new(0);
        self.judge_custom_after_step(&mut copy, None, &mut result);
        self.forget_changes();
        result.violated
    }
}

fn evaluate_custom(
    rules: &SearchRules,
    (model, cache): (&mut StepCache, &mut CustomPropertyCache),
    world: &[u32],
    step: Option<ProcessStep>,
    watched: &PreparedProperty,
    before: u32,
) -> EvaluationResult {
    let mut sent = Vec::new();
    let mut facts = StepFacts::default();
    if let Some((process, row)) = step {
        facts.at = Some(ProcessId(process as u32));
        if row.observation != 0 {
            facts = cache.step_facts(rules, row.observation);
        }
        if watched.property.inputs().sent {
            sent.extend(model.sent_indices(row).map(|index| {
                let item = model.sent_message(index);
                let message = rules.network.packet_by_id(item.packet).message;
                (message_name(rules, message), item.to)
            }));
        }
    }
    let custom = rules.custom_properties.as_deref();
    let services = match custom.and_then(|custom| custom.fact_collector) {
        Some(index) => cache.service_facts(rules, index, world[rules.layout.monitor_slot(index)]),
        None => {
            custom.map(|custom| Arc::clone(&custom.no_facts)).expect("the search has properties")
        }
    };
    let mut view =
        ReachedStateView { rules, model, cache, world, services, step: facts, sent: &sent };
    watched.evaluate(before, &mut view)
}

fn pending_fingerprint(index: usize, pending: u32) -> u64 {
    if pending == 0 { 0 } else { fingerprint(HashDomain::Pending(index), &pending) }
}
