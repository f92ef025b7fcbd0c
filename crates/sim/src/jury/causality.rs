use tenure_core::{Layer, ProcessId, VectorClock};

/// Through which messages one event can happen before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// The service's own: requests, replies, tokens, elections.
    Protocol,
    /// Those of channels, detectors and the application as well.
    All,
}

impl Through {
    /// The narrowest scope that counts a message of this layer.
    pub(crate) const fn of(layer: Layer) -> Self {
        match layer {
            Layer::Mutex | Layer::Election | Layer::Agreement => Through::Protocol,
            Layer::Detector | Layer::Channel | Layer::Application => Through::All,
        }
    }
}

/// The harness's vector clocks: one for each process, and one on every message under way.
///
/// Clocks that nobody changes are shared, so a broadcast carries one clock and not n of them;
/// cells are reused, so a long run allocates nothing. Each cell holds one clock, or two from
/// the first message that is not the service's own: by the service's messages, and by all.
#[derive(Debug)]
pub(crate) struct Causality {
    size: usize,
    /// How many numbers a cell has: `size`, or twice that.
    width: usize,
    cells: Vec<u64>,
    holders: Vec<u32>,
    free: Vec<u32>,
    current: Vec<u32>,
}

impl Causality {
    /// All at zero.
    pub(crate) fn new(size: u32) -> Self {
        let (holders, size) = (vec![size], size as usize);
        let (cells, current) = (vec![0; size], vec![0; size]);
        Causality { size, width: size, cells, holders, free: Vec::new(), current }
    }

    /// Keeps the two scopes apart from now on; so far they were the same.
    #[cold]
    fn split(&mut self) {
        let halves = self.cells.chunks(self.size).flat_map(|cell| [cell, cell]);
        self.cells = halves.flatten().copied().collect();
        self.width = 2 * self.size;
    }

    /// Counts one more event of `process`.
    pub(crate) fn tick(&mut self, process: ProcessId) {
        let cell = self.own(process) as usize * self.width;
        self.cells[cell + process.index()] += 1;
        if self.width > self.size {
            self.cells[cell + self.size + process.index()] += 1;
        }
    }

    /// What `process` knows now, for a message to carry.
    pub(crate) fn share(&mut self, process: ProcessId) -> u32 {
        let cell = self.current[process.index()];
        self.holders[cell as usize] += 1;
        cell
    }

    /// One more message carries the same.
    pub(crate) fn share_again(&mut self, cell: u32) {
        self.holders[cell as usize] += 1;
    }

    /// A message is gone.
    pub(crate) fn release(&mut self, cell: u32) {
        let holders = &mut self.holders[cell as usize];
        *holders -= 1;
        if *holders == 0 {
            self.free.push(cell);
        }
    }

    /// `process` receives a message that carries `cell`, which is released.
    pub(crate) fn learn(&mut self, process: ProcessId, cell: u32, through: Through) {
        if through == Through::All && self.width == self.size {
            self.split();
        }
        let known = self.current[process.index()];
        if known != cell {
            let (first, last) = match through {
                Through::Protocol => (0, self.width),
                Through::All => (self.width - self.size, self.width),
            };
            let (theirs, mine) = (cell as usize * self.width, known as usize * self.width);
            let news = (first..last).any(|i| self.cells[theirs + i] > self.cells[mine + i]);
            if news {
                let mine = self.own(process) as usize * self.width;
                for place in first..last {
                    let other = self.cells[theirs + place];
                    let known = &mut self.cells[mine + place];
                    *known = other.max(*known);
                }
            }
        }
        self.release(cell);
    }

    /// The clock of `process`.
    pub(crate) fn clock(&self, process: ProcessId, through: Through) -> VectorClock {
        let cell = self.current[process.index()] as usize * self.width;
        let first = match through {
            Through::Protocol => cell,
            Through::All => cell + self.width - self.size,
        };
        VectorClock::from(self.cells[first..first + self.size].to_vec())
    }

    /// A cell that only `process` holds, with what it knows.
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
    fn a_receiver_comes_after_the_sender_and_strangers_are_concurrent() {
        let mut causality = Causality::new(3);
        causality.tick(ONE);
        let before = causality.clock(ONE, Through::Protocol);
        let carried = causality.share(ONE);
        causality.tick(TWO);
        let apart = causality.clock(TWO, Through::Protocol);
        assert_eq!(before.causality(&apart), Relation::Concurrent);
        causality.learn(TWO, carried, Through::Protocol);
        causality.tick(TWO);
        let after = causality.clock(TWO, Through::Protocol);
        assert_eq!(before.causality(&after), Relation::Before);
    }

    #[test]
    fn what_the_application_says_is_unknown_to_the_protocol() {
        let mut causality = Causality::new(2);
        causality.tick(ONE);
        let carried = causality.share(ONE);
        causality.learn(TWO, carried, Through::All);
        assert_eq!(causality.clock(TWO, Through::All).of(ONE), 1);
        assert_eq!(causality.clock(TWO, Through::Protocol).of(ONE), 0);
    }

    #[test]
    fn a_message_keeps_what_its_sender_knew_then() {
        let mut causality = Causality::new(2);
        let carried = causality.share(ONE);
        causality.tick(ONE);
        causality.learn(TWO, carried, Through::Protocol);
        assert_eq!(causality.clock(TWO, Through::Protocol).of(ONE), 0);
    }

    #[test]
    fn cells_are_reused() {
        let mut causality = Causality::new(2);
        for _ in 0..1000 {
            causality.tick(ONE);
            let carried = causality.share(ONE);
            causality.learn(TWO, carried, Through::Protocol);
        }
        assert!(causality.holders.len() <= 4, "{} cells", causality.holders.len());
    }
}
