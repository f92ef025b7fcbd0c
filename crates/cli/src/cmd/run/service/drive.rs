//! What happens in a run, in order.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_client::{Change, Client};
use tenure_core::ProcessId;
use tenure_daemon::resource::{Server, Tally};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::LOCK;
use super::claim::{Claim, now};
use super::members::{Members, Said};
use super::plan::{Does, Plan, Step};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt::Interrupts;
use crate::cmd::run::drive::Apart;

/// How long the members may take to elect somebody at first, and clients to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of a run, not judged yet.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) claims: Vec<Claim>,
    pub(super) changes: Vec<Change>,
    pub(super) tally: Tally,
    /// When somebody was killed.
    pub(super) kills: Vec<Kill>,
    /// When members began to lead, each in a term of its own.
    pub(super) terms: Vec<u64>,
    /// How many times somebody was killed, asked to leave, stopped, kept from writing or cut off.
    pub(super) faults: u64,
    /// Who was cut off, and when.
    pub(super) apart: Vec<Apart>,
    /// Whether clients did not come to an end though a majority was up.
    pub(super) left_waiting: usize,
    pub(super) interrupted: bool,
    pub(super) seconds: f64,
    /// The fence of an entry after all others.
    pub(super) last: Option<u64>,
    pub(super) notes: Vec<String>,
}

/// A member was killed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kill {
    /// When, in nanoseconds since 1970.
    pub(super) at: u64,
    /// Whether it led.
    pub(super) of_leader: bool,
}

/// What is heard while it runs.
#[derive(Debug)]
enum Heard {
    Said(Said),
    Claimed(Box<Claim>),
}

pub(super) async fn drive(
    plan: &Plan,
    folder: &Path,
    interrupts: &mut Interrupts,
) -> Result<Course, Failure> {
    let (said, mut saying) = unbounded_channel();
    let mut members = Members::start(plan.members, !plan.cuts.is_empty(), folder, said).await?;
    let elected = async {
        while members.leader().is_none() {
            match saying.recv().await {
                Some(said) => members.hear(&said),
                None => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        elected = timeout(PATIENCE, elected) => elected
            .map_err(|_| Failure::environment("no member leads: see the logs of the members"))?,
        () = interrupts.next() => return Err(Failure::incomplete("interrupted at the start")),
    }
    let resource = Server::start(plan.clients, None)
        .await
        .map_err(|error| Failure::environment(format!("cannot serve the counter: {error}")))?;
    let recorder = Recorder::start(&members.endpoints()).await?;
    let (claimed, claiming) = unbounded_channel();
    let mut clients = JoinSet::new();
    for number in 1..=plan.clients {
        start_client(plan, number, &members, &resource, claimed.clone(), &mut clients)?;
    }
    let (course, apart) = (Course::default(), BTreeMap::new());
    let mut run = Run { plan, members, course, apart, begun: Instant::now() };
    run.work(saying, claiming, &mut clients, interrupts).await?;
    if plan.lock && !run.course.interrupted {
        run.course.last = recorder.finish().await;
    }
    run.course.changes = recorder.changes();
    run.course.tally = resource.tally();
    clients.abort_all();
    run.members.end().await;
    Ok(run.course)
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    members: Members,
    course: Course,
    /// Who is cut off at the moment, by the place of the cut.
    apart: BTreeMap<usize, Vec<ProcessId>>,
    begun: Instant,
}

impl Run<'_> {
    async fn work(
        &mut self,
        mut saying: UnboundedReceiver<Said>,
        mut claiming: UnboundedReceiver<Claim>,
        clients: &mut JoinSet<Result<(), Failure>>,
        interrupts: &mut Interrupts,
    ) -> Result<(), Failure> {
        let mut steps = self.plan.steps.clone().into_iter().peekable();
        let end = self.begun + self.plan.duration + PATIENCE;
        while !clients.is_empty() {
            let next = steps.peek().map_or(end, |step| self.begun + step.at);
            let heard = tokio::select! {
                Some(said) = saying.recv() => Heard::Said(said),
                Some(claim) = claiming.recv() => Heard::Claimed(Box::new(claim)),
                Some(ended) = clients.join_next() => {
                    // One that was aborted has not failed.
                    if let Ok(ended) = ended { ended? }
                    continue;
                }
                () = interrupts.next() => {
                    self.course.interrupted = true;
                    break;
                }
                () = sleep_until(next) => match steps.peek().copied() {
                    Some(step) => {
                        if self.act(step).await? { steps.next(); }
                        continue;
                    }
                    None => break,
                },
            };
            match heard {
                Heard::Said(said) => {
                    let before = self.members.term();
                    self.members.hear(&said);
                    if self.members.term() > before {
                        self.course.terms.push(said.at);
                    }
                }
                Heard::Claimed(claim) => self.course.claims.push(*claim),
            }
        }
        self.course.seconds = self.begun.elapsed().as_secs_f64();
        let has_majority = 2 * self.members.up() > self.plan.members as usize;
        if has_majority && !self.course.interrupted {
            self.course.left_waiting = clients.len();
        } else if !has_majority {
            self.course.notes.push("no majority of the members was up at the end".to_owned());
        }
        while let Ok(claim) = claiming.try_recv() {
            self.course.claims.push(claim);
        }
        Ok(())
    }

    /// Does it, unless there is nobody to do it to yet.
    async fn act(&mut self, step: Step) -> Result<bool, Failure> {
        let targets = match step.does {
            Does::Part(place) => &self.plan.cuts[place].side[..],
            _ => &[step.target],
        };
        let targets = targets.iter().map(|target| self.members.targets(*target, step.does));
        let targets: Vec<Vec<usize>> = targets.collect();
        // Whoever is meant among others has to be there too.
        let all_there = targets.iter().all(|indices| !indices.is_empty());
        let indices = if all_there { targets.concat() } else { Vec::new() };
        let late = self.begun + step.at + PATIENCE / 4;
        if indices.is_empty() && Instant::now() < late {
            // Somebody will lead soon, and say so.
            sleep(Duration::from_millis(5)).await;
            return Ok(false);
        }
        if indices.is_empty() {
            self.course.notes.push(format!("nobody was there for something at {:?}", step.at));
        }
        if matches!(step.does, Does::Kill | Does::Leave | Does::Stop | Does::Fill) {
            self.course.faults += indices.len() as u64;
        }
        self.part(step, &indices);
        if step.does == Does::Kill && !indices.is_empty() {
            let leader = self.members.leader();
            let of_leader = leader.is_some_and(|leader| indices.contains(&leader));
            self.course.kills.push(Kill { at: now(), of_leader });
        }
        let notes = self.members.act(&indices, step.does).await?;
        self.course.notes.extend(notes);
        Ok(true)
    }

    /// Cuts some off from all others, or no longer, if that is to be done.
    fn part(&mut self, step: Step, indices: &[usize]) {
        match step.does {
            Does::Part(_) if indices.is_empty() => return,
            Does::Part(place) => {
                let side: Vec<ProcessId> = indices.iter().map(|at| ProcessId::at(*at)).collect();
                let cut = &self.plan.cuts[place];
                let [at, ms] = [self.begun.elapsed(), cut.until - cut.from];
                let [at, ms] = [at, ms].map(|it| it.as_secs_f64() * 1e3);
                let numbers = side.iter().map(|process| process.number()).collect();
                self.course.apart.push(Apart { at: at.round(), ms, side: numbers });
                self.course.faults += 1;
                self.apart.insert(place, side);
            }
            Does::Join(place) => {
                self.apart.remove(&place);
            }
            _ => return,
        }
        self.members.cut(self.apart.values().cloned().collect());
    }
}

fn start_client(
    plan: &Plan,
    number: u32,
    members: &Members,
    resource: &Server,
    claimed: UnboundedSender<Claim>,
    clients: &mut JoinSet<Result<(), Failure>>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::environment(format!("cannot start client {number}: {error}"))
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command
        .args(["service-client", "--parent", &std::process::id().to_string()])
        .args(["--number", &number.to_string(), "--endpoints", &members.endpoints().join(",")])
        .args(["--resource", &resource.address().to_string()])
        .args(["--millis", &plan.duration.as_millis().to_string()])
        .args(["--hold-micros", &plan.hold.as_micros().to_string()])
        .args(["--think-micros", &plan.think.as_micros().to_string()])
        .args(["--seed", &plan.seed.to_string()])
        .args((!plan.lock).then_some("--no-lock"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(failed)?;
    clients.spawn(async move {
        if let Some(out) = child.stdout.take() {
            let mut lines = BufReader::new(out).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                // A line that was cut off is of one that was killed.
                if let Ok(claim) = serde_json::from_str(&line) {
                    let _ = claimed.send(claim);
                }
            }
        }
        let status = child.wait().await.map_err(Failure::environment)?;
        match status.success() {
            true => Ok(()),
            false => Err(Failure::environment(format!("client {number} ended with {status}"))),
        }
    });
    Ok(())
}

/// Who writes down what happens in the queue, as the service tells it.
struct Recorder {
    client: Client,
    changes: Arc<Mutex<Vec<Change>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Recorder {
    async fn start(endpoints: &[String]) -> Result<Recorder, Failure> {
        let client = Client::connect(endpoints).await.map_err(Failure::environment)?;
        let changes: Arc<Mutex<Vec<Change>>> = Arc::default();
        let (mut told, written) = (client.changes(LOCK, 1), changes.clone());
        let task = tokio::spawn(async move {
            loop {
                let change = told.next().await;
                written.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(change);
            }
        });
        Ok(Recorder { client, changes, task })
    }

    /// Enters after all others, and waits until that is told.
    async fn finish(&self) -> Option<u64> {
        let last = async {
            let session = self.client.session(Duration::from_secs(10)).await.ok()?;
            let fence = session.lock(LOCK).await.ok()?.fence();
            let is_told = |change: &Change| match change {
                Change::Queued { fence: told, .. } => *told == fence,
                _ => false,
            };
            while !self.changes().iter().any(is_told) {
                sleep(Duration::from_millis(10)).await;
            }
            let _ = session.close().await;
            Some(fence)
        };
        timeout(PATIENCE, last).await.ok().flatten()
    }

    fn changes(&self) -> Vec<Change> {
        self.changes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}
