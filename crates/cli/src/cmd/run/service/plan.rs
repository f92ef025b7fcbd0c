//! What is to be done, after all that was asked for has been looked at.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::cmd::failure::Failure;
use crate::cmd::run::options::Options;
use crate::cmd::run::schedule::{Action, Cut, Deed, Moment, Pause, Target};

/// How many members a service has at most.
const MOST_MEMBERS: u32 = 9;

/// How many clients there are where nobody says how many, and at most.
const CLIENTS: u32 = 8;
const MOST_CLIENTS: u32 = 64;

/// How long a value may be: a request of etcd has a megabyte and a half at most.
const MOST_BYTES: u32 = 1_400 << 10;

/// What is done to somebody at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) at: Duration,
    pub(super) target: Target,
    pub(super) does: Does,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Kill,
    Leave,
    Restart,
    Stop,
    Resume,
    /// It can write to no file.
    Fill,
    /// It can again, and is started again.
    Clear,
    /// Its disk is slow.
    Slow,
    /// It no longer is.
    Hasten,
    /// Those of a cut are cut off from all others, by its place among the cuts.
    Part(usize),
    /// They no longer are.
    Join(usize),
}

impl Does {
    /// Whether it hurts whom it is done to, and not only the network.
    pub(super) fn hurts(self) -> bool {
        matches!(self, Does::Kill | Does::Leave | Does::Stop | Does::Fill | Does::Slow)
    }

    /// Whether it ends that.
    pub(super) fn heals(self) -> bool {
        matches!(self, Does::Restart | Does::Resume | Does::Clear | Does::Hasten)
    }
}

/// A run.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) members: u32,
    pub(super) clients: u32,
    pub(super) duration: Duration,
    pub(super) hold: Duration,
    pub(super) think: Duration,
    pub(super) lock: bool,
    pub(super) seed: u64,
    /// Who is cut off from whom at some time.
    pub(super) cuts: Vec<Cut>,
    /// How much longer a flush takes where a disk is slow.
    pub(super) slow_flush: Duration,
    /// After how many entries of its log a member has a snapshot stand for them.
    pub(super) snapshot_after: Option<NonZeroU64>,
    /// Of how many bytes values are at most, where values are put.
    pub(super) values: Option<u32>,
    /// In the order of time.
    pub(super) steps: Vec<Step>,
}

impl Plan {
    pub(super) fn new(options: &Options) -> Result<Plan, Failure> {
        let members = options.service.unwrap_or(3);
        if !(1..=MOST_MEMBERS).contains(&members) {
            let says = format!("--service {members}: 1 to {MOST_MEMBERS} members are possible");
            return Err(Failure::usage(says));
        }
        let clients = options.clients.unwrap_or(CLIENTS);
        if !(1..=MOST_CLIENTS).contains(&clients) {
            let says = format!("--clients {clients}: 1 to {MOST_CLIENTS} clients are possible");
            return Err(Failure::usage(says));
        }
        if options.entries.is_some() {
            return Err(Failure::usage("a service is asked for a time: say --duration"));
        }
        if options.watch.is_some() {
            let says = "--watch is for nodes and logs; a service has a table at the end";
            return Err(Failure::usage(says));
        }
        let plan = Plan {
            members,
            clients,
            duration: options.duration.unwrap_or(Duration::from_secs(10)),
            hold: options.hold,
            think: options.think,
            lock: !options.no_lock,
            seed: options.seed,
            cuts: options.partition.clone(),
            slow_flush: options.slow_flush,
            snapshot_after: options.snapshot_after,
            values: options.values.map(most_bytes).transpose()?,
            steps: Vec::new(),
        };
        Ok(Plan { steps: plan.steps(options)?, ..plan })
    }

    fn steps(&self, options: &Options) -> Result<Vec<Step>, Failure> {
        let mut actions: Vec<Action> = Vec::new();
        actions.extend(options.kill.iter().map(|it| Action::kill(*it, false)));
        actions.extend(options.leave.iter().map(|it| Action::leave(*it)));
        actions.extend(options.restart.iter().map(|it| Action::restart(*it, false)));
        actions.extend(options.pause.iter().map(|it| Action::pause(*it)));
        let for_a_time = [
            (&options.full_disk, "--full-disk", [Does::Fill, Does::Clear]),
            (&options.slow_disk, "--slow-disk", [Does::Slow, Does::Hasten]),
        ];
        let are_disks_whole = for_a_time.iter().all(|(pauses, ..)| pauses.is_empty());
        let is_hurt = !(actions.is_empty() && self.cuts.is_empty() && are_disks_whole);
        if !is_hurt && !options.no_faults && self.members > 2 {
            actions.push(Action::kill(Moment::leader_at(2), true));
            actions.push(Action::restart(Moment::leader_at(5), true));
        }
        // What nobody asked for is left out where there is no time for it.
        actions.retain(|it| !it.by_default || it.end() < self.duration);
        for action in &actions {
            self.possible(action, action.end(), &[action.target])?;
        }
        let mut steps: Vec<Step> = actions.iter().flat_map(steps).collect();
        for (pauses, option, [first, last]) in for_a_time {
            for pause in pauses {
                let Pause { target, from, until } = *pause;
                self.possible(&format!("{option} {pause}"), until, &[target])?;
                steps.push(Step { at: from, target, does: first });
                steps.push(Step { at: until, target, does: last });
            }
        }
        for (place, cut) in self.cuts.iter().enumerate() {
            self.possible(cut, cut.until, &cut.side)?;
            let step = |at, does| Step { at, target: Target::All, does };
            steps.push(step(cut.from, Does::Part(place)));
            steps.push(step(cut.until, Does::Join(place)));
        }
        steps.sort_by_key(|step| step.at);
        Ok(steps)
    }

    /// Refuses what comes too late, or is done to somebody who is not there.
    fn possible(
        &self,
        what: &impl fmt::Display,
        end: Duration,
        targets: &[Target],
    ) -> Result<(), Failure> {
        if end >= self.duration {
            let says = format!("{what} is after the end; make --duration longer");
            return Err(Failure::usage(says));
        }
        let is_there = |target: &Target| match target {
            Target::Process(process) => process.number() <= self.members,
            Target::Leader | Target::All => true,
            Target::Inside => false,
        };
        if targets.contains(&Target::Inside) {
            return Err(Failure::usage(format!(
                "{what}: no member of a service is ever inside; name the leader or a member"
            )));
        }
        match targets.iter().all(is_there) {
            true => Ok(()),
            false => Err(Failure::usage(format!("{what}: there are {} members", self.members))),
        }
    }
}

fn most_bytes(bytes: u64) -> Result<u32, Failure> {
    let most = u32::try_from(bytes).ok().filter(|bytes| (1..=MOST_BYTES).contains(bytes));
    most.ok_or_else(|| {
        Failure::usage(format!("--values {bytes}: a value has 1 to {MOST_BYTES} bytes"))
    })
}

fn steps(action: &Action) -> Vec<Step> {
    let Action { at, target, deed, .. } = *action;
    let step = |at, does| Step { at, target, does };
    match deed {
        Deed::Kill => vec![step(at, Does::Kill)],
        Deed::Leave => vec![step(at, Does::Leave)],
        Deed::Restart => vec![step(at, Does::Restart)],
        Deed::Pause(length) => vec![step(at, Does::Stop), step(at + length, Does::Resume)],
    }
}
