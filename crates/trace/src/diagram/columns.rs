//! Where on the axis steps lie.

use tenure_core::ProcessId;

use super::layout::{Layout, Mark};
use super::view::Scale;

/// The least distance of two steps of one process, in the unit of [`Layout::along`].
const LEAST: u64 = 100;
/// The least distance of two columns.
const CLOSE: u64 = 24;
/// Between a remark, which is written across all lines, and the steps before and after it.
const REMARK: u64 = 75;
/// The most that a pause takes.
const FAR: u64 = 300;

impl Layout {
    /// Gives each step its column, and each column its place.
    pub(super) fn place_columns(&mut self) {
        let mut moments: Vec<(u64, u64)> = self.steps.iter().map(|step| step.moment).collect();
        moments.sort_unstable();
        moments.dedup();
        for step in &mut self.steps {
            step.column = moments.partition_point(|moment| *moment < step.moment);
        }
        let mut by_column: Vec<Vec<usize>> = vec![Vec::new(); moments.len()];
        for (place, step) in self.steps.iter().enumerate() {
            by_column[step.column].push(place);
        }
        let usual = self.usual_pause();
        let mut latest: Vec<Option<u64>> = vec![None; self.size()];
        let mut along: Vec<u32> = Vec::with_capacity(moments.len());
        let mut after_remark = false;
        for (column, steps) in by_column.iter().enumerate() {
            let remark = steps.iter().any(|step| self.steps[*step].at.is_none());
            let mut place = 0;
            if let Some(before) = along.last() {
                let pause = moments[column].0 - moments[column - 1].0;
                let least = if remark || after_remark { REMARK } else { CLOSE };
                let pause = (pause.saturating_mul(LEAST) / usual).clamp(least, FAR);
                let causal = self.view.scale == Scale::Causal;
                place = u64::from(*before) + if causal { LEAST } else { pause };
            }
            after_remark = remark;
            for step in steps {
                place = place.max(self.earliest(*step, &along, &latest));
            }
            for at in steps.iter().filter_map(|step| self.own(*step)) {
                latest[at.index()] = Some(place);
            }
            along.push(u32::try_from(place).unwrap_or(u32::MAX));
        }
        self.along = along;
    }

    /// The first place where a step may lie: behind its process's last, and behind the sending
    /// of what it is about.
    fn earliest(&self, step: usize, along: &[u32], latest: &[Option<u64>]) -> u64 {
        let own = self.own(step).and_then(|at| latest[at.index()]);
        let about = match self.steps[step].mark {
            Mark::Loses(crossing) | Mark::Duplicates(crossing) => Some(crossing),
            _ => self.steps[step].received,
        };
        let sent = about.and_then(|crossing| self.crossings[crossing].sent);
        let sent = sent.map(|sent| u64::from(along[self.steps[sent].column]));
        own.max(sent).map_or(0, |before| before + LEAST)
    }

    fn own(&self, step: usize) -> Option<ProcessId> {
        self.steps[step].at.filter(|_| self.steps[step].is_own())
    }

    /// How much time usually lies between two steps of one process; at least 1.
    fn usual_pause(&self) -> u64 {
        let mut latest: Vec<Option<u64>> = vec![None; self.size()];
        let mut pauses = Vec::new();
        for (place, step) in self.steps.iter().enumerate() {
            let Some(at) = self.own(place) else { continue };
            let before = latest[at.index()].replace(step.moment.0);
            pauses.extend(before.map(|before| step.moment.0.saturating_sub(before)));
        }
        pauses.retain(|pause| *pause > 0);
        pauses.sort_unstable();
        pauses.get(pauses.len() / 2).copied().unwrap_or(1)
    }
}
