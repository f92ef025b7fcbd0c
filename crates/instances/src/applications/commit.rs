//! Transactions in which all take part or none.

use std::collections::BTreeMap;

use tenure_algorithms::Variants;
use tenure_algorithms::application::two_phase_commit::{self, Switch};
use tenure_algorithms::application::{
    Application, ThreePhaseCommit, TwoPhaseCommit, three_phase_commit,
};
use tenure_core::service::commit::{Command, Event};
use tenure_core::service::led;
use tenure_core::{Order, ProcessId, TICKS_PER_UNIT, Term};
use tenure_sim::{Fault, Memory, Recovery, RunError, Settings, Span, When};

use super::{ELECTION, first_wins, run, simulation};

/// One transaction, and what goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Transacting {
    /// How many processes. The first coordinates, the others are the p participants.
    pub size: u32,
    /// Who votes no.
    pub against: Vec<ProcessId>,
    /// How long after it began the transaction the coordinator crashes, in ticks; `None`: never.
    /// A message takes one unit, so it has all votes two units after.
    pub crash: Option<u64>,
    /// How long the coordinator is down, in ticks; `None`: for ever. It comes back with its log.
    pub recovery: Option<u64>,
    /// How long after it began the transaction the coordinator is cut off from the others, in
    /// ticks; `None`: never. Both sides take each other for dead from then on.
    pub cut: Option<u64>,
    /// By which algorithm.
    pub phases: Phases,
}

/// How it is agreed whether a transaction commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// Who has voted yes waits for the decision; with these variants.
    Two(Variants<Switch>),
    /// Before the decision all get to know that all have voted yes; with these variants.
    Three(Variants<three_phase_commit::Switch>),
}

impl Transacting {
    /// All vote yes, and nothing goes wrong.
    pub fn among(size: u32) -> Self {
        Transacting {
            size,
            against: Vec::new(),
            crash: None,
            recovery: None,
            cut: None,
            phases: Phases::Two(Variants::none()),
        }
    }
}

/// What became of the transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Transacted {
    /// By process: whether it commits; `None` where it was told nothing.
    pub decided: Vec<Option<bool>>,
    /// Who has voted yes and was never told the decision.
    pub blocked: Vec<ProcessId>,
    /// When the last one was told the decision, in ticks after the transaction began.
    pub lasted: Option<u64>,
    /// Who led, one after the other.
    pub leaders: Vec<Term>,
    /// How many messages of each kind were sent.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Elects a coordinator that begins one transaction.
///
/// # Errors
///
/// [`RunError`] when the parameters make no sense.
///
/// ```
/// use tenure_instances::applications::commit::{Transacting, transact};
///
/// let done = transact(&Transacting::among(4)).unwrap();
/// assert_eq!(done.decided, [Some(true); 4]);
/// // 3p messages and p acknowledgements.
/// let kinds = ["prepare", "vote", "decision", "acknowledgement"];
/// assert_eq!(kinds.map(|kind| done.messages[kind]), [3; 4]);
/// ```
pub fn transact(transacting: &Transacting) -> Result<Transacted, RunError> {
    match transacting.phases {
        Phases::Two(variants) => {
            transact_by::<TwoPhaseCommit>(two_phase_commit::Config { variants }, transacting)
        }
        Phases::Three(variants) => {
            transact_by::<ThreePhaseCommit>(three_phase_commit::Config { variants }, transacting)
        }
    }
}

fn transact_by<A>(config: A::Config, transacting: &Transacting) -> Result<Transacted, RunError>
where
    A: Application<Command = Command, Event = Event>,
{
    let size = transacting.size;
    let mut settings = Settings::new(size);
    settings.network.latency = Span::units(1).into();
    settings.network.order = Some(Order::Fifo);
    // The first survey is over by then.
    let begin = ELECTION + 20 * TICKS_PER_UNIT;
    let faults = [transacting.crash, transacting.recovery, transacting.cut];
    let faults: u64 = faults.iter().flatten().sum();
    settings.limits.until = Some(begin + faults + 40 * TICKS_PER_UNIT * u64::from(size));
    if let Some(after) = transacting.cut {
        settings.faults.extend(parted(size, begin + after));
    }
    if let Some(after) = transacting.crash {
        let down = |after| Recovery { after, memory: Memory::Stable };
        settings.faults.push(Fault::Crash {
            process: ProcessId(0),
            when: When::At(begin + after),
            recovery: transacting.recovery.map(down),
        });
    }
    let election = first_wins(size, TICKS_PER_UNIT);
    let mut simulation = simulation::<A>(config, election, settings);
    for process in &transacting.against {
        let veto = led::Command::Application(Command::Veto);
        simulation = simulation.command(0, *process, veto);
    }
    let of_application = led::Command::Application(Command::Begin);
    let run = run(&simulation.command(begin, ProcessId(0), of_application))?;
    let mut done = Transacted {
        decided: vec![None; size as usize],
        blocked: Vec::new(),
        lasted: None,
        leaders: run.terms(),
        messages: run.messages(),
    };
    for (at, process, event) in run.told() {
        match event {
            Event::Prepared { .. } => done.blocked.push(process),
            Event::Committed { .. } | Event::Aborted { .. } => {
                done.blocked.retain(|waits| *waits != process);
                done.decided[process.index()] = Some(matches!(event, Event::Committed { .. }));
                done.lasted = Some(at - begin);
            }
            Event::Refused => {}
        }
    }
    Ok(done)
}

/// The first process and the others are two sides from then on, and each suspects the other.
fn parted(size: u32, from: u64) -> Vec<Fault> {
    let first = ProcessId(0);
    let mut faults = vec![Fault::Partition { side: vec![first], from, until: None }];
    for other in (1..size).map(ProcessId) {
        for (observer, peer) in [(first, other), (other, first)] {
            faults.push(Fault::Suspicion { observer, peer, from, until: None });
        }
    }
    faults
}
