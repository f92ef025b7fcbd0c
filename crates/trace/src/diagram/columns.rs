//! Positions of steps along the time axis of a diagram. Steps with the same
//! [`DiagramStep::axis_order`](super::DiagramStep::axis_order) share a column.

use tenure_core::ProcessId;

use super::layout::{DiagramLayout, StepCause};
use super::options::TimeAxis;

/// Minimum distance between a step and a step that must precede it, such as the previous step of
/// its process. The unit is that of [`DiagramLayout::column_positions`].
const MIN_STEP_GAP: u64 = 100;
/// Minimum distance of two neighbouring columns on the time scale, in the unit of
/// [`DiagramLayout::column_positions`].
const MIN_COLUMN_GAP: u64 = 24;
/// Minimum distance between two neighbouring columns on the time scale if one of them contains
/// an event of the network, or a note that concerns no process. Such a column needs more space,
/// because its line crosses all lifelines. The unit is that of
/// [`DiagramLayout::column_positions`].
const NOTE_GAP: u64 = 75;
/// Maximum distance of two neighbouring columns, in the unit of
/// [`DiagramLayout::column_positions`]. A longer pause is reduced to this maximum.
const MAX_PAUSE: u64 = 300;

impl DiagramLayout {
    pub(super) fn place_columns(&mut self) {
        let mut moments: Vec<(u64, u64)> = self.steps.iter().map(|step| step.axis_order).collect();
        moments.sort_unstable();
        moments.dedup();
        for step in &mut self.steps {
            step.column = moments.partition_point(|moment| *moment < step.axis_order);
        }
        let mut by_column: Vec<Vec<usize>> = vec![Vec::new(); moments.len()];
        for (place, step) in self.steps.iter().enumerate() {
            by_column[step.column].push(place);
        }
        let usual = self.usual_pause();
        let mut latest: Vec<Option<u64>> = vec![None; self.process_count()];
        let mut along: Vec<u32> = Vec::with_capacity(moments.len());
        let mut after_remark = false;
        for (column, steps) in by_column.iter().enumerate() {
            let remark = steps.iter().any(|step| self.steps[*step].at.is_none());
            let mut place = 0;
            if let Some(before) = along.last() {
                let pause = moments[column].0 - moments[column - 1].0;
                let least = if remark || after_remark { NOTE_GAP } else { MIN_COLUMN_GAP };
                let pause = (pause.saturating_mul(MIN_STEP_GAP) / usual).clamp(least, MAX_PAUSE);
                let causal = self.options.scale == TimeAxis::Causal;
                place = u64::from(*before) + if causal { MIN_STEP_GAP } else { pause };
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
        self.column_positions = along;
    }

    /// Returns the earliest permitted position of a step, in the unit of
    /// [`DiagramLayout::column_positions`]. The step must lie after the previous step of its
    /// process. If the step receives, loses or duplicates a message, it must also lie after the
    /// step that sent the message. `along` contains the positions of the earlier columns. `latest`
    /// contains, for each process, the position of its previous step. Returns 0 if no earlier step
    /// restricts the position.
    fn earliest(&self, step: usize, along: &[u32], latest: &[Option<u64>]) -> u64 {
        let own = self.own(step).and_then(|at| latest[at.index()]);
        let about = match self.steps[step].cause {
            StepCause::Loses(arrow) | StepCause::Duplicates(arrow) => Some(arrow),
            _ => self.steps[step].received,
        };
        let sent = about.and_then(|arrow| self.arrows[arrow].sent_in_step);
        let sent = sent.map(|sent| u64::from(along[self.steps[sent].column]));
        own.max(sent).map_or(0, |before| before + MIN_STEP_GAP)
    }

    fn own(&self, step: usize) -> Option<ProcessId> {
        self.steps[step].at.filter(|_| self.steps[step].is_process_step())
    }

    /// Returns the median time between successive steps of the same process, in ticks or
    /// nanoseconds. Ignores steps at the same time. The result is at least 1.
    fn usual_pause(&self) -> u64 {
        let mut latest: Vec<Option<u64>> = vec![None; self.process_count()];
        let mut pauses = Vec::new();
        for (place, step) in self.steps.iter().enumerate() {
            let Some(at) = self.own(place) else { continue };
            let before = latest[at.index()].replace(step.axis_order.0);
            pauses.extend(before.map(|before| step.axis_order.0.saturating_sub(before)));
        }
        pauses.retain(|pause| *pause > 0);
        pauses.sort_unstable();
        pauses.get(pauses.len() / 2).copied().unwrap_or(1)
    }
}
