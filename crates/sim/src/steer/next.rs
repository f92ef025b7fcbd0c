//! What a paused run is about to do.

use tenure_core::service::mutex;
use tenure_core::{Labelled, ProcessId, Verdict};
use tenure_trace::{Action, Recorded};

use crate::engine::agenda::{Act, verdict};
use crate::engine::queue::Queue;
use crate::steer::session::Session;

/// What the next step of a [`Session`] does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// When, in ticks.
    pub time: u64,
    /// What, in words.
    pub says: String,
    /// The [id](crate::UnderWay::id) of the message that arrives, if one does.
    pub message: Option<u64>,
}

impl<P: Recorded> Session<'_, P> {
    pub(crate) fn next_of_course(&self, action: &Action) -> Option<Next> {
        let message = match action {
            Action::Deliver(pick) | Action::Lose(pick) | Action::Duplicate(pick) => {
                let sent = self.under_way();
                let named = sent.iter().map(|it| (it.from, it.to, it.message.label().kind));
                pick.among(named).map(|place| sent[place].id)
            }
            _ => None,
        };
        Some(Next { time: self.now(), says: action.to_string(), message })
    }

    pub(crate) fn next_by_itself(&self) -> Option<Next> {
        let world = &self.steered.world;
        if !self.begun {
            return Some(Next { time: 0, says: "everything begins".to_owned(), message: None });
        }
        if world.draws() {
            let says = "somebody who is drawn asks to enter".to_owned();
            return Some(Next { time: self.now(), says, message: None });
        }
        if world.mail.is_empty() && world.core.is_over() {
            return None;
        }
        let soonest = |queue: &Queue<Act>| {
            let first = queue.first(|time, act| !self.comes_to_nothing(time, act));
            first.map(|(time, act)| (time, *act))
        };
        let (plan, agenda) = (soonest(&world.core.plan), soonest(&world.core.agenda));
        let mail = world.mail.first(|_, _| true);
        // At equal times what is planned goes first, then messages, as in the run's own loop.
        let time = |of: Option<u64>| of.unwrap_or(u64::MAX);
        let (planned, listed) = (time(plan.map(|it| it.0)), time(agenda.map(|it| it.0)));
        let due = time(mail.map(|it| it.0));
        let next = match mail {
            Some((time, letter)) if due < planned && due <= listed => {
                let (from, to, kind) = (letter.from, letter.to, letter.message.label().kind);
                let lives = if self.is_up(to) { "arrives" } else { "arrives at nobody" };
                let recorder = world.core.recorder.as_ref();
                // Of several copies, the one that is due first has just the number.
                let message = recorder.map(|recorder| recorder.look(letter.tag).number);
                Next { time, says: format!("{from} → {to} {kind} {lives}"), message }
            }
            _ => {
                let (time, act) = if planned <= listed { plan } else { agenda }?;
                Next { time, says: self.says(&act), message: None }
            }
        };
        let until = world.core.settings.limits.until;
        Some(next).filter(|next| until.is_none_or(|until| next.time <= until))
    }

    /// Whether the next turn changes nothing but the time.
    pub(crate) fn is_idle(&self) -> bool {
        let world = &self.steered.world;
        let plan = world.core.plan.next_time();
        let agenda = world.core.agenda.next_time();
        let mail = world.mail.next_time();
        if mail < plan && mail <= agenda {
            return false;
        }
        let queue = if plan <= agenda { &world.core.plan } else { &world.core.agenda };
        queue.first(|_, _| true).is_some_and(|(time, act)| self.comes_to_nothing(time, act))
    }

    fn comes_to_nothing(&self, time: u64, act: &Act) -> bool {
        let world = &self.steered.world;
        let core = &world.core;
        let up = |at: ProcessId| core.up[at.index()];
        match *act {
            Act::Timer { slot, generation } => world.timers.armed_in(slot, generation).is_none(),
            Act::User { process, ask } => {
                !core.users.as_ref().is_some_and(|users| users.is_due(process, ask, time))
            }
            Act::Tell { observer, peer, suspect } => !up(observer) || up(peer) == suspect,
            Act::Lie { observer, peer, .. } => !up(observer) || !up(peer),
            Act::Crash { process, .. } => !up(process),
            Act::Recover { process, .. } => up(process),
            Act::Trap { fault, inside, count } => core.caught(fault, inside, count).is_none(),
            Act::Cut { .. } | Act::Heal { .. } => false,
            Act::Arrival { .. } | Act::Chat { .. } | Act::Script { .. } => false,
        }
    }

    fn says(&self, act: &Act) -> String {
        let world = &self.steered.world;
        match *act {
            Act::Timer { slot, generation } => match world.timers.armed_in(slot, generation) {
                Some((at, timer)) => format!("{at}'s timer {timer:?} fires"),
                None => "a timer that was disarmed".to_owned(),
            },
            Act::User { process, ask } => match ask {
                mutex::Command::Exit => format!("{process} asks to exit"),
                mutex::Command::Enter => format!("{process} asks to enter"),
            },
            Act::Tell { observer, peer, suspect } | Act::Lie { observer, peer, suspect, .. } => {
                match verdict(suspect) {
                    Verdict::Suspect => format!("{observer} suspects {peer}"),
                    Verdict::Trust => format!("{observer} trusts {peer}"),
                }
            }
            Act::Crash { process, .. } => format!("{process} crashes"),
            Act::Recover { process, .. } => format!("{process} recovers"),
            Act::Trap { fault, inside, count } => match world.core.caught(fault, inside, count) {
                Some(process) => format!("{process} crashes"),
                None => "nobody crashes".to_owned(),
            },
            Act::Cut { .. } => "the network splits".to_owned(),
            Act::Heal { .. } => "the network is whole again".to_owned(),
            Act::Arrival { process } => format!("a request arrives at {process}"),
            Act::Chat { chat } => {
                let chat = world.core.chats.look(chat);
                format!("{}'s user hears from {}'s", chat.to, chat.from)
            }
            Act::Script { .. } => "a user asks".to_owned(),
        }
    }
}
