//! Users of a lock that ask at random, and the monitors that watch them.

use tenure_core::monitors::{Bypass, Fencing, MutualExclusion};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Card, Fence, Monitor, Mutex, Order, ProcessId, Verdict};

use super::p;
use tenure_trace::{Dice, Seen, Stage};

/// The numbers of nobody.
pub(crate) const NOBODY: [u32; 0] = [];

/// Who has entered since this was last asked, in order, by number.
pub(crate) fn entered<P: Mutex>(stage: &mut Stage<P>) -> Vec<u32> {
    let seen = stage.take_seen().into_iter();
    seen.filter(|(_, seen)| matches!(seen, Seen::Event(Event::Entered { .. })))
        .map(|(at, _)| at.number())
        .collect()
}

/// The fences of those who have entered since this was last asked, in order.
pub(crate) fn fences<P: Mutex>(stage: &mut Stage<P>) -> Vec<Fence> {
    let fence = |(_, seen)| match seen {
        Seen::Event(Event::Entered { fence }) => Some(fence),
        _ => None,
    };
    stage.take_seen().into_iter().filter_map(fence).collect()
}

/// A process crashes, and all the others get to know.
pub(crate) fn dies<P: Mutex>(stage: &mut Stage<P>, process: u32) {
    stage.crash(p(process));
    for peer in stage.live() {
        stage.suspicion(peer, p(process), Verdict::Suspect);
    }
}

/// What a random run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) messages: u64,
    pub(crate) entries: u64,
    /// The most entries of one process while another waited.
    pub(crate) bypass: u32,
}

/// How to move the stage, and how far.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) order: Order,
    /// By process, how often it enters.
    pub(crate) entries: Vec<u32>,
    /// How many messages are duplicated.
    pub(crate) duplicates: u32,
    /// How many messages are lost.
    pub(crate) losses: u32,
    pub(crate) seed: u64,
}

impl Plan {
    /// Every process so often, without a fault.
    pub(crate) fn of(order: Order, entries: &[u32]) -> Plan {
        Plan { order, entries: entries.to_vec(), duplicates: 0, losses: 0, seed: 0 }
    }

    /// The same, and so many messages are duplicated.
    pub(crate) fn duplicating(&self, messages: u32) -> Plan {
        Plan { duplicates: messages, ..self.clone() }
    }

    /// The same with another seed.
    pub(crate) fn seeded(&self, seed: u64) -> Plan {
        Plan { seed, ..self.clone() }
    }

    /// The same, and so many messages are lost.
    pub(crate) fn losing(&self, messages: u32) -> Plan {
        Plan { losses: messages, ..self.clone() }
    }
}

/// Lets one process enter and leave, and everything arrive; how many messages that took.
pub(crate) fn enter_and_exit<P: Mutex>(stage: &mut Stage<P>, number: u32) -> u64 {
    let before = stage.total_sent();
    stage.take_seen();
    stage.command(p(number), Command::Enter);
    stage.drain(&mut Dice(0));
    assert_eq!(entered(stage), [number]);
    stage.command(p(number), Command::Exit);
    stage.drain(&mut Dice(0));
    stage.total_sent() - before
}

/// Whether some seed of many finds a violation or a dead end that `says` describes.
pub(crate) fn is_caught<P: Mutex>(config: &P::Config, plan: &Plan, says: &str) -> bool {
    let run = |seed| run::<P>(config.clone(), &plan.seeded(seed));
    (0..4000).filter_map(|seed| run(seed).err()).any(|violation| violation.contains(says))
}

/// What may still go wrong.
struct Faults {
    duplicates: u32,
    losses: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Idle,
    Waiting,
    Inside,
}

/// The monitors of a lock, and where its users stand.
struct Watch {
    exclusion: MutualExclusion,
    /// Where entries carry fences.
    fencing: Option<Fencing>,
    bypass: Bypass,
    users: Vec<User>,
    entries: u64,
}

impl Watch {
    fn see<P: Mutex>(&mut self, at: ProcessId, seen: &Seen<P>) -> Result<(), String> {
        shown(&mut self.exclusion, at, seen)?;
        if let Some(fencing) = &mut self.fencing {
            shown(fencing, at, seen)?;
        }
        shown(&mut self.bypass, at, seen)?;
        match seen {
            Seen::Command(Command::Enter) => self.users[at.index()] = User::Waiting,
            Seen::Event(Event::Entered { .. }) => {
                self.users[at.index()] = User::Inside;
                self.entries += 1;
            }
            Seen::Event(Event::Exited) => self.users[at.index()] = User::Idle,
            _ => {}
        }
        Ok(())
    }
}

/// A monitor sees what happened; what is violated, and how.
fn shown<P: Mutex>(
    monitor: &mut impl Monitor<Command, Event>,
    at: ProcessId,
    seen: &Seen<P>,
) -> Result<(), String> {
    let judged = monitor.observe(at, seen.observed());
    judged.map_err(|violation| format!("{}: {violation}", monitor.property()))
}

/// Runs a random schedule to its end: everybody has entered as often as planned, or nobody who
/// waits can.
pub(crate) fn run<P: Mutex>(config: P::Config, plan: &Plan) -> Result<Outcome, String> {
    run_watched::<P>(config, plan, MutualExclusion::new(), Some(Fencing::new()))
}

/// The same, judged by what a card promises.
pub(crate) fn run_as<P: Mutex>(
    card: &Card,
    config: P::Config,
    plan: &Plan,
) -> Result<Outcome, String> {
    let exclusion = match card.most_inside() {
        1 => MutualExclusion::new(),
        most => MutualExclusion::at_most(most),
    };
    run_watched::<P>(config, plan, exclusion, card.fenced().then(Fencing::new))
}

fn run_watched<P: Mutex>(
    config: P::Config,
    plan: &Plan,
    exclusion: MutualExclusion,
    fencing: Option<Fencing>,
) -> Result<Outcome, String> {
    let size = u32::try_from(plan.entries.len()).expect("few processes");
    let mut stage = Stage::<P>::alike(size, plan.order, config);
    let mut dice = Dice(plan.seed);
    let mut left = plan.entries.clone();
    let mut faults = Faults { duplicates: plan.duplicates, losses: plan.losses };
    let mut watch = Watch {
        exclusion,
        fencing,
        bypass: Bypass::unbounded(),
        users: vec![User::Idle; size as usize],
        entries: 0,
    };
    for step in 0..1_000_000_u32 {
        for (at, seen) in stage.take_seen() {
            watch.see(at, &seen).map_err(|violation| format!("step {step}: {violation}"))?;
        }
        let done = left.iter().all(|left| *left == 0);
        if done && watch.users.iter().all(|user| *user == User::Idle) {
            stage.drain(&mut dice);
            let (messages, entries) = (stage.total_sent(), watch.entries);
            return Ok(Outcome { messages, entries, bypass: watch.bypass.worst() });
        }
        if !move_one(&mut stage, &mut watch, &mut left, &mut faults, &mut dice) {
            return Err(format!("step {step}: blocked, {:?}", watch.users));
        }
    }
    Err("endless".into())
}

/// Does one of the things that can happen; tells whether there was one.
fn move_one<P: Mutex>(
    stage: &mut Stage<P>,
    watch: &mut Watch,
    left: &mut [u32],
    faults: &mut Faults,
    dice: &mut Dice,
) -> bool {
    let links = stage.busy_links();
    let timers = stage.armed_timers();
    let able: Vec<ProcessId> = stage
        .everybody()
        .into_iter()
        .filter(|at| match watch.users[at.index()] {
            User::Idle => left[at.index()] > 0,
            User::Waiting => false,
            User::Inside => true,
        })
        .collect();
    let choices = links.len() + timers.len() + able.len();
    if choices == 0 {
        return false;
    }
    let choice = dice.below(choices);
    if let Some(link) = links.get(choice) {
        if faults.losses > 0 && dice.one_in(4) {
            faults.losses -= 1;
            stage.lose(*link);
            return true;
        }
        if faults.duplicates > 0 && dice.one_in(4) {
            faults.duplicates -= 1;
            stage.duplicate(*link);
        }
        stage.deliver(*link, dice);
    } else if let Some((at, timer)) = timers.get(choice - links.len()) {
        stage.fire(*at, timer.clone());
    } else {
        let at = able[choice - links.len() - timers.len()];
        if watch.users[at.index()] == User::Inside {
            stage.command(at, Command::Exit);
        } else {
            left[at.index()] -= 1;
            stage.command(at, Command::Enter);
        }
    }
    true
}
