//! Vector clocks of processes and messages. Equal clocks are stored once, in cells that several
//! processes and messages share.

use std::ops::Range;

use tenure_core::{Layer, ProcessId, VectorClock};

/// Set of messages for a vector clock. When a process receives a message of this set, the clock of
/// the process merges the clock of the message. All other messages leave the clock unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CausalityScope {
    /// Messages of the service itself, such as requests, replies, tokens and election messages.
    Protocol,
    /// All messages, including messages of channels, failure detectors and applications.
    All,
}

impl CausalityScope {
    /// Returns the smallest scope that contains the messages of `layer`: `Protocol` for the layers
    /// of the service itself, and `All` for all other layers.
    pub(crate) const fn of_layer(layer: Layer) -> Self {
        match layer {
            Layer::Mutex | Layer::Election | Layer::Agreement => CausalityScope::Protocol,
            Layer::Detector | Layer::Channel | Layer::Application => CausalityScope::All,
        }
    }
}

/// Vector clocks that the simulator keeps: one for each process, and one for each message in
/// flight.
///
/// Clocks are stored in cells. A cell is shared as long as its clock is unchanged, so a broadcast
/// carries one clock instead of n. Free cells are reused, so a long run does not allocate.
///
/// At first, each cell holds one clock. When a process first receives a message that does not
/// belong to the service, each cell is doubled. Each cell then holds two clocks. An event of a
/// process advances both clocks of the process. The first merges only the clocks of messages of the
/// service, and the second merges the clocks of all messages.
#[derive(Debug)]
pub(crate) struct VectorClocks {
    size: usize,
    /// Number of counters per cell: `size` for one clock, or `2 * size` for two clocks.
    width: usize,
    /// Counters of all cells, one cell after the other.
    cells: Vec<u32>,
    /// For each cell: the number of processes and messages that share it.
    holders: Vec<u32>,
    /// Cells without holders.
    free: Vec<u32>,
    /// For each process: the cell with its clock.
    current: Vec<u32>,
}

impl VectorClocks {
    pub(crate) fn new(size: u32) -> Self {
        let (holders, size) = (vec![size], size as usize);
        let (cells, current) = (vec![0; size], vec![0; size]);
        VectorClocks { size, width: size, cells, holders, free: Vec::new(), current }
    }

    /// Doubles each cell, so that it holds two clocks. Both start with the value of the old clock.
    #[cold]
    fn split(&mut self) {
        let halves = self.cells.chunks(self.size).flat_map(|cell| [cell, cell]);
        self.cells = halves.flatten().copied().collect();
        self.width = 2 * self.size;
    }

    /// Advances the clocks of `process` because of an event of this process.
    pub(crate) fn tick(&mut self, process: ProcessId) {
        let cell = self.own(process) as usize * self.width;
        let mut add_one = |place: usize| {
            let counter = &mut self.cells[place];
            *counter = counter.checked_add(1).expect("a process has fewer than 2^32 events");
        };
        add_one(cell + process.index());
        if self.width > self.size {
            add_one(cell + self.size + process.index());
        }
    }

    /// Returns the cell with the current clocks of `process`, for a new message that carries them.
    /// The process and the message then share the cell.
    pub(crate) fn acquire_cell(&mut self, process: ProcessId) -> u32 {
        let cell = self.current[process.index()];
        self.holders[cell as usize] += 1;
        cell
    }

    /// Records that a further message carries the clocks in this cell.
    pub(crate) fn retain_cell(&mut self, cell: u32) {
        self.holders[cell as usize] += 1;
    }

    /// Records that a message that carried the clocks in this cell is no longer in flight.
    pub(crate) fn release_cell(&mut self, cell: u32) {
        let holders = &mut self.holders[cell as usize];
        *holders -= 1;
        if *holders == 0 {
            self.free.push(cell);
        }
    }

    /// Records that `process` received a message. `cell` contains the clocks of the message.
    /// `scope` is the scope of the message. If it is `Protocol`, merges both clocks of the message
    /// into those of `process`. If it is `All`, merges only the second clock. Releases the cell.
    pub(crate) fn merge_and_release_cell(
        &mut self,
        process: ProcessId,
        cell: u32,
        scope: CausalityScope,
    ) {
        if scope == CausalityScope::All && self.width == self.size {
            self.split();
        }
        let known = self.current[process.index()];
        if known != cell {
            let (first, last) = match scope {
                CausalityScope::Protocol => (0, self.width),
                CausalityScope::All => (self.width - self.size, self.width),
            };
            let counters = |cell: u32| {
                let begin = cell as usize * self.width;
                &self.cells[begin + first..begin + last]
            };
            // Compares all counters without an early exit, so that the compiler can vectorize the
            // loop.
            let pairs = counters(cell).iter().zip(counters(known));
            let has_news = pairs.fold(false, |news, (theirs, mine)| news | (theirs > mine));
            if has_news {
                let mine = self.own(process);
                self.merge(cell, mine, first..last);
            }
        }
        self.release_cell(cell);
    }

    /// Merges the cell `from` into the cell `into`. For each index in the range `counters`, the
    /// counter of `into` becomes the maximum of the counters of both cells.
    fn merge(&mut self, from: u32, into: u32, counters: Range<usize>) {
        let (from, into) = (from as usize * self.width, into as usize * self.width);
        // The slices have known lengths, so the loop needs no bounds checks.
        let (low, high) = self.cells.split_at_mut(from.max(into));
        let (theirs, mine) = match from < into {
            true => (&low[from..from + self.width], &mut high[..self.width]),
            false => (&high[..self.width], &mut low[into..into + self.width]),
        };
        let pairs = mine[counters.clone()].iter_mut().zip(&theirs[counters]);
        pairs.for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    /// Returns the clock of `process` that merges the clocks of the messages in `scope`.
    pub(crate) fn clock(&self, process: ProcessId, scope: CausalityScope) -> VectorClock {
        let cell = self.current[process.index()] as usize * self.width;
        let first = match scope {
            CausalityScope::Protocol => cell,
            CausalityScope::All => cell + self.width - self.size,
        };
        let counters = self.cells[first..first + self.size].iter().copied();
        VectorClock::from(counters.map(u64::from).collect::<Vec<u64>>())
    }

    /// Returns a cell that contains the current clocks of `process` and is not shared. If the cell
    /// of the process is shared, copies it first.
    fn own(&mut self, process: ProcessId) -> u32 {
        let cell = self.current[process.index()];
        if self.holders[cell as usize] == 1 {
            return cell;
        }
        self.holders[cell as usize] -= 1;
        let fresh = self.free.pop().unwrap_or_else(|| {
            self.cells.resize(self.cells.len() + self.width, 0);
            self.holders.push(0);
            u32::try_from(self.holders.len() - 1).expect("fewer than 2^32 clocks are shared")
        });
        let from = cell as usize * self.width;
        self.cells.copy_within(from..from + self.width, fresh as usize * self.width);
        self.holders[fresh as usize] = 1;
        self.current[process.index()] = fresh;
        fresh
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::Causality as Relation;

    use super::*;

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);

    #[test]
    fn receiver_follows_sender_and_others_are_concurrent() {
        let mut causality = VectorClocks::new(3);
        causality.tick(ONE);
        let before = causality.clock(ONE, CausalityScope::Protocol);
        let carried = causality.acquire_cell(ONE);
        causality.tick(TWO);
        let apart = causality.clock(TWO, CausalityScope::Protocol);
        assert_eq!(before.causality(&apart), Relation::Concurrent);
        causality.merge_and_release_cell(TWO, carried, CausalityScope::Protocol);
        causality.tick(TWO);
        let after = causality.clock(TWO, CausalityScope::Protocol);
        assert_eq!(before.causality(&after), Relation::Before);
    }

    #[test]
    fn application_messages_do_not_advance_protocol_clock() {
        let mut causality = VectorClocks::new(2);
        causality.tick(ONE);
        let carried = causality.acquire_cell(ONE);
        causality.merge_and_release_cell(TWO, carried, CausalityScope::All);
        assert_eq!(causality.clock(TWO, CausalityScope::All).count(ONE), 1);
        assert_eq!(causality.clock(TWO, CausalityScope::Protocol).count(ONE), 0);
    }

    #[test]
    fn message_carries_clock_at_sending() {
        let mut causality = VectorClocks::new(2);
        let carried = causality.acquire_cell(ONE);
        causality.tick(ONE);
        causality.merge_and_release_cell(TWO, carried, CausalityScope::Protocol);
        assert_eq!(causality.clock(TWO, CausalityScope::Protocol).count(ONE), 0);
    }

    #[test]
    fn cells_are_reused() {
        let mut causality = VectorClocks::new(2);
        for _ in 0..1000 {
            causality.tick(ONE);
            let carried = causality.acquire_cell(ONE);
            causality.merge_and_release_cell(TWO, carried, CausalityScope::Protocol);
        }
        assert!(causality.holders.len() <= 4, "{} cells", causality.holders.len());
    }
}
