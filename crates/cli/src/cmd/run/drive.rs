//! The course of a run: start, schedule, end.

use std::time::Duration;

use serde::Serialize;
use tenure_core::ProcessId;
use tenure_daemon::log::history::Operation;
use tenure_daemon::resource::{Holder, Server};
use tenure_trace::{Segments, Source, Writer};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::cluster::Cluster;
use super::log::{Clients, boxes};
use super::member::{Heard, Life, Member};
use super::plan::Plan;
use super::progress::Progress;
use super::pulse::Pulse;
use super::record::header;
use super::schedule::{Action, Cut, Deed, Target};
use super::workspace::Workspace;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::Interrupts;

/// How long all nodes together may take to get ready.
const BOOTING: Duration = Duration::from_secs(60);

/// How long nobody may enter, when somebody should, before the run is given up.
const GRACE: Duration = Duration::from_secs(15);

/// For how long at most, where the machine is late, for which nobody promises anything.
const LONGEST: Duration = Duration::from_secs(120);

/// After how long in which nobody enters it is watched whether the machine is late.
const SOON: Duration = Duration::from_secs(1);

/// How a run went, as far as its parent knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    /// Whether the user ended it.
    pub(super) interrupted: bool,
    /// Who was still at work when the run was given up.
    pub(super) unfinished: Vec<ProcessId>,
    /// Who was cut off, and when.
    pub(super) apart: Vec<Apart>,
    /// Remarks for the user.
    pub(super) notes: Vec<String>,
    /// Of a log: what its clients asked, how often they were refused, and how often they repeated
    /// what might have been done.
    pub(super) operations: Vec<Operation>,
    pub(super) refusals: u64,
    pub(super) repeats: u64,
    /// When a leader was killed, and when one was asked to leave, from the start; and who it was,
    /// as far as was known then.
    pub(super) kills: Vec<(Duration, ProcessId)>,
    pub(super) departures: Vec<(Duration, ProcessId)>,
    /// How many of them were left without an answer.
    pub(super) left_waiting: usize,
    /// Whether most nodes were up at the end.
    pub(super) has_majority: bool,
    /// By how much the machine was late for as long as the run waited in vain.
    pub(super) late: Option<Duration>,
}

/// Some who were cut off from all others.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Apart {
    /// When, in milliseconds from the start.
    pub(super) at: f64,
    /// For how long.
    pub(super) ms: f64,
    /// Who was on the one side.
    pub(super) side: Vec<u32>,
}

/// Runs the cluster from start to end. When this returns, every node has ended.
pub(super) async fn drive(
    plan: &Plan,
    workspace: &Workspace,
    interrupts: &mut Interrupts,
) -> Result<Course, Failure> {
    let server = match &plan.log {
        Some(_) => None,
        None => Some(resource(plan, workspace).await?),
    };
    let (tell, heard) = mpsc::unbounded_channel();
    let address = server.as_ref().map(Server::address);
    let cluster = Cluster::new(plan, workspace, address, tell).await?;
    let work = match &server {
        Some(server) => Work::Lock(server),
        None => Work::Log(Clients::new(cluster.desks().to_vec())),
    };
    let mut run = Run::new(plan, cluster, work, (heard, Pulse::of(workspace.path())));
    let went = run.go(interrupts).await;
    let ended = match &went {
        Ok(()) => tokio::select! {
            ended = run.cluster.end() => ended,
            () = interrupts.next() => Ok(()),
        },
        Err(_) => Ok(()),
    };
    // Whoever is left by now is not asked any more.
    run.cluster.abandon().await;
    let course = run.told();
    drop(run);
    went.and(ended)?;
    server.map_or(Ok(()), |server| server.stop().map(drop)).map_err(Failure::environment)?;
    Ok(course)
}

/// The counter and its trace.
async fn resource(plan: &Plan, workspace: &Workspace) -> Result<Server, Failure> {
    let (path, header) = (workspace.resource_trace(), header(plan, Source::Resource));
    let trace = Writer::create(&path, &header).map_err(Failure::environment)?;
    let failed = |error| Failure::environment(format!("cannot start the resource server: {error}"));
    let server = Server::start(plan.size, Some(trace)).await.map_err(failed)?;
    if let Some(kib) = plan.segment_kib {
        server.write_in(Segments::new(path, header, kib.saturating_mul(1024)).map_err(failed)?);
    }
    Ok(server)
}

/// What is done in a run.
enum Work<'a> {
    /// The nodes enter, to change this counter.
    Lock(&'a Server),
    /// The clients of their log ask them.
    Log(Clients),
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    cluster: Cluster<'a>,
    work: Work<'a>,
    heard: UnboundedReceiver<Heard>,
    progress: Progress,
    /// What is still to be done, in order.
    actions: Vec<Action>,
    /// Where the next process that enters is told of, while one is wanted.
    catching: Option<oneshot::Receiver<Holder>>,
    /// Whom to resume when.
    pauses: Vec<(Duration, ProcessId)>,
    /// When the network is still to be cut.
    cuts: Vec<Cut>,
    /// Who is cut off, until when.
    apart: Vec<(Duration, Vec<ProcessId>)>,
    /// When all were ready: times count from here.
    start: Option<Instant>,
    /// When the cluster last did something: entered, or was hurt.
    active: Instant,
    entries: u64,
    /// Whether the machine is late.
    pulse: Pulse,
    course: Course,
}

impl<'a> Run<'a> {
    fn new(
        plan: &'a Plan,
        cluster: Cluster<'a>,
        work: Work<'a>,
        (heard, pulse): (UnboundedReceiver<Heard>, Pulse),
    ) -> Self {
        Run {
            plan,
            cluster,
            work,
            heard,
            progress: Progress::new(plan),
            actions: plan.actions.clone(),
            catching: None,
            pauses: Vec::new(),
            cuts: plan.cuts.clone(),
            apart: Vec::new(),
            start: None,
            active: Instant::now(),
            entries: 0,
            pulse,
            course: Course::default(),
        }
    }

    /// From the start of the nodes to the moment when nothing is left to be done.
    async fn go(&mut self, interrupts: &mut Interrupts) -> Result<(), Failure> {
        self.cluster.start()?;
        loop {
            self.watch_start()?;
            self.act().await?;
            self.watch_progress();
            if self.is_over() {
                return Ok(());
            }
            let wake = self.wake();
            let server = match self.work {
                Work::Lock(server) => Some(server),
                Work::Log(_) => None,
            };
            let failed = async {
                match server {
                    Some(server) => server.failed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(heard) = self.heard.recv() => self.cluster.hear(heard).await?,
                holder = caught(&mut self.catching) => self.cluster.holder = holder,
                () = sleep_until(wake) => {}
                failure = failed => return Err(Failure::environment(failure)),
                () = interrupts.next() => {
                    self.course.interrupted = true;
                    return Ok(());
                }
            }
        }
    }

    /// The clock of the schedule starts when everybody is ready.
    fn watch_start(&mut self) -> Result<(), Failure> {
        if self.start.is_some() {
            return Ok(());
        }
        let mut members = self.cluster.members.iter();
        match members.find(|member| member.life == Life::Booting) {
            None => {
                self.start = Some(Instant::now());
                self.active = Instant::now();
                self.progress.started();
                if let (Work::Log(clients), Some(log)) = (&mut self.work, &self.plan.log) {
                    clients.begin(self.plan, log, self.active);
                }
            }
            Some(late) if self.active.elapsed() > BOOTING => {
                let (process, seconds) = (late.process, BOOTING.as_secs());
                let says = format!("{process} was not ready within {seconds} s");
                return Err(Failure::environment(says));
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Does what is due and possible.
    async fn act(&mut self) -> Result<(), Failure> {
        let Some(start) = self.start else { return Ok(()) };
        let passed = start.elapsed();
        while let Some(place) = self.pauses.iter().position(|(until, _)| *until <= passed) {
            let (_, process) = self.pauses.swap_remove(place);
            self.cluster.resume(process)?;
            self.hurt(format!("{process} continues"));
        }
        self.mend(passed)?;
        let mut waiting = Vec::new();
        for action in std::mem::take(&mut self.actions) {
            if action.at > passed || !self.perform(&action, passed).await? {
                waiting.push(action);
            }
        }
        self.actions = waiting;
        self.cut(passed)?;
        // What was to be done to the holder was done; it goes on as far as that lets it.
        self.cluster.holder = None;
        self.catch_holder(passed);
        Ok(())
    }

    /// Has the next process that enters caught, if something is due that is to be done to it.
    fn catch_holder(&mut self, passed: Duration) {
        let of_holder = |it: &Action| it.target == Target::Inside && it.deed != Deed::Restart;
        let mut cuts = self.cuts.iter();
        let wanted = self.actions.iter().any(|it| it.at <= passed && of_holder(it))
            || cuts.any(|it| it.from <= passed && it.side.contains(&Target::Inside));
        match &self.work {
            Work::Lock(server) if wanted && self.catching.is_none() => {
                self.catching = Some(server.catch_holder());
            }
            _ => {}
        }
    }

    /// Ends the cuts whose time is over.
    fn mend(&mut self, passed: Duration) -> Result<(), Failure> {
        let before = self.apart.len();
        self.apart.retain(|(until, _)| *until > passed);
        if self.apart.len() == before {
            return Ok(());
        }
        self.sever()?;
        self.hurt("a cut is mended".to_owned());
        Ok(())
    }

    /// Cuts the network where it is time, unless it is not known yet between whom.
    fn cut(&mut self, passed: Duration) -> Result<(), Failure> {
        let mut waiting = Vec::new();
        for cut in std::mem::take(&mut self.cuts) {
            let side = cut.side.iter().map(|target| self.cluster.find(*target));
            let side: Option<Vec<ProcessId>> =
                side.collect::<Option<Vec<_>>>().map(|it| it.concat());
            match side {
                Some(side) if cut.from <= passed => self.part(&cut, side, passed)?,
                _ => waiting.push(cut),
            }
        }
        self.cuts = waiting;
        Ok(())
    }

    fn part(&mut self, cut: &Cut, side: Vec<ProcessId>, now: Duration) -> Result<(), Failure> {
        let long = cut.until - cut.from;
        let [at, ms] = [now, long].map(|it| it.as_secs_f64() * 1e3);
        let numbers = side.iter().map(|process| process.number()).collect();
        self.course.apart.push(Apart { at: at.round(), ms, side: numbers });
        let names: Vec<String> = side.iter().map(ProcessId::to_string).collect();
        self.apart.push((now + long, side));
        self.sever()?;
        self.hurt(format!("{} cut off", are(&names)));
        Ok(())
    }

    /// Nothing passes between the sides of any cut.
    fn sever(&mut self) -> Result<(), Failure> {
        self.cluster.cut(self.apart.iter().map(|(_, side)| side.clone()).collect())
    }

    /// Does one thing, unless it is not known yet to whom.
    async fn perform(&mut self, action: &Action, passed: Duration) -> Result<bool, Failure> {
        let found = match (action.deed, action.target) {
            (Deed::Restart, Target::Leader | Target::Inside) => {
                self.cluster.fallen(action.target).map(|fallen| vec![fallen])
            }
            (_, target) => self.cluster.find(target),
        };
        let Some(found) = found else { return Ok(false) };
        let can = |run: &Self, process: ProcessId| {
            let member = &run.cluster.members[process.index()];
            match action.deed {
                Deed::Kill => member.is_up(),
                Deed::Pause(_) | Deed::Leave => member.life == Life::Running,
                Deed::Restart => !member.is_up(),
            }
        };
        let (can, cannot): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|process| can(self, *process));
        // Of all, those are meant to whom it can be done.
        if let ([process], []) = (&cannot[..], &can[..]) {
            let says = format!("{action} found {process} in no state for that; left out");
            self.course.notes.push(says);
        }
        self.perform_on(&can, action, passed).await?;
        Ok(true)
    }

    async fn perform_on(
        &mut self,
        processes: &[ProcessId],
        action: &Action,
        passed: Duration,
    ) -> Result<(), Failure> {
        let of_leader = action.target == Target::Leader;
        if matches!(action.deed, Deed::Kill | Deed::Leave) {
            for process in processes {
                self.cluster.members[process.index()].killed_as = Some(action.target);
            }
            let now = self.start.map_or(Duration::ZERO, |start| start.elapsed());
            let them = processes.iter().map(|process| (now, *process));
            match action.deed {
                Deed::Kill if of_leader => self.course.kills.extend(them),
                Deed::Leave if of_leader => self.course.departures.extend(them),
                _ => {}
            }
        }
        if action.deed == Deed::Kill {
            self.cluster.kill_all(processes).await?;
            self.pauses.retain(|(_, paused)| !processes.contains(paused));
        }
        for process in processes.iter().copied() {
            match action.deed {
                Deed::Kill => self.hurt(format!("{process} is killed")),
                Deed::Leave => {
                    self.cluster.leave(process)?;
                    self.hurt(format!("{process} is asked to leave"));
                }
                Deed::Pause(length) => {
                    self.cluster.stop(process)?;
                    self.pauses.push((passed + length, process));
                    self.hurt(format!("{process} is stopped"));
                }
                Deed::Restart => {
                    self.cluster.restart(process, passed)?;
                    self.hurt(format!("{process} is started again"));
                }
            }
        }
        Ok(())
    }

    fn hurt(&mut self, says: String) {
        self.active = Instant::now();
        self.progress.event(&says);
    }

    fn watch_progress(&mut self) {
        let entries = match &self.work {
            Work::Lock(_) => self.cluster.entries(),
            Work::Log(clients) => clients.course().answered(),
        };
        if entries != self.entries {
            self.entries = entries;
            self.active = Instant::now();
        }
        self.pulse.want(self.active.elapsed() > SOON);
        let leader = self.cluster.leader();
        self.progress.show(entries, leader);
        if self.plan.watch.is_some() && self.plan.log.is_some() && self.start.is_some() {
            self.progress.logs(|| boxes(&self.cluster.members, leader));
        }
    }

    /// What there is to tell when it is over.
    fn told(&mut self) -> Course {
        let mut course = std::mem::take(&mut self.course);
        if let Work::Log(clients) = &mut self.work {
            clients.abandon();
            let seen = clients.course();
            course.operations = seen.operations();
            course.refusals = seen.refusals();
            course.repeats = seen.repeats();
        }
        course
    }

    /// Whether all is done, or will never be.
    fn is_over(&mut self) -> bool {
        let Some(start) = self.start else { return false };
        let idle = |life| !matches!(life, Life::Booting | Life::Stopped | Life::Leaving);
        let members = &self.cluster.members;
        let level = self.cluster.is_level();
        let working = match &mut self.work {
            Work::Lock(_) => 0,
            Work::Log(clients) => clients.working(),
        };
        let of_log = self.plan.log.is_some();
        let done = |it: &Member| if of_log { working == 0 && level } else { it.done };
        let served = members.iter().all(|it| idle(it.life) && (done(it) || !it.is_up()));
        let up = members.iter().filter(|it| it.is_up()).count();
        self.course.has_majority = 2 * up > members.len();
        let fallen = self.cluster.fallen(Target::Leader).is_some();
        let needed = |it: &Action| !it.by_default || (it.deed == Deed::Restart && fallen);
        if served && self.cuts.is_empty() && !self.actions.iter().any(needed) {
            return true;
        }
        let grace = GRACE + 2 * (self.plan.hold + self.plan.think) + Clients::patience();
        let early = self.plan.duration.is_some_and(|duration| start.elapsed() < duration);
        let passed = start.elapsed();
        let due = self.actions.iter().any(|action| action.at > passed)
            || self.cuts.iter().any(|cut| cut.from > passed);
        let hurts = !(self.pauses.is_empty() && self.apart.is_empty());
        if early || due || hurts || self.active.elapsed() < grace {
            return false;
        }
        self.course.late = self.pulse.late_within(grace);
        if self.course.late.is_some() && self.active.elapsed() < LONGEST {
            return false;
        }
        self.course.left_waiting = working;
        let unfinished = members.iter().filter(|it| it.is_up() && !it.done && !(of_log && level));
        self.course.unfinished = unfinished.map(|member| member.process).collect();
        let undone = self.actions.iter().map(Action::to_string);
        let undone = undone.chain(self.cuts.iter().map(Cut::to_string));
        self.course.notes.extend(undone.map(|it| format!("{it} never found its target")));
        true
    }

    /// When to look again even if nobody says anything.
    fn wake(&self) -> Instant {
        let soon = Instant::now() + Duration::from_millis(200);
        let Some(start) = self.start else { return soon };
        let due = self.actions.iter().map(|action| start + action.at);
        let due = due.chain(self.cuts.iter().map(|cut| start + cut.from));
        let due = due.chain(self.pauses.iter().map(|(until, _)| start + *until));
        let due = due.chain(self.apart.iter().map(|(until, _)| start + *until));
        due.filter(|at| *at > Instant::now()).chain([soon]).min().unwrap_or(soon)
    }
}

/// The process that was caught inside; never returns while none is wanted.
async fn caught(catching: &mut Option<oneshot::Receiver<Holder>>) -> Option<Holder> {
    match catching {
        Some(wanted) => {
            let holder = wanted.await.ok();
            *catching = None;
            holder
        }
        None => std::future::pending().await,
    }
}

/// `P1 is`, `P1 and P2 are`.
fn are(names: &[String]) -> String {
    format!("{} {}", names.join(" and "), if names.len() == 1 { "is" } else { "are" })
}
