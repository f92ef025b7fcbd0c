//! Depth-first search over the contents that liars send.

use std::collections::VecDeque;

use tenure_core::byzantine::{COMMANDER, General, OralMessage, Plan};
use tenure_core::{Group, ProcessId, Property};

use super::ByzantineGeneralsConfig;
use crate::clock::Instant;
use crate::limits::{SearchProgress, StopReason};

/// Number of states between two reports of the progress.
const STATES_PER_REPORT: u64 = 1024;

/// A message under way, with its sender and its receiver.
#[derive(Clone, Debug)]
pub(crate) struct SentOralMessage {
    pub(crate) from: ProcessId,
    pub(crate) to: ProcessId,
    pub(crate) message: OralMessage,
    /// True if the sender is a liar and has replaced the order in the message by the other order.
    pub(crate) is_lie: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct RunStep {
    /// Message that a general receives in this step. `None` if the commander gives its order.
    pub(crate) received: Option<SentOralMessage>,
    pub(crate) sent: Vec<SentOralMessage>,
    /// Loyal lieutenant that decides in this step, and the order that it obeys. `None` if no loyal
    /// lieutenant decides.
    pub(crate) decision: Option<(ProcessId, Plan)>,
}

/// Run that violates a property, with the fewest lies among the runs found.
#[derive(Clone, Debug)]
pub(crate) struct ViolatingRun {
    pub(crate) property: Property,
    pub(crate) liars: Vec<ProcessId>,
    /// Order of the commander. [`Plan::Attack`] if the commander lies, because a commander that
    /// lies has no true order.
    pub(crate) plan: Plan,
    pub(crate) steps: Vec<RunStep>,
    /// Number of messages of the run in which a liar replaced the order.
    pub(crate) lies: usize,
}

#[derive(Clone)]
struct Run<G> {
    generals: Vec<G>,
    under_way: VecDeque<SentOralMessage>,
}

pub(crate) struct LieSearch<'c> {
    config: &'c ByzantineGeneralsConfig,
    started: Instant,
    liars: Vec<ProcessId>,
    plan: Plan,
    steps: Vec<RunStep>,
    violations: Vec<ViolatingRun>,
    /// Number of states so far, for all sets of liars. A set without the commander counts one
    /// initial state for each order that the commander can give. A set with the commander counts
    /// only one initial state.
    pub(crate) states: u64,
    /// Greatest number of steps of a run so far.
    pub(crate) depth: u32,
    pub(crate) limit: Option<StopReason>,
    /// Number of states at which the search next reports its progress.
    next_report: u64,
}

impl<'c> LieSearch<'c> {
    pub(crate) fn new(config: &'c ByzantineGeneralsConfig) -> Self {
        LieSearch {
            config,
            started: Instant::now(),
            liars: Vec::new(),
            plan: Plan::Attack,
            steps: Vec::new(),
            violations: Vec::new(),
            states: 0,
            depth: 0,
            limit: None,
            next_report: 0,
        }
    }

    pub(crate) fn violation(&self, property: Property) -> Option<&ViolatingRun> {
        self.violations.iter().find(|found| found.property == property)
    }

    /// Explores all runs, beginning with the smallest sets of liars.
    pub(crate) fn explore<G: General>(&mut self, generals: &G::Config) {
        let size = self.config.size;
        let mut sets: Vec<u32> =
            (0..1 << size).filter(|set: &u32| set.count_ones() <= self.config.max_liars).collect();
        sets.sort_by_key(|set| set.count_ones());
        for set in sets {
            self.liars = (0..size).filter(|at| set & 1 << at != 0).map(ProcessId).collect();
            // A lying commander has no true order, so one value of `plan` suffices.
            let lies = self.liars.contains(&COMMANDER);
            for plan in Plan::ALL.into_iter().filter(|plan| !lies || *plan == Plan::Attack) {
                if self.is_stopped() {
                    return;
                }
                self.plan = plan;
                let boot = |at| G::boot(Group::new(ProcessId(at), size), generals);
                let mut run =
                    Run { generals: (0..size).map(boot).collect(), under_way: VecDeque::new() };
                self.states += 1;
                let outgoing = run.generals[COMMANDER.index()].command(plan);
                self.branch(&run, None, COMMANDER, outgoing);
            }
        }
    }

    /// Continues the run with the messages `outgoing` of the process `from`. If the process lies,
    /// tries every combination of true and false orders in these messages. `received` is the
    /// message to which the process reacts. It is `None` if the commander gives its order.
    fn branch<G: General>(
        &mut self,
        run: &Run<G>,
        received: Option<&SentOralMessage>,
        from: ProcessId,
        outgoing: Vec<(ProcessId, OralMessage)>,
    ) {
        let lies = self.liars.contains(&from);
        let choices = if lies { 1_u64 << outgoing.len() } else { 1 };
        for choice in 0..choices {
            if self.is_stopped() {
                return;
            }
            let content = |(place, (to, message)): (usize, &(ProcessId, OralMessage))| {
                let is_lie = choice >> place & 1 == 1;
                let mut message = message.clone();
                if is_lie {
                    message.plan = other(message.plan);
                }
                SentOralMessage { from, to: *to, message, is_lie }
            };
            let sent: Vec<SentOralMessage> = outgoing.iter().enumerate().map(content).collect();
            let mut next = run.clone();
            next.under_way.extend(sent.iter().cloned());
            let obeyed =
                next.generals[from.index()].decision().filter(|_| from != COMMANDER && !lies);
            let obeys = obeyed.map(|plan| (from, plan));
            self.steps.push(RunStep { received: received.cloned(), sent, decision: obeys });
            self.states += 1;
            self.deliver(next);
            self.steps.pop();
        }
    }

    /// Delivers the message that was sent first, or judges the run if no message is under way.
    fn deliver<G: General>(&mut self, mut run: Run<G>) {
        let Some(sent) = run.under_way.pop_front() else {
            self.depth = self.depth.max(self.steps.len() as u32);
            return self.judge(&run);
        };
        let outgoing = run.generals[sent.to.index()].receive(sent.message.clone());
        self.branch(&run, Some(&sent), sent.to, outgoing);
    }

    fn judge<G: General>(&mut self, run: &Run<G>) {
        let is_loyal = |at: &ProcessId| *at != COMMANDER && !self.liars.contains(at);
        let lieutenants = (0..self.config.size).map(ProcessId).filter(is_loyal);
        let obeyed = lieutenants.map(|at| run.generals[at.index()].decision());
        let obeyed: Vec<Plan> =
            obeyed.map(|plan| plan.expect("a general decides after its last message")).collect();
        for property in self.config.properties.clone() {
            let is_violated = match property {
                Property::Agreement => obeyed.windows(2).any(|pair| pair[0] != pair[1]),
                Property::Validity => {
                    let is_loyal = !self.liars.contains(&COMMANDER);
                    is_loyal && obeyed.iter().any(|plan| *plan != self.plan)
                }
                other => panic!("{other} cannot be checked for generals"),
            };
            if is_violated {
                self.keep(property);
            }
        }
    }

    /// Stores the current run as a violation of the property, if the property has no stored run or
    /// the stored run has more lies.
    fn keep(&mut self, property: Property) {
        let lies = self.steps.iter().flat_map(|step| &step.sent).filter(|it| it.is_lie).count();
        if self.violation(property).is_some_and(|known| known.lies <= lies) {
            return;
        }
        self.violations.retain(|known| known.property != property);
        let (liars, steps) = (self.liars.clone(), self.steps.clone());
        self.violations.push(ViolatingRun { property, liars, plan: self.plan, steps, lies });
    }

    /// Reports the progress, if enough states were explored since the last report.
    fn report_progress(&mut self) {
        let Some(report) = &self.config.on_progress else { return };
        if self.states < self.next_report {
            return;
        }
        report(&SearchProgress {
            states: self.states,
            depth: self.steps.len() as u32,
            waiting: 0,
            bytes: 0,
            elapsed: self.started.elapsed(),
        });
        self.next_report = self.states + STATES_PER_REPORT;
    }

    /// Returns true if the search must stop. At intervals, reports the progress first.
    fn is_stopped(&mut self) -> bool {
        self.report_progress();
        let ByzantineGeneralsConfig { limits, stop_flag, .. } = self.config;
        let reached = limits.reached_limit_since(self.started, self.states, stop_flag.as_ref());
        self.limit = self.limit.or(reached);
        self.limit.is_some()
    }
}

const fn other(plan: Plan) -> Plan {
    match plan {
        Plan::Attack => Plan::Retreat,
        Plan::Retreat => Plan::Attack,
    }
}
