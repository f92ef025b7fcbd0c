use std::sync::Arc;

use tenure_core::service::mutex;
use tenure_core::{Layer, Notice, Per, Price, ProcessId, Property, Rank, TICKS_PER_UNIT};

use crate::engine::core::Core;
use crate::figures::faults_seen::{FaultCount, count_faults, warnings};
use crate::figures::metrics::Metrics;
use crate::settings::Settings;
use tenure_core::{Finding, FirstViolation, Judgement};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everybody was served, and no message was under way.
    Served,
    /// Nothing more could happen.
    Quiescent,
    /// Things went on happening, but nobody was served any more.
    Stalled,
    /// The tick to run to was reached.
    Until,
    /// The limit on events was reached.
    Events,
    /// Messages made more messages, without end.
    Flooded,
    /// Somebody stopped it.
    Stopped,
}

impl Ended {
    /// Whether what holds now is what holds in the end.
    pub const fn is_end(self) -> bool {
        matches!(self, Ended::Served | Ended::Quiescent | Ended::Stalled)
    }
}

/// In which way live processes wait for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Nobody is served any more.
    Deadlock,
    /// Others were served again and again, and still are, while somebody waits. Only a
    /// suspicion: no finite run shows an endless wait.
    Starvation,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The algorithm's name.
    pub algorithm: String,
    /// How many processes there were.
    pub size: u32,
    /// What decided every draw.
    pub seed: u64,
    /// The rank of each process; empty: 1 to n.
    pub ranks: Arc<[Rank]>,
    /// Why it ended.
    pub ended: Ended,
    /// When it ended, in ticks.
    pub finished_at: u64,
    /// What it cost and how long things took.
    pub metrics: Metrics,
    /// The verdicts, each with the first violation.
    pub findings: Vec<Finding>,
    /// Whether the algorithm elects; without elections there are no beliefs.
    pub elects: bool,
    /// Whom each process believed in, in the end. Nobody, at a crashed one.
    pub beliefs: Vec<Option<ProcessId>>,
    /// The live processes that believed in themselves.
    pub leaders: Vec<ProcessId>,
    /// By process: what users of a service of agreement were told, in words; empty elsewhere.
    pub told: Vec<Vec<String>>,
    /// The live processes that wait for ever.
    pub blocked: Vec<ProcessId>,
    /// In which way they wait.
    pub stuck: Option<Stuck>,
    /// The most entries of one process during one wait of another.
    pub bypass_max: u32,
    /// Who entered that often, while who waited.
    pub bypass_pair: Option<(ProcessId, ProcessId)>,
    /// What was to go wrong, and what was seen of it.
    pub faults: Vec<FaultCount>,
    /// What a reader should know before believing the figures.
    pub warnings: Vec<String>,
    /// The properties whose violation makes the run a failure; `None`: mutual exclusion,
    /// deadlock and starvation freedom, progress, fencing, agreement and validity.
    pub counted: Option<Vec<Property>>,
}

impl Report {
    pub(crate) fn of(algorithm: String, mut core: Core, ended: Ended) -> Self {
        let decided = match ended {
            Ended::Until => core.is_served() || !asks(&core.settings),
            _ => ended.is_end(),
        };
        let blocked = if decided { blocked(&core) } else { Vec::new() };
        let stuck = stuck(&core, decided, &blocked);
        let faults = count_faults(&core);
        if core.settings.watch.metrics {
            let sent = core.metrics.sent_in(Layer::Election);
            core.metrics.elections = std::mem::take(&mut core.elections).finish(sent);
        }
        let findings = findings(&mut core, decided, &blocked);
        let bypass = core.mutex.as_ref().map(|mutex| mutex.bypass());
        Report {
            algorithm,
            size: core.settings.size,
            seed: core.settings.seed,
            ended,
            finished_at: core.now,
            findings,
            elects: core.election.is_some() || core.settings.workload.initiators.is_some(),
            beliefs: (0..core.up.len())
                .map(|place| core.beliefs.of(ProcessId::at(place)))
                .collect(),
            leaders: core.beliefs.leaders(&core.up).collect(),
            told: std::mem::take(&mut core.told),
            blocked,
            stuck,
            bypass_max: bypass.map_or(0, |bypass| bypass.worst()),
            bypass_pair: bypass.and_then(|bypass| bypass.worst_pair()),
            warnings: warnings(&core, &faults),
            faults,
            metrics: core.metrics,
            ranks: core.settings.ranks,
            counted: core.settings.watch.properties,
        }
    }

    /// The verdict on a property; `None` when it was not judged.
    pub fn verdict(&self, property: &str) -> Option<Judgement> {
        self.finding(property).map(|finding| finding.judgement)
    }

    /// The finding on a property; `None` when it was not judged.
    pub fn finding(&self, property: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.property.name() == property)
    }

    /// The violated properties that count: those asked for or promised, else those that
    /// everybody expects; and those of the reader's own monitors.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| {
            finding.judgement == Judgement::Violated && self.counts(finding.property)
        })
    }

    /// Whether a property that counts was violated.
    pub fn has_failed(&self) -> bool {
        self.failures().next().is_some()
    }

    /// The rank of a process.
    pub fn rank(&self, process: ProcessId) -> Rank {
        let listed = self.ranks.get(process.index()).copied();
        listed.unwrap_or(Rank::of_id(process.number()))
    }

    /// When it ended, in units.
    pub fn finished_at_units(&self) -> f64 {
        in_units(self.finished_at as f64)
    }

    /// Entries per unit of time; 0 before time has passed.
    pub fn throughput(&self) -> f64 {
        let units = self.finished_at_units();
        if units > 0.0 { self.metrics.entered as f64 / units } else { 0.0 }
    }

    /// Whether the run cost what it may: decided only once everybody has been served.
    pub(crate) fn cost(&self, price: &Price) -> Finding {
        let lock = self.verdict(Property::StarvationFreedom.name());
        let all = lock.or_else(|| self.verdict(Property::Progress.name()));
        let served = all == Some(Judgement::Holds);
        let objection = match price.cost.per {
            // Each election is judged by itself: a cheap one does not pay for a dear one.
            Per::Election => self.metrics.elections.iter().find_map(|election| {
                let complete = u64::from(served && election.is_complete);
                price.objection(election.messages, complete, 1)
            }),
            per => {
                let entered = self.metrics.entered;
                // Who waits has asked no more than once since it was served.
                let begun = if served { entered } else { entered + u64::from(self.size) };
                let sent = per.layer().map_or(0, |layer| self.metrics.sent_in(layer));
                price.objection(sent, entered, begun)
            }
        };
        match objection {
            Some(says) => Finding::violated(Property::Cost, self.finished_at, ProcessId(0), says),
            None if served => Finding::undisputed(Property::Cost, Judgement::Holds),
            None => Finding::undisputed(Property::Cost, Judgement::Incomplete),
        }
    }

    fn counts(&self, property: Property) -> bool {
        match (&self.counted, property) {
            (_, Property::Own(_)) => true,
            (Some(counted), _) => counted.iter().any(|promise| promise.implies(property)),
            (None, _) => property.notice() == Notice::Expected,
        }
    }
}

/// A number of ticks in units.
pub(crate) fn in_units(ticks: f64) -> f64 {
    ticks / TICKS_PER_UNIT as f64
}

/// Whether the workload asks for anything.
fn asks(settings: &Settings) -> bool {
    settings.workload.locking.is_some() || settings.workload.initiators.is_some()
}

fn blocked(core: &Core) -> Vec<ProcessId> {
    let mut blocked: Vec<ProcessId> =
        core.users.iter().flat_map(|users| users.stuck().collect::<Vec<_>>()).collect();
    if core.settings.workload.initiators.is_some() {
        blocked.extend(core.beliefs.unsettled(&core.up));
    }
    if let Some(users) = &core.agreeing {
        blocked.extend(users.waiting(|at| core.up[at.index()]));
    }
    blocked.sort_unstable();
    blocked.dedup();
    blocked
}

fn stuck(core: &Core, decided: bool, blocked: &[ProcessId]) -> Option<Stuck> {
    if decided {
        return (!blocked.is_empty()).then_some(Stuck::Deadlock);
    }
    let waiting = core.users.iter().any(|users| users.stuck().next().is_some());
    let passed = core.mutex.as_ref().map_or(0, |mutex| mutex.bypass().present());
    (waiting && passed >= MANY).then_some(Stuck::Starvation)
}

/// So many entries of one other during a wait that is not over look like starvation.
const MANY: u32 = 10;

fn findings(core: &mut Core, decided: bool, blocked: &[ProcessId]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let progress = progress(core, decided, blocked);
    if let Some(mutex) = &core.mutex {
        findings = mutex.findings();
        let waiting: Vec<ProcessId> = match (&core.users, decided) {
            (Some(users), true) => users.stuck().collect(),
            _ => Vec::new(),
        };
        let starvation = starvation_freedom(core, decided, &waiting);
        findings.splice(1..1, [deadlock_freedom(&starvation, &waiting), starvation]);
    }
    if let Some(election) = &mut core.election {
        if decided {
            election.end(core.now, true);
        }
        let asked = core.settings.watch.properties.as_deref().unwrap_or_default();
        let mut found = election.findings();
        found.retain(|it| it.property.notice() > Notice::Asked || asked.contains(&it.property));
        found.insert(2, progress);
        findings.append(&mut found);
    }
    if let Some(agreement) = &mut core.agreement {
        if decided {
            agreement.end(core.now, true);
        }
        findings.append(&mut agreement.findings());
        findings.push(self::progress(core, decided, blocked));
    }
    if let Some(neighbours) = &core.neighbours {
        findings.push(neighbours.finding::<mutex::Command, mutex::Event>());
    }
    findings
}

/// Whether all that wait for the lock enter. A run is finite: one that was cut short decides
/// nothing.
fn starvation_freedom(core: &Core, decided: bool, waiting: &[ProcessId]) -> Finding {
    let property = Property::StarvationFreedom;
    Finding { property, ..progress(core, decided, waiting) }
}

/// Whether a process still enters while others wait. Where a run is decided, either all are served
/// or none is any more.
fn deadlock_freedom(starvation: &Finding, waiting: &[ProcessId]) -> Finding {
    let property = Property::DeadlockFreedom;
    let who = match waiting {
        [] => "a process waits".to_owned(),
        [one] => format!("{one} waits"),
        [first, _] => format!("{first} and one other wait"),
        [first, others @ ..] => format!("{first} and {} others wait", others.len()),
    };
    let says = format!("{who}, and no process enters any more");
    let violation = starvation.violation.clone().map(|first| FirstViolation { says, ..first });
    Finding { property, violation, ..starvation.clone() }
}

fn progress(core: &Core, decided: bool, blocked: &[ProcessId]) -> Finding {
    let waits = core.users.is_none() && core.metrics.waiting.now() > 0;
    match blocked.first() {
        Some(first) => {
            let others = blocked.len() - 1;
            let says = match others {
                0 => format!("{first} waits for ever"),
                1 => format!("{first} and one other wait for ever"),
                _ => format!("{first} and {others} others wait for ever"),
            };
            Finding::violated(Property::Progress, core.now, *first, says)
        }
        None if !decided => Finding::undisputed(Property::Progress, Judgement::Incomplete),
        None if waits => {
            let says = "somebody waits for ever".to_owned();
            Finding::violated(Property::Progress, core.now, ProcessId(0), says)
        }
        None => Finding::undisputed(Property::Progress, Judgement::Holds),
    }
}
