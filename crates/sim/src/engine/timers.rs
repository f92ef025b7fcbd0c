//! Armed timers of all processes. A cancelled or replaced timer never fires.

use tenure_core::ProcessId;

/// Armed timers of all processes. A process has at most one timer of each name. The slots of a
/// process form a linked list.
///
/// Each timer occupies a slot with a generation number. The number changes when the timer fires, is
/// cancelled or is replaced. So a scheduled event of an earlier timer has no effect.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    slots: Vec<Slot<T>>,
    /// Slots without a timer.
    free: Vec<u32>,
    /// For each process, by index: the index of its first slot, or [`NONE`]. Empty until a timer is
    /// armed for the first time.
    first: Vec<u32>,
    /// Number of armed timers of all processes.
    armed: usize,
}

/// Place of one timer.
#[derive(Debug)]
struct Slot<T> {
    /// Name of the armed timer. `None` if the slot is free.
    name: Option<T>,
    process: ProcessId,
    generation: u32,
    /// Index of the next slot of the same process, or [`NONE`].
    next: u32,
}

const NONE: u32 = u32::MAX;

impl<T: Ord + Clone> Timers<T> {
    pub(crate) const fn new() -> Self {
        Timers { slots: Vec::new(), free: Vec::new(), first: Vec::new(), armed: 0 }
    }

    /// Arms the timer `name` of a process. If the process has a timer of this name, the new timer
    /// replaces it. `group_size` is the number of processes. Returns the slot and the generation of
    /// the new timer.
    pub(crate) fn set(&mut self, process: ProcessId, name: T, group_size: u32) -> (u32, u32) {
        if self.first.is_empty() {
            self.first = vec![NONE; group_size as usize];
        }
        self.cancel(process, &name);
        self.armed += 1;
        let next = self.first[process.index()];
        let slot = match self.free.pop() {
            Some(slot) => {
                let place = &mut self.slots[slot as usize];
                (place.name, place.process, place.next) = (Some(name), process, next);
                slot
            }
            None => {
                self.slots.push(Slot { name: Some(name), process, generation: 0, next });
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 timers are armed")
            }
        };
        self.first[process.index()] = slot;
        (slot, self.slots[slot as usize].generation)
    }

    pub(crate) fn cancel(&mut self, process: ProcessId, name: &T) {
        let Some(mut slot) = self.first.get(process.index()).copied() else { return };
        while slot != NONE {
            if self.slots[slot as usize].name.as_ref() == Some(name) {
                self.unlink(slot);
                return;
            }
            slot = self.slots[slot as usize].next;
        }
    }

    pub(crate) fn cancel_all_of(&mut self, process: ProcessId) {
        while let Some(slot) = self.first.get(process.index()).copied()
            && slot != NONE
        {
            self.unlink(slot);
        }
    }

    /// Disarms the timer in a slot when it fires. Returns the process and the name of the timer.
    /// Returns `None` if the timer with this generation was disarmed or replaced before.
    pub(crate) fn take_fired_timer(
        &mut self,
        slot: u32,
        generation: u32,
    ) -> Option<(ProcessId, T)> {
        let place = &self.slots[slot as usize];
        if place.generation != generation {
            return None;
        }
        let process = place.process;
        self.unlink(slot).map(|name| (process, name))
    }

    pub(crate) fn armed_timers_of(&self, process: ProcessId) -> Vec<T> {
        let mine = self.slots.iter().filter(|slot| slot.process == process);
        mine.filter_map(|slot| slot.name.clone()).collect()
    }

    /// Returns the process and the name of the timer in a slot. Returns `None` if the timer with
    /// this generation was disarmed or replaced.
    pub(crate) fn armed_in_slot(&self, slot: u32, generation: u32) -> Option<(ProcessId, &T)> {
        let place = &self.slots[slot as usize];
        let name = place.name.as_ref().filter(|_| place.generation == generation)?;
        Some((place.process, name))
    }

    pub(crate) const fn armed_count(&self) -> usize {
        self.armed
    }

    /// Frees a slot that holds a timer, and removes the slot from the list of its process. Returns
    /// the name of the timer.
    fn unlink(&mut self, slot: u32) -> Option<T> {
        let place = &mut self.slots[slot as usize];
        let (process, next) = (place.process, place.next);
        place.generation = place.generation.wrapping_add(1);
        let name = place.name.take();
        let mut before = self.first[process.index()];
        if before == slot {
            self.first[process.index()] = next;
        } else {
            while self.slots[before as usize].next != slot {
                before = self.slots[before as usize].next;
            }
            self.slots[before as usize].next = next;
        }
        self.free.push(slot);
        self.armed -= 1;
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_or_cancelled_timer_never_fires() {
        let mut timers = Timers::new();
        let process = ProcessId(1);
        let (first, old) = timers.set(process, "resend", 2);
        let (second, new) = timers.set(process, "resend", 2);
        assert_eq!(timers.armed_count(), 1);
        assert_eq!(timers.take_fired_timer(first, old), None);
        let (other, still) = timers.set(process, "probe", 2);
        timers.cancel(process, &"resend");
        assert_eq!(timers.take_fired_timer(second, new), None);
        assert_eq!(timers.take_fired_timer(other, still), Some((process, "probe")));
        assert_eq!(timers.take_fired_timer(other, still), None);
        assert_eq!(timers.armed_count(), 0);
    }

    #[test]
    fn crash_disarms_only_timers_of_process() {
        let mut timers = Timers::new();
        let (slot, generation) = timers.set(ProcessId(0), 1, 2);
        for name in 1..=3 {
            timers.set(ProcessId(1), name, 2);
        }
        timers.cancel_all_of(ProcessId(1));
        assert_eq!(timers.armed_count(), 1);
        assert_eq!(timers.take_fired_timer(slot, generation), Some((ProcessId(0), 1)));
    }
}
