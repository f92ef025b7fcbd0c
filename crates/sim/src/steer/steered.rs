//! What somebody outside of a run does in it: a message is lost, a process crashes.

use std::collections::VecDeque;

use tenure_core::service::{mutex, office};
use tenure_core::{Labelled, Order, ProcessId, Protocol, TICKS_PER_UNIT, Verdict};
use tenure_trace::{Action, Impossible, Pick, Recorded, Spoken, Theatre, timer_named};

use crate::engine::agenda::Act;
use crate::engine::happenings::Todo;
use crate::engine::post::Letter;
use crate::engine::post::{lose, trace_duplicate};
use crate::engine::users::Phase;
use crate::engine::world::World;

/// How much time passes with each step of a course, in ticks: more than the unit that a message
/// takes.
const STEP: u64 = 2 * TICKS_PER_UNIT;

/// A world that does what it is told, besides what it does by itself. It is recorded, since
/// messages are told apart by their numbers in the trace.
pub(crate) struct Steered<'a, P: Protocol> {
    pub(crate) world: World<'a, P>,
    /// What users have said and not heard yet: from, to and number.
    told: Vec<(ProcessId, ProcessId, u32)>,
    /// What is drawn in the next step, as far as it was said.
    drawn: VecDeque<u32>,
}

/// A message under way.
pub(crate) struct Sent<'s, M> {
    pub(crate) letter: &'s Letter<M>,
    pub(crate) due: u64,
    /// Its number in the trace, which copies share.
    pub(crate) number: u64,
}

impl<M: Labelled> Sent<'_, M> {
    /// From whom, to whom, and what it is called.
    pub(crate) fn named(&self) -> (ProcessId, ProcessId, &'static str) {
        (self.letter.from, self.letter.to, self.letter.message.label().kind)
    }

    /// Which one it is, and when it is due.
    fn key(&self) -> (u32, u64) {
        (self.letter.tag, self.due)
    }
}

impl<P: Recorded> Theatre for Steered<'_, P> {
    /// Time passes with each step.
    fn perform(&mut self, action: &Action) -> Result<(), Impossible> {
        match action {
            Action::Choose { value, .. } => {
                self.drawn.push_back(*value);
                return Ok(());
            }
            Action::Unsaved(at) => {
                let up = self.up(*at).ok_or_else(|| Impossible::Now(action.clone()))?;
                self.world.not_save(up);
                return Ok(());
            }
            _ => {}
        }
        self.world.core.now += STEP;
        self.world.will_draw(std::mem::take(&mut self.drawn));
        let done = self.act(action).ok_or_else(|| Impossible::Now(action.clone()));
        self.world.will_draw(VecDeque::new());
        done
    }
}

impl<'a, P: Recorded> Steered<'a, P> {
    pub(crate) fn new(mut world: World<'a, P>) -> Self {
        // From now on anybody may crash.
        world.core.fragile = true;
        world.core.sessions.resize(world.core.settings.size as usize, 0);
        Steered { world, told: Vec::new(), drawn: VecDeque::new() }
    }

    /// What is under way, the oldest first.
    pub(crate) fn under_way(&self) -> Vec<Sent<'_, P::Message>> {
        let number = |letter: &Letter<P::Message>| {
            let recorder = self.world.core.recorder.as_ref();
            recorder.map_or(0, |recorder| recorder.look(letter.tag).number)
        };
        let sent = self.world.mail.in_order().into_iter();
        let mut sent: Vec<_> =
            sent.map(|(due, letter)| Sent { letter, due, number: number(letter) }).collect();
        sent.sort_by_key(|sent| sent.number);
        sent
    }

    /// Does something, now; nothing where it is not possible.
    pub(crate) fn act(&mut self, action: &Action) -> Option<()> {
        match action {
            Action::Ask(asking) => {
                let command = self.up(asking.at).and_then(|_| P::Command::understand(asking))?;
                self.may_ask(asking.at, command.ask())?;
                self.world.command(asking.at, command);
            }
            Action::Deliver(pick) => {
                let letter = self.is_next(pick).then(|| self.take(pick)).flatten()?;
                self.world.hand_over(letter);
            }
            Action::Lose(pick) => {
                let Letter { from, to, tag, message } = self.take(pick)?;
                self.world.core.dropped(message.label());
                lose(&mut self.world.core, from, to, tag, &message);
            }
            Action::Duplicate(pick) => self.duplicate(pick)?,
            Action::Delay { pick, by } => self.delay(pick, *by)?,
            Action::Tell { from, to } => {
                let chat = self.up(*from).map(|from| self.world.core.chat(from, *to, None))?;
                self.told.push((*from, *to, chat));
            }
            Action::Hear(pick) => {
                let said = self.told.iter().map(|(from, to, _)| (*from, *to, ""));
                let (_, _, chat) = self.told.remove(pick.among(said)?);
                let todo = self.world.core.hear(chat);
                self.world.carry_out(todo);
            }
            Action::Fire { at, timer } => {
                let armed = self.world.timers.of(self.up(*at)?);
                let timer = timer_named(armed.iter(), timer)?.clone();
                self.world.timers.cancel(*at, &timer);
                self.world.fire(*at, timer);
            }
            Action::Mute(at) => self.up(*at).map(|at| self.world.mute(at))?,
            Action::Crash(at) => self.crash(*at)?,
            Action::Recover(at) => {
                let is_down = !self.world.core.up.get(at.index())?;
                is_down.then(|| {
                    self.world.carry_out(Todo::Recover { process: *at, lost: false });
                })?;
            }
            Action::Suspicion { at, peer, verdict } => {
                self.suspicion(*at, *peer, *verdict)?;
            }
            Action::Split(_) | Action::Heal => {
                action.of_all().map(|kind| self.world.core.trace_group(kind))?;
            }
            Action::Group(_)
            | Action::Channel(_)
            | Action::Choose { .. }
            | Action::Unsaved(_)
            | Action::Stabilize { .. }
            | Action::Look(_) => return None,
        }
        Some(())
    }

    fn crash(&mut self, at: ProcessId) -> Option<()> {
        let at = self.up(at)?;
        self.world.end_lapse(at);
        let todo = self.world.core.crash(at, None);
        self.world.carry_out(todo);
        Some(())
    }

    fn suspicion(&mut self, at: ProcessId, peer: ProcessId, verdict: Verdict) -> Option<()> {
        let observer = self.up(at)?;
        let exists = peer.0 < self.world.core.settings.size && peer != at;
        exists.then(|| self.world.carry_out(Todo::Suspicion { observer, peer, verdict }))
    }

    /// From now on, time brings about what nobody says: what was held back is due.
    pub(crate) fn let_go(&mut self, latency: u64) {
        let now = self.world.core.now;
        self.world.mail.postpone(now + latency);
        self.world.core.agenda.postpone(now);
        for (_, _, chat) in self.told.drain(..) {
            self.world.core.agenda.push(now + latency, Act::Chat { chat });
        }
    }

    fn up(&self, at: ProcessId) -> Option<ProcessId> {
        self.world.core.up.get(at.index())?.then_some(at)
    }

    /// The user of a lock asks to enter only outside, and to exit only inside; that of a barrier
    /// arrives only where it does not wait.
    fn may_ask(&self, at: ProcessId, ask: Option<office::Command>) -> Option<()> {
        if self.world.core.agreeing.as_ref().is_some_and(|users| users.must_wait(at)) {
            return None;
        }
        let Some(users) = &self.world.core.users else { return Some(()) };
        let may = match ask {
            Some(office::Command::Mutex(mutex::Command::Enter)) => {
                users.phase(at) == Phase::Outside
            }
            Some(office::Command::Mutex(mutex::Command::Exit)) => users.phase(at) == Phase::Inside,
            _ => true,
        };
        may.then_some(())
    }

    /// Which message is meant.
    fn pick(&self, pick: &Pick) -> Option<(u32, u64)> {
        let sent = self.under_way();
        let place = pick.among(sent.iter().map(Sent::named))?;
        Some(sent[place].key())
    }

    fn take(&mut self, pick: &Pick) -> Option<Letter<P::Message>> {
        let (tag, due) = self.pick(pick)?;
        self.world.mail.take(due, |letter| letter.tag == tag)
    }

    /// Whether a message overtakes no other, where they keep their order.
    fn is_next(&self, pick: &Pick) -> bool {
        let oldest = || self.pick(&Pick::oldest(pick.from, pick.to));
        let tag = |key: Option<(u32, u64)>| key.map(|(tag, _)| tag);
        !self.keeps_order() || tag(self.pick(pick)) == tag(oldest())
    }

    fn keeps_order(&self) -> bool {
        self.world.core.settings.order() == Order::Fifo
    }

    fn duplicate(&mut self, pick: &Pick) -> Option<()> {
        let (tag, due) = self.pick(pick)?;
        let letter = self.world.mail.take(due, |letter| letter.tag == tag)?;
        let Letter { from, to, tag, message } = &letter;
        let copy = Letter { from: *from, to: *to, tag: *tag, message: message.clone() };
        let core = &mut self.world.core;
        core.duplicated(copy.message.label());
        core.copy_tag(copy.tag);
        trace_duplicate(core, copy.from, copy.to, copy.tag, &copy.message);
        self.world.mail.push(due, letter);
        self.world.mail.push(due, copy);
        Some(())
    }

    /// A message takes longer; where messages keep their order, so do those behind it.
    fn delay(&mut self, pick: &Pick, by: u64) -> Option<()> {
        let (tag, due) = self.pick(pick)?;
        let until = due.checked_add(by).filter(|until| *until < 1 << 62)?;
        let mut late = vec![(tag, due)];
        if self.keeps_order() {
            let sent = self.under_way().into_iter();
            let behind = sent
                .filter(|sent| (sent.letter.from, sent.letter.to) == (pick.from, pick.to))
                .skip_while(|sent| sent.letter.tag != tag)
                .filter(|sent| sent.letter.tag != tag && sent.due < until);
            late.extend(behind.map(|sent| sent.key()));
            self.world.core.router.hold_back(pick.from, pick.to, until);
        }
        for (tag, due) in late {
            let letter = self.world.mail.take(due, |letter| letter.tag == tag)?;
            self.world.mail.push(until, letter);
        }
        Some(())
    }
}
