//! What is to be done, after all that was asked for has been looked at.

use std::time::Duration;

use crate::cmd::failure::Failure;
use crate::cmd::output::no_effect;
use crate::cmd::run::options::Options;
use crate::cmd::run::schedule::{Action, Deed, Moment, Target};

/// How many members a service has at most.
const MOST_MEMBERS: u32 = 9;

/// How many clients there are where nobody says how many, and at most.
const CLIENTS: u32 = 8;
const MOST_CLIENTS: u32 = 64;

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
}

/// A run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) members: u32,
    pub(super) clients: u32,
    pub(super) duration: Duration,
    pub(super) hold: Duration,
    pub(super) think: Duration,
    pub(super) lock: bool,
    pub(super) seed: u64,
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
        if !options.partition.is_empty() || options.watch.is_some() {
            let says = "--partition and --watch are for nodes and logs; a service is hurt by \
                        --kill, --leave, --restart and --pause";
            return Err(Failure::usage(says));
        }
        if options.states {
            no_effect("--states", "a service: members write no traces");
        }
        let plan = Plan {
            members,
            clients,
            duration: options.duration.unwrap_or(Duration::from_secs(10)),
            hold: options.hold,
            think: options.think,
            lock: !options.no_lock,
            seed: options.seed,
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
        if actions.is_empty() && self.members > 2 {
            actions.push(Action::kill(Moment::leader_at(2), true));
            actions.push(Action::restart(Moment::leader_at(5), true));
        }
        // What nobody asked for is left out where there is no time for it.
        actions.retain(|it| !it.by_default || it.end() < self.duration);
        for action in &actions {
            if action.end() >= self.duration {
                let says = format!("{action} is after the end; make --duration longer");
                return Err(Failure::usage(says));
            }
            if let Target::Process(process) = action.target
                && process.number() > self.members
            {
                let members = self.members;
                return Err(Failure::usage(format!("{action}: there are {members} members")));
            }
        }
        let mut steps: Vec<Step> = actions.iter().flat_map(steps).collect();
        steps.sort_by_key(|step| step.at);
        Ok(steps)
    }
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
