//! Random schedules of a lock whose coordinator is an elected leader. The schedules include
//! crashes, recoveries, and true and false suspicions. Timers may fire too early. Messages may be
//! lost, duplicated and reordered.
//!
//! If a test fails, it prints the seed and the steps of the run.

use std::collections::BTreeSet;
use std::ops::Range;

use tenure_algorithms::Variants;
use tenure_algorithms::channel::{FifoChannel, fifo};
use tenure_algorithms::compose::{CoordinatedLock, SideBySide, coordinated, side_by_side};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{Central, central};
use tenure_core::monitors::{
    ElectionProjection, Fencing, LeaderAgreement, MutexProjection, MutualExclusion,
};
use tenure_core::service::{election, mutex, mutex_and_election};
use tenure_core::{
    ChannelOrder, Fence, Monitor, MutexAndElection, Observation, PeerVerdict, ProcessId, Rank,
    TICKS_PER_TIME_UNIT, Violation,
};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

const ENTER: mutex_and_election::Command =
    mutex_and_election::Command::Mutex(mutex::Command::Enter);
const EXIT: mutex_and_election::Command = mutex_and_election::Command::Mutex(mutex::Command::Exit);
const ELECT: mutex_and_election::Command =
    mutex_and_election::Command::Election(election::Command::Elect);

/// Number of times that each fault may occur in a run.
#[derive(Clone, Copy, Debug)]
struct Budget {
    steps: u32,
    entries: u32,
    crashes: u32,
    false_suspicions: u32,
    losses: u32,
    duplicates: u32,
    /// True if timers fire while messages are in flight.
    early_timers: bool,
    /// True if a process may still be suspected for a while after it has recovered.
    late_trust: bool,
    /// True if at least one process never crashes. This process remembers every term, so the fence
    /// grows with each entry.
    witness: bool,
    fencing: bool,
}

const CALM: Budget = Budget {
    steps: 300,
    entries: 8,
    crashes: 0,
    false_suspicions: 0,
    losses: 0,
    duplicates: 0,
    early_timers: false,
    late_trust: false,
    witness: true,
    fencing: true,
};

/// Returns the fault budgets with which the test runs an algorithm. The tested algorithms tolerate
/// these faults.
fn budgets() -> Vec<Budget> {
    let crashes = Budget { crashes: 4, ..CALM };
    let amnesia = Budget { crashes: 5, witness: false, fencing: false, ..CALM };
    let deceived = Budget { fencing: false, ..CALM };
    let all = [
        CALM,
        crashes,
        amnesia,
        Budget { false_suspicions: 3, ..deceived },
        Budget { crashes: 2, late_trust: true, ..deceived },
        Budget { crashes: 5, false_suspicions: 3, late_trust: true, witness: false, ..deceived },
    ];
    all.into_iter().flat_map(|it| [it, Budget { early_timers: true, ..it }]).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Idle,
    Waiting,
    Inside,
}

struct RandomRun<P: MutexAndElection> {
    cluster: TestCluster<P>,
    rng: SplitMix64,
    left: Budget,
    witness: ProcessId,
    users: Vec<User>,
    /// Pairs (observer, suspected peer).
    suspicions: BTreeSet<(ProcessId, ProcessId)>,
    exclusion: MutexProjection<MutualExclusion>,
    fencing: MutexProjection<Fencing>,
    agreement: ElectionProjection<LeaderAgreement>,
    fences: BTreeSet<Fence>,
    /// True if a live process was suspected at any time.
    deceived: bool,
    /// Steps of the run in words. `None` if they are not recorded.
    steps: Option<Vec<String>>,
}

impl<P: MutexAndElection> RandomRun<P> {
    fn new(size: u32, order: ChannelOrder, config: P::Config, seed: u64, budget: Budget) -> Self {
        RandomRun {
            cluster: TestCluster::with_same_config(size, order, config),
            rng: SplitMix64(seed),
            left: budget,
            witness: ProcessId((seed % u64::from(size)) as u32),
            users: vec![User::Idle; size as usize],
            suspicions: BTreeSet::new(),
            exclusion: MutexProjection(MutualExclusion::new()),
            fencing: MutexProjection(Fencing::new()),
            agreement: ElectionProjection(LeaderAgreement::new()),
            fences: BTreeSet::new(),
            deceived: false,
            steps: None,
        }
    }

    /// Performs random events. Then ends all faults, lets the run continue until nothing is left to
    /// do, and checks the final state. Returns a description of the first violation as an error.
    fn run(&mut self) -> Result<(), String> {
        for _ in 0..self.left.steps {
            self.happen();
            self.judge()?;
        }
        self.heal();
        self.run_until_quiet()?;
        self.agreement.check_final_state().map_err(|violation| violation.to_string())?;
        match self.users.iter().position(|user| *user == User::Waiting) {
            Some(at) => Err(format!("{} waits for ever", ProcessId::from_index(at))),
            None => Ok(()),
        }
    }

    fn happen(&mut self) {
        match self.rng.below(12) {
            0 => self.user_acts(),
            1 if self.left.crashes > 0 && self.rng.one_in(3) => self.crash(),
            2 => self.recover(),
            3 | 4 => self.detector_speaks(),
            5 if self.left.false_suspicions > 0 => self.detector_errs(),
            6 => {
                let quiet = self.cluster.links_in_use().is_empty();
                if quiet || (self.left.early_timers && self.rng.one_in(4)) {
                    self.timer_fires();
                }
            }
            _ => self.message_arrives(),
        }
    }

    fn user_acts(&mut self) {
        let Some(at) = self.rng.pick(&self.cluster.live_processes()).copied() else { return };
        match self.users[at.index()] {
            User::Inside => self.ask(at, EXIT),
            User::Idle if self.left.entries > 0 => {
                self.left.entries -= 1;
                self.ask(at, ENTER);
            }
            User::Idle if self.rng.one_in(8) => self.ask(at, ELECT),
            User::Idle | User::Waiting => {}
        }
    }

    fn ask(&mut self, at: ProcessId, command: mutex_and_election::Command) {
        self.log_step(|| format!("{at} asks {command:?}"));
        self.cluster.issue_command(at, command);
    }

    fn crash(&mut self) {
        let live = self.cluster.live_processes();
        let at = live[self.rng.below(live.len())];
        if live.len() < 2 || (self.left.witness && at == self.witness) {
            return;
        }
        self.left.crashes -= 1;
        self.log_step(|| format!("{at} crashes"));
        self.cluster.crash(at);
        self.suspicions.retain(|(observer, _)| *observer != at);
    }

    fn recover(&mut self) {
        let mut down = self.cluster.process_ids();
        down.retain(|at| !self.cluster.is_up(*at));
        let Some(at) = self.rng.pick(&down).copied() else { return };
        self.log_step(|| format!("{at} recovers"));
        self.cluster.recover(at);
        let mut stale: Vec<_> = self.suspicions.iter().copied().collect();
        stale.retain(|(_, peer)| *peer == at);
        if self.left.late_trust {
            self.deceived |= !stale.is_empty();
        } else {
            stale.into_iter().for_each(|(observer, peer)| {
                self.report_verdict(observer, peer, PeerVerdict::Trust)
            });
        }
    }

    fn detector_speaks(&mut self) {
        let due = self.due();
        if let Some((observer, peer, verdict)) = self.rng.pick(&due).copied() {
            self.report_verdict(observer, peer, verdict);
        }
    }

    /// Returns the correct verdicts that the failure detectors have not reported yet. Each element
    /// contains the observer, the peer and the verdict.
    fn due(&self) -> Vec<(ProcessId, ProcessId, PeerVerdict)> {
        let mut due = Vec::new();
        for observer in self.cluster.live_processes() {
            for peer in self.cluster.process_ids().into_iter().filter(|peer| *peer != observer) {
                match (self.cluster.is_up(peer), self.suspicions.contains(&(observer, peer))) {
                    (false, false) => due.push((observer, peer, PeerVerdict::Suspect)),
                    (true, true) => due.push((observer, peer, PeerVerdict::Trust)),
                    _ => {}
                }
            }
        }
        due
    }

    fn detector_errs(&mut self) {
        let live = self.cluster.live_processes();
        let (observer, peer) = (live[self.rng.below(live.len())], live[self.rng.below(live.len())]);
        if observer != peer && !self.suspicions.contains(&(observer, peer)) {
            self.left.false_suspicions -= 1;
            self.deceived = true;
            self.report_verdict(observer, peer, PeerVerdict::Suspect);
        }
    }

    fn report_verdict(&mut self, observer: ProcessId, peer: ProcessId, verdict: PeerVerdict) {
        self.log_step(|| format!("the detector of {observer} reports {verdict:?} {peer}"));
        match verdict {
            PeerVerdict::Suspect => self.suspicions.insert((observer, peer)),
            PeerVerdict::Trust => self.suspicions.remove(&(observer, peer)),
        };
        self.cluster.report_suspicion(observer, peer, verdict);
    }

    fn timer_fires(&mut self) {
        let timers = self.cluster.armed_timers();
        if let Some((at, timer)) = self.rng.pick(&timers).cloned() {
            self.log_step(|| format!("{at}'s timer {timer:?} fires"));
            self.cluster.fire_timer(at, timer);
        }
    }

    fn message_arrives(&mut self) {
        let links = self.cluster.links_in_use();
        let Some(link) = self.rng.pick(&links).copied() else { return };
        if self.steps.is_some() {
            let line =
                format!("{}→{} has {:?}", link.0, link.1, self.cluster.messages_on_link(link));
            self.log_step(|| line);
        }
        if self.left.losses > 0 && self.rng.one_in(6) {
            self.left.losses -= 1;
            self.log_step(|| "    and loses the first".into());
            return self.cluster.lose_oldest(link);
        }
        if self.left.duplicates > 0 && self.rng.one_in(6) {
            self.left.duplicates -= 1;
            self.cluster.duplicate_oldest(link);
        }
        self.cluster.deliver(link, &mut self.rng);
    }

    /// Ends all faults. From now on, no fault occurs, and all failure detectors are right.
    fn heal(&mut self) {
        self.log_step(|| "— from here on all is well —".into());
        self.left = Budget { losses: 0, duplicates: 0, ..self.left };
        for (observer, peer, verdict) in self.due() {
            self.report_verdict(observer, peer, verdict);
        }
    }

    /// Lets the run continue until nothing is left to do. Delivers messages, lets processes exit,
    /// and fires timers.
    fn run_until_quiet(&mut self) -> Result<(), String> {
        for _ in 0..20_000 {
            self.judge()?;
            let inside = self.users.iter().position(|user| *user == User::Inside);
            if !self.cluster.links_in_use().is_empty() {
                self.message_arrives();
            } else if let Some(at) = inside {
                self.ask(ProcessId::from_index(at), EXIT);
            } else if let Some((at, timer)) = self.cluster.next_timer() {
                if self.repeats_to_the_dead(&timer) {
                    self.cluster.disarm_timer(at, &timer);
                } else {
                    self.log_step(|| format!("{at}'s timer {timer:?} fires"));
                    self.cluster.fire_timer(at, timer);
                }
            } else {
                return Ok(());
            }
        }
        Err("there is no rest after 20000 steps".into())
    }

    fn repeats_to_the_dead(&self, timer: &P::Timer) -> bool {
        let name = format!("{timer:?}");
        let mut down = self.cluster.process_ids();
        down.retain(|at| !self.cluster.is_up(*at));
        down.into_iter().any(|peer| name == format!("Resend({peer})"))
    }

    fn judge(&mut self) -> Result<(), String> {
        for (at, seen) in self.cluster.take_events() {
            self.observe(at, seen.to_observation()).map_err(|violation| violation.to_string())?;
            self.follow(at, &seen)?;
        }
        Ok(())
    }

    fn observe(
        &mut self,
        at: ProcessId,
        observed: Observation<'_, mutex_and_election::Command, mutex_and_election::Event>,
    ) -> Result<(), Violation> {
        self.agreement.observe(at, observed)?;
        if !self.deceived {
            self.exclusion.observe(at, observed)?;
        }
        if self.left.fencing {
            self.fencing.observe(at, observed)?;
        }
        Ok(())
    }

    /// Updates the phase of the user at the process `at` after an event. Returns an error if the
    /// process enters with the same fence as an earlier entry.
    fn follow(&mut self, at: ProcessId, seen: &ProcessEvent<P>) -> Result<(), String> {
        let user = &mut self.users[at.index()];
        match seen {
            ProcessEvent::Command(command) if *command == ENTER => *user = User::Waiting,
            ProcessEvent::Event(mutex_and_election::Event::Mutex(mutex::Event::Entered {
                fence,
            })) => {
                *user = User::Inside;
                if !self.fences.insert(*fence) {
                    return Err(format!("{at} enters with fence {fence}, which was given before"));
                }
            }
            ProcessEvent::Event(mutex_and_election::Event::Mutex(mutex::Event::Exited)) => {
                *user = User::Idle
            }
            ProcessEvent::Crashed => *user = User::Idle,
            _ => {}
        }
        if let ProcessEvent::Event(event) = seen {
            self.log_step(|| format!("    {at} receives {event:?}"));
        }
        Ok(())
    }

    fn log_step(&mut self, line: impl FnOnce() -> String) {
        if let Some(steps) = &mut self.steps {
            steps.push(line());
        }
    }
}

/// Returns the first seed with which a run fails, and the steps of this run.
fn first_failure<P: MutexAndElection>(
    size: u32,
    order: ChannelOrder,
    config: impl Fn(u64) -> P::Config,
    seeds: Range<u64>,
    budget: Budget,
) -> Option<String> {
    let play = |seed| RandomRun::<P>::new(size, order, config(seed), seed, budget);
    let seed = seeds.into_iter().find(|seed| play(*seed).run().is_err())?;
    let mut again = play(seed);
    again.steps = Some(Vec::new());
    let description = again.run().expect_err("the same seed fails again");
    let steps = again.steps.unwrap_or_default().join("\n");
    Some(format!("{steps}\nseed {seed}, {size} processes, {budget:?}: {description}"))
}

fn survives<P: MutexAndElection>(
    order: ChannelOrder,
    config: impl Fn(u32, u64) -> P::Config,
    seeds: u64,
    budget: impl Fn(Budget) -> Budget,
) {
    for size in 2..=4 {
        for each in budgets() {
            let failure =
                first_failure::<P>(size, order, |seed| config(size, seed), 0..seeds, budget(each));
            assert!(failure.is_none(), "{}", failure.unwrap_or_default());
        }
    }
}

/// Returns a configuration of the bully algorithm with ranks in a random order. If the seed is
/// even, the configuration contains the variant *greet*. In this variant, a leader announces itself
/// to each peer that it trusts again.
fn bully(size: u32, seed: u64, delay: u64) -> bully::Config {
    let mut ids: Vec<u32> = (1..=size).collect();
    SplitMix64(seed).shuffle(&mut ids);
    let ranks = ids.into_iter().map(Rank::from_id).collect();
    let greets = seed.is_multiple_of(2);
    let variants = Variants::none();
    let variants = if greets { variants.with(bully::VariantId::Greet) } else { variants };
    bully::Config {
        ranks,
        variants,
        ..bully::Config::with_defaults(size, delay * TICKS_PER_TIME_UNIT)
    }
}

fn over_fifo(size: u32, seed: u64) -> fifo::Config<coordinated::Config<bully::Config>> {
    fifo::Config { window: 2, ..fifo::Config::with_inner_config(bully(size, seed, 200).into()) }
}

#[test]
fn lock_at_bully_is_safe_and_live() {
    survives::<CoordinatedLock<Bully>>(
        ChannelOrder::Fifo,
        |size, seed| bully(size, seed, 1).into(),
        400,
        |it| it,
    );
}

#[test]
fn lock_at_bully_survives_lossy_links_over_fifo() {
    let unreliable = |it| Budget { steps: 500, losses: 10, duplicates: 10, ..it };
    survives::<FifoChannel<CoordinatedLock<Bully>>>(
        ChannelOrder::Reordered,
        over_fifo,
        150,
        unreliable,
    );
}

#[test]
fn bully_agrees_despite_reordering_and_duplicates() {
    let config = |size, seed| side_by_side::Config {
        mutex: central::Config::default(),
        election: bully(size, seed, 1),
    };
    let election_only = |it| Budget { entries: 0, duplicates: 5, ..it };
    survives::<SideBySide<Central, Bully>>(ChannelOrder::Reordered, config, 400, election_only);
}

#[test]
fn negative_controls_of_schedule_judges_fail() {
    let fails = |order, no_terms, budget| {
        let config = |seed| {
            let plain = bully(3, seed, 1);
            let variants = plain.variants;
            let bare = variants.with(bully::VariantId::NoTerms).with(bully::VariantId::AcceptLower);
            bully::Config { variants: if no_terms { bare } else { variants }, ..plain }.into()
        };
        let failure = first_failure::<CoordinatedLock<Bully>>(3, order, config, 0..4000, budget);
        failure.unwrap_or_default()
    };
    let crashes = Budget { crashes: 4, ..CALM };
    assert!(!fails(ChannelOrder::Fifo, true, crashes).is_empty(), "agreement needs terms");
    assert!(!fails(ChannelOrder::Reordered, false, crashes).is_empty(), "reports need order");
    let amnesia = Budget { crashes: 8, witness: false, ..CALM };
    assert!(fails(ChannelOrder::Fifo, false, amnesia).contains("fencing"), "terms need a memory");
    let deceived = Budget { false_suspicions: 3, ..CALM };
    assert!(fails(ChannelOrder::Fifo, false, deceived).contains("fencing"), "entries come late");
}
