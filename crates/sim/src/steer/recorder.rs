use std::fmt;
use std::io::Write;

use tenure_core::{ProcessId, VectorClock};
use tenure_trace::state::States;
use tenure_trace::{Header, Kind, Passage, Record, Who, WriteError, Writer};

/// Writes what happens as a trace.
pub(crate) struct Recorder {
    writer: Writer<Box<dyn Write + Send>>,
    /// The first write that failed; nothing is written after it.
    error: Option<WriteError>,
    tickets: Vec<Ticket>,
    free: Vec<u32>,
    numbers: u64,
    told: u64,
    /// The states that were written, where they are wanted.
    pub(crate) states: Option<States>,
}

/// What the trace must still know of a message when it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    pub(crate) number: u64,
    pub(crate) session: u64,
    /// The vector clock that the message carries, where clocks are kept.
    pub(crate) clock: Option<u32>,
    copies: u32,
}

impl Recorder {
    pub(crate) fn new(
        to: Box<dyn Write + Send>,
        header: &Header,
        states: bool,
    ) -> Result<Self, WriteError> {
        Ok(Recorder {
            writer: Writer::new(to, header)?,
            error: None,
            tickets: Vec::new(),
            free: Vec::new(),
            numbers: 0,
            told: 0,
            states: states.then(States::default),
        })
    }

    pub(crate) fn record(
        &mut self,
        time: u64,
        who: impl Into<Who>,
        session: u64,
        kind: Kind,
        clock: Option<VectorClock>,
    ) {
        if self.error.is_some() {
            return;
        }
        self.told += u64::from(matches!(kind, Kind::Event(_)));
        let record = Record { clock, ..Record::new(time, who, kind).in_session(session) };
        self.error = self.writer.write(record).err();
    }

    /// A ticket for one message, with a number of its own.
    pub(crate) fn ticket(&mut self, session: u64, clock: Option<u32>) -> u32 {
        self.numbers += 1;
        let ticket = Ticket { number: self.numbers, session, clock, copies: 1 };
        if let Some(place) = self.free.pop() {
            self.tickets[place as usize] = ticket;
            return place;
        }
        self.tickets.push(ticket);
        u32::try_from(self.tickets.len() - 1).expect("fewer than 2^32 messages are under way")
    }

    pub(crate) fn look(&self, ticket: u32) -> Ticket {
        self.tickets[ticket as usize]
    }

    pub(crate) fn copy(&mut self, ticket: u32) {
        self.tickets[ticket as usize].copies += 1;
    }

    /// One copy of the message is gone. Returns what its ticket said.
    pub(crate) fn hand_in(&mut self, ticket: u32) -> Ticket {
        let place = &mut self.tickets[ticket as usize];
        place.copies -= 1;
        let known = *place;
        if known.copies == 0 {
            self.free.push(ticket);
        }
        known
    }

    /// How many records were written.
    pub(crate) fn records(&self) -> u64 {
        self.writer.sequence()
    }

    /// How often users were told something.
    pub(crate) const fn told(&self) -> u64 {
        self.told
    }

    /// Writes what is buffered.
    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.writer.flush(),
        }
    }
}

impl Ticket {
    /// The passage of the message that has this ticket, seen from the other end than `peer`.
    pub(crate) fn passage(
        self,
        message: &(impl tenure_core::Labelled + serde::Serialize),
        peer: ProcessId,
    ) -> Passage {
        Passage::of(message, peer, self.session, self.number).saying(message)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}
