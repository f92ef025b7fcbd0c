//! What lasts at a process, opened and closed while records are read.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::ProcessId;

use super::layout::{Region, Span};
use crate::fold::standing::{Change, Hold, Sort};

/// What has lasted, and what lasts still.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    done: Vec<Span>,
    open: BTreeMap<(ProcessId, Sort), Span>,
    /// Who was seen with a token, or without one.
    token_known: BTreeSet<ProcessId>,
    /// Who was inside before all others.
    first_inside: Option<ProcessId>,
    /// With which step each began to be inside for the last time.
    inside_since: BTreeMap<ProcessId, Option<usize>>,
    regions: Vec<Region>,
    split: Option<Region>,
}

impl Spans {
    /// Something begins, with a step or before the window, in place of what lasted of its sort.
    fn begin(&mut self, at: ProcessId, hold: Hold, step: Option<usize>) {
        self.end(at, hold.sort(), step);
        let span = Span { at, hold, from: step, until: None };
        self.open.insert((at, hold.sort()), span);
    }

    /// What lasted of this sort ends. What ended before the window is forgotten.
    pub(super) fn end(&mut self, at: ProcessId, sort: Sort, step: Option<usize>) {
        let Some(span) = self.open.remove(&(at, sort)) else { return };
        if step.is_some() {
            self.done.push(Span { until: step, ..span });
        }
    }

    /// Whatever begins or ends with a step.
    pub(super) fn hear(&mut self, at: ProcessId, change: Change, step: Option<usize>) {
        match change {
            Change::Begins(hold) => {
                if hold == Hold::Inside {
                    self.first_inside.get_or_insert(at);
                    self.inside_since.insert(at, step);
                }
                self.begin(at, hold, step);
            }
            Change::Ends(hold, _) => self.end(at, hold.sort(), step),
            _ => {}
        }
    }

    pub(super) fn is_down(&self, at: ProcessId) -> bool {
        self.open.contains_key(&(at, Sort::Down))
    }

    /// Nothing lasts at a process that crashed, but that.
    pub(super) fn crash(&mut self, at: ProcessId, step: Option<usize>) {
        for sort in [Sort::Lock, Sort::Lead, Sort::Token, Sort::Stopped] {
            self.end(at, sort, step);
        }
        self.begin(at, Hold::Down, step);
    }

    /// A token arrives.
    pub(super) fn get_token(&mut self, at: ProcessId, step: Option<usize>) {
        self.token_known.insert(at);
        self.begin(at, Hold::Token, step);
    }

    /// A token leaves. Whoever sends the first one had it before; but whoever got in without one
    /// when another had been inside made it then.
    pub(super) fn give_token(&mut self, at: ProcessId, step: Option<usize>) {
        if self.token_known.insert(at) && step.is_some() {
            let made = self.first_inside.is_some_and(|first| first != at);
            let since = self.inside_since.get(&at).copied().flatten();
            if !made || since.is_some() {
                let from = since.filter(|_| made);
                self.done.push(Span { at, hold: Hold::Token, from, until: step });
            }
        }
        self.end(at, Sort::Token, step);
    }

    pub(super) fn split(&mut self, sides: Vec<Vec<ProcessId>>, step: Option<usize>) {
        self.heal(step);
        self.split = Some(Region { from: step, until: None, sides });
    }

    pub(super) fn heal(&mut self, step: Option<usize>) {
        let Some(region) = self.split.take() else { return };
        if step.is_some() {
            self.regions.push(Region { until: step, ..region });
        }
    }

    /// Everything that lasted for a while, in a fixed order.
    pub(super) fn finish(mut self) -> (Vec<Span>, Vec<Region>) {
        self.done.extend(self.open.into_values());
        self.done.sort_by_key(|span| (span.at, span.hold.sort(), span.from, span.until.is_none()));
        self.regions.extend(self.split);
        (self.done, self.regions)
    }
}
