//! What there is to see of a paused run.

use serde_json::Value;
use tenure_core::{Labelled, ProcessId};
use tenure_sim::{Next, Session};
use tenure_trace::{Pick, Recorded, state};

/// What there is to see of a paused run.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) time: u64,
    /// What a step would do; nothing at the end.
    pub(crate) next: Option<Next>,
    pub(crate) processes: Vec<Process>,
    pub(crate) messages: Vec<Message>,
}

/// A process.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) up: bool,
    pub(crate) state: Value,
    /// Names and when they fire, in ticks.
    pub(crate) timers: Vec<(String, u64)>,
}

/// A message under way.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    pub(crate) kind: &'static str,
    pub(crate) says: String,
    pub(crate) due: u64,
    pub(crate) pick: Pick,
}

impl Look {
    pub(crate) fn at<P: Recorded>(session: &Session<'_, P>) -> Self {
        let armed = session.timers();
        let process = |(place, process): (usize, &P)| {
            let at = ProcessId::at(place);
            let mine = armed.iter().filter(|(whose, ..)| *whose == at);
            Process {
                up: session.is_up(at),
                state: state::tree(process),
                timers: mine.map(|(_, timer, due)| (format!("{timer:?}"), *due)).collect(),
            }
        };
        let message = |sent: tenure_sim::UnderWay<'_, P::Message>| Message {
            id: sent.id,
            number: sent.number,
            from: sent.from,
            to: sent.to,
            kind: sent.message.label().kind,
            says: format!("{:?}", sent.message),
            due: sent.due,
            pick: sent.pick,
        };
        Look {
            time: session.now(),
            next: session.next(),
            processes: session.processes().iter().enumerate().map(process).collect(),
            messages: session.under_way().into_iter().map(message).collect(),
        }
    }
}
