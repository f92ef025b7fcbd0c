//! What a trace says of each process: who waits, who is inside, who leads.

use tenure_core::service::{election, mutex};
use tenure_core::{ProcessId, Term, Verdict};
use tenure_trace::{Kind, Record, Who};

/// Where a user of a lock stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    #[default]
    Idle,
    Waiting,
    Inside,
}

/// What the trace says of a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) hold: Hold,
    /// Whether a user who is inside has asked to exit.
    pub(crate) leaving: bool,
    /// Whom it believes in.
    pub(crate) leader: Option<(ProcessId, Term)>,
    pub(crate) suspects: Vec<ProcessId>,
}

/// What these records say of each of so many processes.
pub(crate) fn standings(size: usize, records: &[Record]) -> Vec<Standing> {
    let mut all = vec![Standing::default(); size];
    for record in records {
        if let Who::Process(at) = record.process
            && let Some(standing) = all.get_mut(at.index())
        {
            standing.read(&record.kind);
        }
    }
    all
}

impl Standing {
    fn read(&mut self, kind: &Kind) {
        match kind {
            Kind::Command(asked) => match asked.mutex() {
                Some(mutex::Command::Enter) => self.hold = Hold::Waiting,
                Some(mutex::Command::Exit) => self.leaving = true,
                None => {}
            },
            Kind::Event(told) => {
                match told.mutex() {
                    Some(mutex::Event::Entered { .. }) => self.hold = Hold::Inside,
                    Some(mutex::Event::Exited) => (self.hold, self.leaving) = (Hold::Idle, false),
                    None => {}
                }
                match told.election() {
                    Some(election::Event::Elected { leader, term }) => {
                        self.leader = Some((*leader, *term));
                    }
                    Some(election::Event::Deposed { .. }) => self.leader = None,
                    None => {}
                }
            }
            Kind::Suspicion { peer, verdict } => {
                self.suspects.retain(|suspect| suspect != peer);
                if *verdict == Verdict::Suspect {
                    self.suspects.push(*peer);
                    self.suspects.sort_unstable();
                }
            }
            Kind::Crash | Kind::Recover => *self = Standing::default(),
            _ => {}
        }
    }
}
