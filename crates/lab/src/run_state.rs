//! State of a run at one moment, as the page shows it.

use serde_json::Value;
use tenure_core::{Labelled, ProcessId};
use tenure_sim::{InteractiveRun, NextStep};
use tenure_trace::{MessageSelector, RecordableProtocol, state};

/// State of a run: its time in ticks, the next step, the processes by index, and the messages in
/// flight.
#[derive(Clone, Debug)]
pub(crate) struct RunState {
    pub(crate) time: u64,
    /// Description of the next step. `None` at the end of the run.
    pub(crate) next: Option<NextStep>,
    pub(crate) processes: Vec<ProcessView>,
    pub(crate) messages: Vec<MessageView>,
}

/// State of one process. `state` is the debug format of the process as JSON.
#[derive(Clone, Debug)]
pub(crate) struct ProcessView {
    pub(crate) up: bool,
    pub(crate) state: Value,
    /// Names of the armed timers, with the times at which they fire, in ticks.
    pub(crate) timers: Vec<(String, u64)>,
}

/// A message in flight, as [`InFlightMessage`](tenure_sim::InFlightMessage) describes it.
#[derive(Clone, Debug)]
pub(crate) struct MessageView {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    pub(crate) kind: &'static str,
    pub(crate) description: String,
    pub(crate) due: u64,
    pub(crate) pick: MessageSelector,
}

impl RunState {
    pub(crate) fn from_run<P: RecordableProtocol>(run: &InteractiveRun<'_, P>) -> Self {
        let armed = run.timers();
        let process = |(place, process): (usize, &P)| {
            let at = ProcessId::from_index(place);
            let mine = armed.iter().filter(|(whose, ..)| *whose == at);
            ProcessView {
                up: run.is_up(at),
                state: state::debug_tree(process),
                timers: mine.map(|(_, timer, due)| (format!("{timer:?}"), *due)).collect(),
            }
        };
        let message = |sent: tenure_sim::InFlightMessage<'_, P::Message>| MessageView {
            id: sent.id,
            number: sent.number,
            from: sent.from,
            to: sent.to,
            kind: sent.message.label().kind,
            description: format!("{:?}", sent.message),
            due: sent.due,
            pick: sent.selector,
        };
        RunState {
            time: run.now(),
            next: run.describe_next_step(),
            processes: run.processes().iter().enumerate().map(process).collect(),
            messages: run.in_flight().into_iter().map(message).collect(),
        }
    }
}
