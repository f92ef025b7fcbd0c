//! The way out of a node: save, then send, arm and tell.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};
use std::{iter, vec};

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use tenure_core::{
    Labelled, Layer, ProcessId, ProcessSet, Protocol, Released, Saving, Step, TimerChange,
    TimerRole, Verdict,
};
use tenure_trace::{Kind, Told};
use tracing::warn;

use crate::account::Account;
use crate::disk::{Disk, Job};
use crate::driver::Suspected;
use crate::envelope::Envelope;
use crate::environment::{System, draw};
use crate::failure::Failure;
use crate::injection::{Fate, Injection};
use crate::local::Local;
use crate::plausible::Plausible;
use crate::presence::Presence;
use crate::recorder::Diary;
use crate::seldom::Seldom;
use crate::store::Store;
use crate::timers::Timers;
use crate::transport::Mesh;

/// How many bytes a change has at least, before it is looked at whether the whole is longer.
const LARGE_CHANGE: usize = 32 << 10;

/// A save that takes longer may never end. Then messages that need no save wait for it as well, so
/// that the peers of a leader miss its heartbeats and elect another.
const STUCK_DISK: Duration = Duration::from_secs(10);

/// A message that was sent, for whoever wants to know.
#[derive(Clone, Debug)]
pub(crate) struct Posted {
    pub(crate) to: ProcessId,
    /// What it is called.
    pub(crate) kind: &'static str,
    /// Its number in this session.
    pub(crate) number: u64,
    /// What travels.
    pub(crate) payload: Vec<u8>,
}

/// Where the effects of a step go.
pub(crate) struct Outlet<P: Protocol, L> {
    pub(crate) mesh: Mesh,
    pub(crate) disk: Disk,
    pub(crate) plausible: Plausible,
    pub(crate) local: L,
    pub(crate) diary: Diary,
    injection: Injection,
    pub(crate) timers: Timers<P::Timer>,
    /// Of the steps whose effects are kept back, in their order, with the time of the step.
    pub(crate) accounts: VecDeque<(Instant, Account)>,
    /// What the local side wants the protocol to be told next.
    pub(crate) commands: VecDeque<P::Command>,
    /// What is logged of messages that were lost on the way out, by peer.
    losses: BTreeMap<ProcessId, Seldom>,
    /// How many messages were sent in this session.
    sent: u64,
    /// What was sent, where somebody wants to know.
    pub(crate) posted: Option<Vec<Posted>>,
    suspected: Option<Suspected<P>>,
    /// Whom the process suspected after its last step.
    opinions: ProcessSet,
    pub(crate) presence: Presence,
}

impl<P, L> Outlet<P, L>
where
    P: Protocol,
    P::Message: Serialize,
    P::Stable: Serialize,
    P::Event: Into<Told>,
    L: Local<P>,
{
    pub(crate) fn new(
        mesh: Mesh,
        store: Store,
        plausible: Plausible,
        local: L,
        diary: Diary,
        injection: Injection,
        suspected: Option<Suspected<P>>,
    ) -> Self {
        let presence = Presence::new(mesh.group_size());
        Outlet {
            mesh,
            disk: Disk::new(store),
            plausible,
            local,
            diary,
            injection,
            timers: Timers::new(),
            accounts: VecDeque::new(),
            commands: VecDeque::new(),
            losses: BTreeMap::new(),
            sent: 0,
            posted: None,
            suspected,
            opinions: ProcessSet::new(),
            presence,
        }
    }

    /// A user asks.
    pub(crate) fn ask(&mut self, ask: L::Ask) {
        let command = self.local.ask(ask);
        self.commands.extend(command);
    }

    /// Whether the users' side wants the node to end.
    pub(crate) fn is_over(&self) -> bool {
        self.local.is_over()
    }

    /// What the users' side cannot take.
    pub(crate) fn refuses(&self) -> Result<(), Failure> {
        self.local.refuses().map_or(Ok(()), |what| Err(Failure::Refused(what.into())))
    }

    /// Tells the users' side why the node cannot go on.
    pub(crate) fn ends(&mut self, why: &Failure) {
        self.local.ends(why);
    }

    /// Takes the effects of a step: lets them out where nothing is to be saved before, and keeps
    /// them back else.
    pub(crate) fn take(
        &mut self,
        mut step: Step<'_, P, System>,
        mut account: Account,
    ) -> Result<(), Failure> {
        account.opinions = self.opinions(step.process());
        account.choices = step.environment().take_choices();
        account.state = self.diary.state(step.process());
        if step.may_leave() {
            return self.let_out(step.saved(), account, false);
        }
        for change in step.timers() {
            match P::timer_role(timer_of(change)) {
                // Heartbeats go on while the disk works.
                TimerRole::Paces => self.change_timer(change.clone()),
                _ => self.timers.keep_back(timer_of(change)),
            }
        }
        self.local.foretold(step.events());
        // Where things are written down, what is sent comes behind what led to it.
        if !self.diary.is_on() && !self.is_disk_stuck() {
            step.hurry().try_for_each(|(to, message)| self.send(to, message))?;
        }
        step.keep_back();
        self.accounts.push_back((Instant::now(), account));
        Ok(())
    }

    /// True if a save has taken longer than [`STUCK_DISK`].
    fn is_disk_stuck(&self) -> bool {
        self.accounts.front().is_some_and(|(since, _)| since.elapsed() > STUCK_DISK)
    }

    /// Begins to write a change, or the whole where that may take the place of all and is hardly
    /// longer: a snapshot that is a change becomes the state file, and is not written behind it
    /// first.
    pub(crate) fn write(
        &mut self,
        saving: &Saving<P::Stable>,
        whole: Option<&P::Stable>,
    ) -> Result<(), Failure> {
        self.plausible.save(saving.change())?;
        let change = encode(saving.change());
        if saving.is_whole() {
            self.disk.begin(Job::Whole(change));
            return Ok(());
        }
        let whole = whole.filter(|_| change.len() > LARGE_CHANGE);
        self.disk.begin(match whole.and_then(|whole| encode_within(whole, 2 * change.len())) {
            Some(whole) => Job::Whole(whole),
            None => Job::Change(change),
        });
        Ok(())
    }

    /// Begins to write the whole beside the changes that come from now on.
    pub(crate) fn rewrite(&mut self, whole: P::Stable) -> Result<(), Failure> {
        self.plausible.save(&whole)?;
        self.disk.begin(Job::Rewrite(Box::new(move || encode(&whole))));
        Ok(())
    }

    /// Lets the effects of the next step out that was kept back.
    pub(crate) fn let_go(&mut self, released: Released<'_, P>) -> Result<(), Failure> {
        let (_, account) = self.accounts.pop_front().expect("of each step there is an account");
        self.let_out(released, account, true)
    }

    fn let_out(
        &mut self,
        released: Released<'_, P>,
        account: Account,
        was_kept_back: bool,
    ) -> Result<(), Failure> {
        let Account { learned, cause, timer, opinions, choices, state } = account;
        self.diary.learn(learned.as_ref());
        cause.map_or(Ok(()), |cause| self.diary.note(cause))?;
        for (peer, verdict) in opinions {
            self.presence.judged(peer, verdict);
            self.diary.note(Kind::Suspicion { peer, verdict })?;
        }
        let messages = released.messages.as_slice().iter();
        let quiet = messages.clone().all(|(_, it)| it.label().layer == Layer::Detector)
            && released.events.as_slice().is_empty();
        // Whoever has a course followed wants to see every step of it.
        if let Some(name) = timer.filter(|_| !quiet || self.posted.is_some()) {
            self.diary.note(Kind::Timer(name))?;
        }
        for choice in choices {
            self.diary.note(Kind::Choice(choice))?;
        }
        for change in released.timers {
            let takes_effect = match P::timer_role(timer_of(&change)) {
                // It took effect at the end of its step.
                TimerRole::Paces => !was_kept_back,
                _ => !was_kept_back || self.timers.let_go(timer_of(&change)),
            };
            if takes_effect {
                self.change_timer(change);
            }
        }
        for (to, message) in released.messages {
            self.send(to, message)?;
        }
        self.tell(released.events)?;
        state.map_or(Ok(()), |state| Ok(self.diary.note(state)?))
    }

    /// What the process is told of a peer is its detector's opinion from then on, and written down
    /// as what it was told.
    pub(crate) fn share_opinion(&mut self, peer: ProcessId, verdict: Verdict) {
        match verdict {
            Verdict::Suspect => self.opinions.insert(peer),
            Verdict::Trust => self.opinions.remove(peer),
        };
        self.presence.judged(peer, verdict);
    }

    /// Of whom the process's own detector has changed its mind in its last step.
    fn opinions(&mut self, process: &P) -> Vec<(ProcessId, Verdict)> {
        let Some(suspected) = self.suspected else { return Vec::new() };
        let now = suspected(process);
        if *now == self.opinions {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.opinions, now.clone());
        let fresh = now.iter().filter(|peer| !before.contains(*peer));
        let fresh = fresh.map(|peer| (peer, Verdict::Suspect));
        let gone = before.iter().filter(|peer| !now.contains(*peer));
        fresh.chain(gone.map(|peer| (peer, Verdict::Trust))).collect()
    }

    /// Lets go of everything, after what was sent has arrived or `grace` is over.
    pub(crate) async fn close(mut self, grace: Duration) -> Result<(), Failure> {
        self.diary.note(Kind::End)?;
        self.diary.flush()?;
        // Whoever still has a guard loses it before anybody is told goodbye.
        drop(self.local);
        self.mesh.close(grace).await;
        Ok(())
    }

    fn change_timer(&mut self, change: TimerChange<P::Timer>) {
        match change {
            TimerChange::Set(timer, after) => self.timers.set(timer, after, Instant::now(), draw),
            TimerChange::Cancel(timer) => self.timers.cancel(&timer),
        }
    }

    /// The number of the next message.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    fn send(&mut self, to: ProcessId, message: P::Message) -> Result<(), Failure> {
        let number = self.next_number();
        let kind = message.label().kind;
        self.diary.note_passage(&message, to, 0, number, Kind::Send)?;
        let copies = match self.injection.fate() {
            Fate::Pass => 1,
            Fate::Lose => {
                self.diary.note_passage(&message, to, 0, number, Kind::Drop)?;
                0
            }
            Fate::Duplicate => {
                self.diary.note_passage(&message, to, 0, number, Kind::Duplicate)?;
                2
            }
        };
        let label = message.label();
        let is_urgent = label.is_heartbeat() && !P::rests_on_saves(&message);
        let payload = Envelope { number, clock: self.diary.clock(), message }.encode();
        if let Some(posted) = &mut self.posted {
            posted.push(Posted { to, kind, number, payload: payload.clone() });
        }
        for payload in iter::repeat_n(payload, copies) {
            let sent = match label.is_heartbeat() {
                true if is_urgent => self.mesh.send_urgent(to, label.layer, payload),
                true => self.mesh.send_latest(to, label.layer, payload),
                false => self.mesh.send(to, payload),
            };
            let Err(error) = sent else { continue };
            if let Some(more) = self.losses.entry(to).or_default().say() {
                warn!("a message to {to} is lost: {error}{more}");
            }
        }
        Ok(())
    }

    /// Tells the local side; what it acts upon must not be missing from the trace. A process that
    /// comes back tells a whole log at once, which is written at once.
    fn tell(&mut self, events: vec::Drain<'_, P::Event>) -> Result<(), Failure> {
        if events.as_slice().is_empty() {
            return Ok(());
        }
        for event in events.as_slice() {
            let told = self.diary.told(|| Kind::Event(event.clone().into()));
            told.map_or(Ok(()), |told| self.diary.note(told))?;
        }
        self.diary.flush()?;
        for event in events {
            let command = self.local.told(event);
            self.commands.extend(command);
        }
        Ok(())
    }
}

fn encode(stable: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(stable).expect("a stable state can always be encoded")
}

/// The same in fewer bytes than so many, or nothing: what is longer is not looked at to its end.
fn encode_within(stable: &impl Serialize, bytes: usize) -> Option<Vec<u8>> {
    postcard::serialize_with_flavor(stable, Within { bytes, written: Vec::new() }).ok()
}

/// Bytes that are written, as long as there are not too many.
struct Within {
    bytes: usize,
    written: Vec<u8>,
}

impl Flavor for Within {
    type Output = Vec<u8>;

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.try_extend(&[byte])
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        if self.written.len() + bytes.len() >= self.bytes {
            return Err(postcard::Error::SerializeBufferFull);
        }
        self.written.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<Vec<u8>> {
        Ok(self.written)
    }
}

/// The timer that is changed.
fn timer_of<T>(change: &TimerChange<T>) -> &T {
    match change {
        TimerChange::Set(timer, _) | TimerChange::Cancel(timer) => timer,
    }
}
