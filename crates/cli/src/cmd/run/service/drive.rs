//! What happens in a run, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use tenure_client::Change;
use tenure_core::ProcessId;
use tenure_daemon::resource::{Server, Tally};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::claim::{Claim, now};
use super::clients::Clients;
use super::members::{Members, Said};
use super::plan::{Does, Plan, Step};
use super::reader::{Found, read_all};
use super::recorder::Recorder;
use super::value::{Put, Seen, Word};
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
    /// The values that were put.
    pub(super) puts: Vec<Put>,
    /// Those that were read.
    pub(super) seen: Vec<Seen>,
    /// What was read in the end, of each member.
    pub(super) found: Option<Found>,
    pub(super) tally: Tally,
    /// When somebody was killed.
    pub(super) kills: Vec<Kill>,
    /// When members began to lead, each in a term of its own.
    pub(super) terms: Vec<u64>,
    /// How many times somebody was killed, asked to leave, stopped, kept from writing, slowed down
    /// or cut off.
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
    Word(Word),
}

pub(super) async fn drive(
    plan: &Plan,
    folder: &Path,
    interrupts: &mut Interrupts,
) -> Result<Course, Failure> {
    let (said, mut saying) = unbounded_channel();
    let mut members = Members::start(plan, folder, said).await?;
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
    let endpoints = members.endpoints();
    let mut recorder = Recorder::start(&endpoints).await?;
    let (claims, claiming) = unbounded_channel();
    let (words, wording) = unbounded_channel();
    let mut clients = Clients::of(plan, &endpoints);
    clients.claim(&resource, &claims)?;
    if let Some(most) = plan.values {
        clients.write(most, &words)?;
        recorder.forget(&endpoints);
    }
    let (course, apart) = (Course::default(), BTreeMap::new());
    let mut run = Run { plan, members, course, apart, begun: Instant::now() };
    run.work(Hearing { saying, claiming, wording }, &mut clients, interrupts).await?;
    if plan.values.is_some() && !run.course.interrupted {
        run.members.begin_anew().await?;
    }
    if plan.lock && !run.course.interrupted {
        run.course.last = recorder.finish().await;
    }
    if plan.values.is_some() && !run.course.interrupted {
        let keys: BTreeSet<String> = run.course.puts.iter().map(|put| put.key.clone()).collect();
        let found = spawn_blocking(move || read_all(&endpoints, &keys)).await;
        run.course.found = found.ok();
    }
    run.course.changes = recorder.changes();
    run.course.tally = resource.tally();
    drop(clients);
    run.members.end().await;
    Ok(run.course)
}

/// What is to be heard of.
struct Hearing {
    saying: UnboundedReceiver<Said>,
    claiming: UnboundedReceiver<Claim>,
    wording: UnboundedReceiver<Word>,
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
        mut hearing: Hearing,
        clients: &mut Clients<'_>,
        interrupts: &mut Interrupts,
    ) -> Result<(), Failure> {
        let mut steps = self.plan.steps.clone().into_iter().peekable();
        let end = self.begun + self.plan.duration + PATIENCE;
        while !clients.running.is_empty() {
            let next = steps.peek().map_or(end, |step| self.begun + step.at);
            let heard = tokio::select! {
                Some(said) = hearing.saying.recv() => Heard::Said(said),
                Some(claim) = hearing.claiming.recv() => Heard::Claimed(Box::new(claim)),
                Some(word) = hearing.wording.recv() => Heard::Word(word),
                Some(ended) = clients.running.join_next() => {
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
            self.hear(heard);
        }
        self.course.seconds = self.begun.elapsed().as_secs_f64();
        let has_majority = 2 * self.members.up() > self.plan.members as usize;
        if has_majority && !self.course.interrupted {
            self.course.left_waiting = clients.running.len();
        } else if !has_majority {
            self.course.notes.push("no majority of the members was up at the end".to_owned());
        }
        while let Ok(claim) = hearing.claiming.try_recv() {
            self.course.claims.push(claim);
        }
        while let Ok(word) = hearing.wording.try_recv() {
            self.hear(Heard::Word(word));
        }
        Ok(())
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Said(said) => {
                let before = self.members.term();
                self.members.hear(&said);
                if self.members.term() > before {
                    self.course.terms.push(said.at);
                }
            }
            Heard::Claimed(claim) => self.course.claims.push(*claim),
            Heard::Word(Word::Put(put)) => self.course.puts.push(put),
            Heard::Word(Word::Seen(seen)) => self.course.seen.push(seen),
        }
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
        if step.does.hurts() {
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
