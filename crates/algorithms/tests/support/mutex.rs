//! Users of a lock with random schedules, and the monitors that check the lock.

use tenure_core::monitors::{Bypass, Fencing, LocalMutualExclusion, MutualExclusion};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Card, ChannelOrder, Fence, Monitor, Mutex, ProcessId};

use super::{command_and_drain, events, p, processes_with, restart};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

pub(crate) const NONE: [u32; 0] = [];

/// Returns the numbers of the processes that entered since the last call, in the order of their
/// entries.
pub(crate) fn entered<P: Mutex>(cluster: &mut TestCluster<P>) -> Vec<u32> {
    processes_with(cluster, |event| matches!(event, Event::Entered { .. }))
}

pub(crate) fn exited<P: Mutex>(cluster: &mut TestCluster<P>) -> Vec<u32> {
    processes_with(cluster, |event| *event == Event::Exited)
}

pub(crate) fn fences<P: Mutex>(cluster: &mut TestCluster<P>) -> Vec<Fence> {
    let fence = |(_, event)| match event {
        Event::Entered { fence } => Some(fence),
        Event::Exited => None,
    };
    events(cluster).into_iter().filter_map(fence).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) messages: u64,
    pub(crate) entries: u64,
    /// Largest number of entries by one process while another process waited.
    pub(crate) bypass: u32,
}

/// Parameters of a random run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) order: ChannelOrder,
    /// For each process, by index: number of its entries.
    pub(crate) entries: Vec<u32>,
    pub(crate) duplicates: u32,
    pub(crate) losses: u32,
    pub(crate) seed: u64,
}

impl Plan {
    /// Returns a plan without faults, in which process *i* enters `entries[i]` times.
    pub(crate) fn of(order: ChannelOrder, entries: &[u32]) -> Plan {
        Plan { order, entries: entries.to_vec(), duplicates: 0, losses: 0, seed: 0 }
    }

    pub(crate) fn duplicating(&self, messages: u32) -> Plan {
        Plan { duplicates: messages, ..self.clone() }
    }

    pub(crate) fn seeded(&self, seed: u64) -> Plan {
        Plan { seed, ..self.clone() }
    }

    pub(crate) fn losing(&self, messages: u32) -> Plan {
        Plan { losses: messages, ..self.clone() }
    }
}

/// Lets one process enter and exit, and delivers all messages. Returns the number of messages.
pub(crate) fn enter_and_exit<P: Mutex>(cluster: &mut TestCluster<P>, number: u32) -> u64 {
    let before = cluster.total_sent();
    cluster.take_events();
    command_and_drain(cluster, number, Command::Enter);
    assert_eq!(entered(cluster), [number]);
    command_and_drain(cluster, number, Command::Exit);
    cluster.total_sent() - before
}

/// Runs a plan with the first `seeds` seeds. Asserts that no run violates a property or ends in a
/// deadlock.
#[track_caller]
pub(crate) fn check_seeds<P: Mutex>(config: &P::Config, plan: &Plan, seeds: u64) {
    for seed in 0..seeds {
        let outcome = run::<P>(config.clone(), &plan.seeded(seed));
        outcome.unwrap_or_else(|error| panic!("{plan:?}, seed {seed}: {error}"));
    }
}

/// Runs the plan with many seeds. Returns true if at least one run violates a property or deadlocks
/// with a description that contains `expected`.
pub(crate) fn is_caught<P: Mutex>(config: &P::Config, plan: &Plan, expected: &str) -> bool {
    let run = |seed| run::<P>(config.clone(), &plan.seeded(seed));
    (0..4000).filter_map(|seed| run(seed).err()).any(|violation| violation.contains(expected))
}

/// Faults that the run may still inject.
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

/// Monitors of a lock, and the state of each of its users.
struct Watcher {
    exclusion: MutualExclusion,
    /// Monitor of mutual exclusion between neighbours in a graph of conflicts. `None` if the lock
    /// has no such graph.
    local: Option<LocalMutualExclusion>,
    /// Monitor of the fences. `None` if entries have no fences.
    fencing: Option<Fencing>,
    bypass: Bypass,
    users: Vec<User>,
    entries: u64,
}

impl Watcher {
    fn observe<P: Mutex>(&mut self, at: ProcessId, seen: &ProcessEvent<P>) -> Result<(), String> {
        feed(&mut self.exclusion, at, seen)?;
        if let Some(local) = &mut self.local {
            feed(local, at, seen)?;
        }
        if let Some(fencing) = &mut self.fencing {
            feed(fencing, at, seen)?;
        }
        feed(&mut self.bypass, at, seen)?;
        match seen {
            ProcessEvent::Command(Command::Enter) => self.users[at.index()] = User::Waiting,
            ProcessEvent::Event(Event::Entered { .. }) => {
                self.users[at.index()] = User::Inside;
                self.entries += 1;
            }
            ProcessEvent::Event(Event::Exited) => self.users[at.index()] = User::Idle,
            _ => {}
        }
        Ok(())
    }
}

/// Checks a cluster of two processes in which P1 may enter without messages. P1 must enter again
/// and again until the request of P2 arrives.
#[track_caller]
pub(crate) fn check_reentry<P: Mutex>(cluster: &mut TestCluster<P>) {
    cluster.issue_command(p(2), Command::Enter);
    for _ in 0..20 {
        cluster.issue_command(p(1), Command::Enter);
        cluster.issue_command(p(1), Command::Exit);
    }
    assert_eq!(entered(cluster), [1; 20]);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(cluster), [2]);
}

/// For each pair of processes in `handovers`: lets the first process exit the critical section, and
/// checks that the second process then enters. Also checks that the first process sends exactly one
/// message to the second process.
#[track_caller]
pub(crate) fn check_handovers<P: Mutex>(cluster: &mut TestCluster<P>, handovers: &[(u32, u32)]) {
    for (leaves, enters) in handovers {
        cluster.issue_command(p(*leaves), Command::Exit);
        assert_eq!(
            cluster.messages_on_link((p(*leaves), p(*enters))).len(),
            1,
            "from exit to entry"
        );
        cluster.deliver_all(&mut SplitMix64(0));
        assert_eq!(entered(cluster), [*enters]);
    }
}

/// Checks that no process enters after a restart of P1, which held the token.
#[track_caller]
pub(crate) fn check_token_loss<P: Mutex>(cluster: &mut TestCluster<P>) {
    restart(cluster, 1);
    cluster.process_ids().into_iter().for_each(|at| cluster.issue_command(at, Command::Enter));
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(entered(cluster), NONE);
}

fn feed<P: Mutex>(
    monitor: &mut impl Monitor<Command, Event>,
    at: ProcessId,
    seen: &ProcessEvent<P>,
) -> Result<(), String> {
    let result = monitor.observe(at, seen.to_observation());
    result.map_err(|violation| format!("{}: {violation}", monitor.property()))
}

/// Runs a random schedule until all planned entries have ended. Returns an error for a violation or
/// deadlock.
pub(crate) fn run<P: Mutex>(config: P::Config, plan: &Plan) -> Result<Outcome, String> {
    run_watched::<P>(config, plan, MutualExclusion::new(), (None, Some(Fencing::new())))
}

/// Runs a random schedule until all planned entries have ended. Checks mutual exclusion and fences
/// only as far as the [`Card`] of the algorithm promises them.
pub(crate) fn run_as<P: Mutex>(
    card: &Card,
    config: P::Config,
    plan: &Plan,
) -> Result<Outcome, String> {
    let exclusion = match card.max_inside() {
        1 => MutualExclusion::new(),
        most => MutualExclusion::at_most(most),
    };
    let local = card.conflict_graph().cloned().map(LocalMutualExclusion::with_conflicts);
    run_watched::<P>(config, plan, exclusion, (local, card.is_fenced().then(Fencing::new)))
}

fn run_watched<P: Mutex>(
    config: P::Config,
    plan: &Plan,
    exclusion: MutualExclusion,
    (local, fencing): (Option<LocalMutualExclusion>, Option<Fencing>),
) -> Result<Outcome, String> {
    let size = u32::try_from(plan.entries.len()).expect("few processes");
    let mut cluster = TestCluster::<P>::with_same_config(size, plan.order, config);
    let mut rng = SplitMix64(plan.seed);
    let mut left = plan.entries.clone();
    let mut faults = Faults { duplicates: plan.duplicates, losses: plan.losses };
    let mut watch = Watcher {
        exclusion,
        local,
        fencing,
        bypass: Bypass::unbounded(),
        users: vec![User::Idle; size as usize],
        entries: 0,
    };
    for step in 0..1_000_000_u32 {
        for (at, seen) in cluster.take_events() {
            watch.observe(at, &seen).map_err(|violation| format!("step {step}: {violation}"))?;
        }
        let done = left.iter().all(|left| *left == 0);
        if done && watch.users.iter().all(|user| *user == User::Idle) {
            cluster.deliver_all(&mut rng);
            let (messages, entries) = (cluster.total_sent(), watch.entries);
            return Ok(Outcome { messages, entries, bypass: watch.bypass.max_bypass() });
        }
        if !random_step(&mut cluster, &mut watch, &mut left, &mut faults, &mut rng) {
            return Err(format!("step {step}: blocked, {:?}", watch.users));
        }
    }
    Err("step limit exceeded".into())
}

/// Performs one random action. Returns false if no action is possible.
fn random_step<P: Mutex>(
    cluster: &mut TestCluster<P>,
    watch: &mut Watcher,
    left: &mut [u32],
    faults: &mut Faults,
    rng: &mut SplitMix64,
) -> bool {
    let links = cluster.links_in_use();
    let timers = cluster.armed_timers();
    let actors: Vec<ProcessId> = cluster
        .process_ids()
        .into_iter()
        .filter(|at| match watch.users[at.index()] {
            User::Idle => left[at.index()] > 0,
            User::Waiting => false,
            User::Inside => true,
        })
        .collect();
    let choices = links.len() + timers.len() + actors.len();
    if choices == 0 {
        return false;
    }
    let choice = rng.below(choices);
    if let Some(link) = links.get(choice) {
        if faults.losses > 0 && rng.one_in(4) {
            faults.losses -= 1;
            cluster.lose_oldest(*link);
            return true;
        }
        if faults.duplicates > 0 && rng.one_in(4) {
            faults.duplicates -= 1;
            cluster.duplicate_oldest(*link);
        }
        cluster.deliver(*link, rng);
    } else if let Some((at, timer)) = timers.get(choice - links.len()) {
        cluster.fire_timer(*at, timer.clone());
    } else {
        let at = actors[choice - links.len() - timers.len()];
        if watch.users[at.index()] == User::Inside {
            cluster.issue_command(at, Command::Exit);
        } else {
            left[at.index()] -= 1;
            cluster.issue_command(at, Command::Enter);
        }
    }
    true
}
