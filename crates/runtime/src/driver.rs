//! The step loop: one task owns a driver, which owns a node, and nobody else steps it.
//!
//! Whatever happens to the process (a message, a command, a timer) becomes one input; its
//! stable state is on disk before its messages leave. While the disk works, inputs are taken; the
//! next save covers all of them, and their effects leave together. Nothing polls: the loop sleeps
//! until a message, a user, the disk or the next timer wakes it. Where a course is followed
//! (`steered`), another loop has the driver do what it is told.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tenure_core::{
    Group, Input, Node, ProcessId, ProcessSet, Protocol, Saving, TimerRole, Verdict,
};
use tenure_trace::{Kind, Recorded};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout_at;
use tracing::warn;

use crate::account::Account;
use crate::clock::Clock;
use crate::disk::Done;
use crate::envelope::Envelope;
use crate::environment::System;
use crate::failure::{Failure, StartError};
use crate::injection::Injection;
use crate::local::Local;
use crate::outlet::Outlet;
use crate::plausible::{Implausible, Plausible};
use crate::presence::Present;
use crate::recorder::{Diary, Recorder};
use crate::store::{Saves, Store};
use crate::transport::{Expelled, Inbox, Incoming, Mesh, Settings, View};

/// How many messages that have already arrived are taken before the clock is looked at, and how
/// much of what users have already asked.
const MESSAGES_BEFORE_TIMERS: usize = 256;

/// How many steps that have something to save are taken before it is saved, as long as more is
/// there to take.
const STEPS_BEFORE_SAVING: usize = 256;

/// How many turns others have at most before something is saved, as long as each brings more.
const TURNS_BEFORE_SAVING: u32 = 4;

/// How many steps wait at most for the disk: nothing more is taken then.
const MOST_KEPT_BACK: usize = 4096;

/// How long what was sent may take to arrive when a node stops in good order.
const GRACE: Duration = Duration::from_secs(1);

/// How long there and back takes at most, when a leader that leaves waits for its successor, where
/// nobody says how far its peers are.
const ROUND_TRIP: Duration = Duration::from_millis(250);

/// Everything a node is made of.
#[derive(Debug)]
pub struct Parts<P: Protocol, L: Local<P>> {
    /// The protocol's configuration.
    pub config: P::Config,
    /// Who this process is, where its peers are.
    pub transport: Settings,
    /// What it saved; the transport's session must be the store's.
    pub store: Store,
    /// What stands between the protocol and its users.
    pub local: L,
    /// What the users ask. When every sender is gone, the node stops in good order.
    pub asks: mpsc::UnboundedReceiver<L::Ask>,
    /// What it writes down.
    pub recorder: Recorder,
    /// The faults to try it with.
    pub injection: Injection,
    /// Whom the process suspects by itself, where it has a detector inside: what is written down
    /// of its opinions.
    pub suspected: Option<Suspected<P>>,
}

/// Reads from a process whom it suspects.
pub type Suspected<P> = fn(&P) -> &ProcessSet;

/// A node that runs.
#[derive(Debug)]
pub struct Running {
    /// Where it listens, with the port that the system chose if it did.
    pub address: SocketAddr,
    /// What can be read of its connections.
    pub view: View,
    /// What can be read of its saving.
    pub saves: Saves,
    /// Who is there, as the process sees it.
    pub present: watch::Receiver<Present>,
    /// Ends when the node stops.
    pub task: JoinHandle<Result<(), Failure>>,
}

/// Boots a process, with what it saved if it had run before, and drives it in a task.
///
/// Must be called inside a tokio runtime. A process that saves has a thread of its own for that,
/// from its first save on.
///
/// # Errors
///
/// [`StartError`]; nothing runs then.
pub fn start<P, L>(parts: Parts<P, L>) -> Result<Running, StartError>
where
    P: Recorded,
    L: Local<P>,
{
    let saves = parts.store.saves();
    let (driver, inbox, asks, recovered) = prepare(parts)?;
    let (address, view) = (driver.outlet.mesh.address(), driver.outlet.mesh.view());
    let present = driver.outlet.presence.watch();
    let task = tokio::spawn(driver.run(inbox, asks, recovered));
    Ok(Running { address, view, saves, present, task })
}

/// A driver, what comes in, what users ask, and whether it had run before.
pub(crate) type Prepared<P, L> =
    (Driver<P, L>, Inbox, mpsc::UnboundedReceiver<<L as Local<P>>::Ask>, bool);

/// Boots a process; nothing drives it yet.
pub(crate) fn prepare<P, L>(parts: Parts<P, L>) -> Result<Prepared<P, L>, StartError>
where
    P: Recorded,
    L: Local<P>,
{
    let Parts { config, transport, store, local, asks, recorder, injection, suspected } = parts;
    let size = ProcessId::at(transport.addresses.len()).0;
    let (me, session) = (transport.me, transport.session);
    let mut plausible = Plausible::new(size);
    let stable = saved_state::<P>(&store, &mut plausible)?;
    let (mesh, inbox) = Mesh::start_with(transport, store.registry())?;
    let recovered = stable.is_some();
    let node = Node::boot(Group::new(me, size), &config, stable, System::new());
    let diary = Diary::new(recorder, me, size, session);
    let outlet = Outlet::new(mesh, store, plausible, local, diary, injection, suspected);
    let sessions = vec![0; size as usize];
    let (left, disbelieved) = (ProcessSet::new(), ProcessSet::new());
    let clock = Clock::new();
    let (saving, turns) = (None, 0);
    let driver = Driver { me, node, outlet, saving, turns, clock, sessions, left, disbelieved };
    Ok((driver, inbox, asks, recovered))
}

fn saved_state<P: Protocol>(
    store: &Store,
    plausible: &mut Plausible,
) -> Result<Option<P::Stable>, StartError> {
    let Some(bytes) = store.state() else { return Ok(None) };
    let directory = || store.directory().display().to_string();
    let mut read = |bytes: &[u8]| {
        let Ok((stable, [])) = postcard::take_from_bytes::<P::Stable>(bytes) else {
            return Err(StartError::State { directory: directory() });
        };
        match plausible.save(&stable) {
            Ok(()) => Ok(stable),
            Err(why) => Err(StartError::Implausible { directory: directory(), why }),
        }
    };
    let mut stable = read(bytes)?;
    for change in store.changes() {
        P::amend(&mut stable, read(change)?);
    }
    Ok(Some(stable))
}

pub(crate) struct Driver<P: Protocol, L> {
    me: ProcessId,
    pub(crate) node: Node<P, System>,
    pub(crate) outlet: Outlet<P, L>,
    /// What is on its way to the disk.
    saving: Option<Saving<P::Stable>>,
    /// How many turns others have had since something was to be saved.
    turns: u32,
    /// What wakes it when a timer is due.
    clock: Clock,
    /// By peer: the session whose messages we get, 0 before the first.
    pub(crate) sessions: Vec<u64>,
    /// Whose last session has said goodbye.
    left: ProcessSet,
    /// Whose messages were not believed: it is said once of each.
    disbelieved: ProcessSet,
}

/// What woke the loop.
enum Wake<A> {
    Incoming(Option<Incoming>),
    Ask(Option<A>),
    Disk(Done),
    Clock,
}

impl<P, L> Driver<P, L>
where
    P: Recorded,
    L: Local<P>,
{
    async fn run(
        mut self,
        mut inbox: Inbox,
        mut asks: mpsc::UnboundedReceiver<L::Ask>,
        recovered: bool,
    ) -> Result<(), Failure> {
        let worked = self.work(&mut inbox, &mut asks, recovered).await;
        if let Err(why) = worked {
            self.outlet.ends(&why);
            return Err(why);
        }
        // Whoever asks from now on is told at once that nobody answers any more.
        drop(asks);
        self.outlet.close(GRACE).await
    }

    /// Goes on until there is nobody left to work for.
    async fn work(
        &mut self,
        inbox: &mut Inbox,
        asks: &mut mpsc::UnboundedReceiver<L::Ask>,
        recovered: bool,
    ) -> Result<(), Failure> {
        self.boot(recovered)?;
        while !self.outlet.is_over() {
            self.outlet.refuses()?;
            self.give_commands()?;
            self.fire_timers(inbox, asks)?;
            match self.sleep(inbox, asks).await? {
                Wake::Incoming(Some(incoming)) => self.take(incoming)?,
                Wake::Ask(Some(ask)) => self.outlet.ask(ask),
                Wake::Disk(done) => self.done(done)?,
                Wake::Clock => {}
                Wake::Incoming(None) | Wake::Ask(None) => break,
            }
        }
        self.hand_over(inbox, asks).await?;
        self.settle().await
    }

    /// Gives an office away before the process leaves, and stays until somebody else has it: what
    /// the successor asks of everybody is answered then, and nobody waits for a time out. It does
    /// not stay long, for nobody may come, and there is nothing to give where the protocol cannot.
    async fn hand_over(
        &mut self,
        inbox: &mut Inbox,
        asks: &mut mpsc::UnboundedReceiver<L::Ask>,
    ) -> Result<(), Failure> {
        let mut leads_on = self.outlet.local.leads_on_until_relieved();
        // Whoever leads on takes what comes while the disk works, as at any time.
        if !(leads_on && self.leads()) {
            self.settle().await?;
        }
        let farewell = if self.leads() { self.outlet.local.farewell() } else { None };
        let Some(farewell) = farewell else { return Ok(()) };
        self.command(farewell)?;
        if !leads_on {
            self.settle().await?;
        }
        let round_trip = self.outlet.mesh.round_trip().min(ROUND_TRIP);
        // Nobody can answer before the disk has let go of what is said.
        let latest = tokio::time::Instant::now() + GRACE;
        let (mut until, mut is_said, mut followed) = (latest, false, false);
        // Whoever leads on says whom to ask now; of anybody else nothing is asked any more.
        let (_open, mut nobody) = mpsc::unbounded_channel();
        let mut asks = if leads_on { asks } else { &mut nobody };
        while (leads_on || !self.leads()) && self.outlet.presence.is_anybody_there() {
            self.outlet.refuses()?;
            leads_on &= self.leads();
            if !is_said && !self.node.is_waiting() {
                is_said = true;
                until = latest.min(tokio::time::Instant::now() + 4 * round_trip);
            }
            if !followed && !leads_on && self.outlet.local.leader().is_some() {
                followed = true;
                until = tokio::time::Instant::now() + round_trip;
            }
            self.give_commands()?;
            self.fire_timers(inbox, asks)?;
            match timeout_at(until, self.sleep(inbox, asks)).await {
                Ok(wake) => match wake? {
                    Wake::Incoming(Some(incoming)) => self.take(incoming)?,
                    Wake::Incoming(None) => break,
                    Wake::Disk(done) => self.done(done)?,
                    Wake::Ask(Some(ask)) => self.outlet.ask(ask),
                    Wake::Ask(None) => asks = &mut nobody,
                    Wake::Clock => {}
                },
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Whether this process leads, as it was told.
    fn leads(&self) -> bool {
        self.outlet.local.leader().is_some_and(|term| term.leader == self.me)
    }

    /// Waits for the next thing to do. What is there already is taken first, so that one save
    /// covers it; what is recorded is written before the sleep, when it costs little.
    async fn sleep(
        &mut self,
        inbox: &mut Inbox,
        asks: &mut mpsc::UnboundedReceiver<L::Ask>,
    ) -> Result<Wake<L::Ask>, Failure> {
        if let Some(done) = self.outlet.disk.try_done() {
            return Ok(Wake::Disk(done));
        }
        let has_room = self.outlet.accounts.len() < STEPS_BEFORE_SAVING || self.saving.is_some();
        if has_room && let Some(wake) = self.ready(inbox, asks) {
            return Ok(wake);
        }
        let saves = self.saving.is_none() && !self.outlet.accounts.is_empty();
        if saves && has_room && self.turns < TURNS_BEFORE_SAVING {
            self.turns += 1;
            // What was sent leaves before the disk's thread is woken, and what comes meanwhile is
            // saved with the rest.
            tokio::task::yield_now().await;
            if let Some(wake) = self.ready(inbox, asks) {
                return Ok(wake);
            }
        }
        self.save()?;
        self.turns = 0;
        let takes = self.takes();
        // What a save lets go may be due at once, and a timer of the runtime takes a millisecond.
        if !self.outlet.commands.is_empty() || takes && self.outlet.timers.are_due() {
            return Ok(Wake::Clock);
        }
        let Outlet { disk, mesh, timers, diary, .. } = &mut self.outlet;
        diary.flush()?;
        let strikes = self.clock.strikes(timers.next());
        let room = mesh.has_room();
        Ok(tokio::select! {
            done = disk.done() => Wake::Disk(done),
            incoming = inbox.receive(), if takes => Wake::Incoming(incoming),
            ask = asks.recv(), if takes && room => Wake::Ask(ask),
            () = mesh.room(), if !room => Wake::Clock,
            () = strikes, if takes => Wake::Clock,
        })
    }

    /// What need not be waited for.
    fn ready(
        &mut self,
        inbox: &mut Inbox,
        asks: &mut mpsc::UnboundedReceiver<L::Ask>,
    ) -> Option<Wake<L::Ask>> {
        if !self.outlet.commands.is_empty() {
            return Some(Wake::Clock);
        }
        if !self.takes() {
            return None;
        }
        if let Some(incoming) = inbox.try_receive() {
            return Some(Wake::Incoming(Some(incoming)));
        }
        let saves_soon = !self.outlet.accounts.is_empty() && self.outlet.mesh.has_room();
        let ask = saves_soon.then(|| asks.try_recv().ok()).flatten();
        ask.map(|ask| Wake::Ask(Some(ask)))
    }

    /// Whether anything is taken, or the disk must catch up first.
    fn takes(&self) -> bool {
        self.outlet.accounts.len() < MOST_KEPT_BACK
    }

    fn give_commands(&mut self) -> Result<(), Failure> {
        while let Some(command) = self.outlet.commands.pop_front() {
            self.command(command)?;
        }
        Ok(())
    }

    /// Fires the timers that are due, in three groups.
    ///
    /// Timers that end a claim or pace heartbeats come first. Messages and requests that have
    /// already arrived are taken next. Timers that measure the silence of a peer wait until the
    /// links have had time to read their sockets, and longer if this process was not scheduled:
    /// a heartbeat may have arrived while it was stopped.
    fn fire_timers(
        &mut self,
        inbox: &mut Inbox,
        asks: &mut mpsc::UnboundedReceiver<L::Ask>,
    ) -> Result<(), Failure> {
        if !self.outlet.timers.are_due() {
            return Ok(());
        }
        let role = |timer: &P::Timer| P::timer_role(timer);
        let precedes =
            |timer: &P::Timer| matches!(role(timer), TimerRole::EndsClaim | TimerRole::Paces);
        while let Some(timer) = self.outlet.timers.fire_if(Instant::now(), precedes) {
            self.fire(timer)?;
        }
        let measures = |timer: &P::Timer| role(timer) == TimerRole::MeasuresSilence;
        self.outlet.timers.defer_late(Instant::now(), measures);
        for _ in 0..MESSAGES_BEFORE_TIMERS {
            let Some(incoming) = inbox.try_receive() else { break };
            self.take(incoming)?;
        }
        for _ in 0..MESSAGES_BEFORE_TIMERS {
            let takes = self.takes() && self.outlet.mesh.has_room();
            let Some(ask) = takes.then(|| asks.try_recv().ok()).flatten() else { break };
            self.outlet.ask(ask);
        }
        self.give_commands()?;
        while let Some(timer) = self.outlet.timers.fire(Instant::now()) {
            self.fire(timer)?;
        }
        Ok(())
    }

    /// Takes one thing from the mesh.
    fn take(&mut self, incoming: Incoming) -> Result<(), Failure> {
        match incoming {
            Incoming::Message { from, session, payload } => {
                self.take_message(from, session, &payload)
            }
            Incoming::PeerUp { peer, session } => self.meet(peer, session),
            // It accuses nobody, and the link has logged it.
            Incoming::PeerDown { .. } => Ok(()),
            Incoming::PeerLeft { peer, session } => self.part(peer, session),
            Incoming::Expelled(expelled) => self.step_down(expelled),
        }
    }

    /// The last that this node does. Its users learn of it as of any end of a node.
    fn step_down(&mut self, expelled: Expelled) -> Result<(), Failure> {
        self.outlet.diary.note(Kind::Note(format!("out: {expelled}")))?;
        self.outlet.diary.note(Kind::End)?;
        self.outlet.diary.flush()?;
        Err(expelled.into())
    }

    pub(crate) fn take_message(
        &mut self,
        from: ProcessId,
        session: u64,
        payload: &[u8],
    ) -> Result<(), Failure> {
        let believed = Envelope::<P::Message>::decode(payload)
            .ok_or(Implausible::Unreadable)
            .and_then(|envelope| self.outlet.plausible.hear(&envelope).map(|()| envelope));
        let Envelope { number, clock, message } = match believed {
            Ok(envelope) => envelope,
            Err(why) => {
                self.disbelieve(from, session, &why);
                return Ok(());
            }
        };
        let cause = self.outlet.diary.passage(&message, from, session, number, Kind::Receive);
        let account = Account { learned: clock, cause, ..Account::default() };
        self.step(Input::Message { from, message }, account)
    }

    /// What cannot be true never reaches the process, and ends the connection over which it came.
    fn disbelieve(&mut self, from: ProcessId, session: u64, why: &Implausible) {
        if self.disbelieved.insert(from) {
            warn!(
                "a message of {from} is not believed: {why}. Its connection is closed, now and \
                 whenever it says such a thing again; that is counted, and not said again"
            );
        }
        self.outlet.mesh.disbelieve(from, session);
    }

    /// A new session of a peer proves that it crashed, however quickly it came back.
    fn meet(&mut self, peer: ProcessId, session: u64) -> Result<(), Failure> {
        let known = std::mem::replace(&mut self.sessions[peer.index()], session);
        self.outlet.presence.meets(peer, session);
        if known == 0 || known == session {
            return Ok(());
        }
        if !self.left.remove(peer) {
            self.suspicion(peer, Verdict::Suspect)?;
        }
        self.suspicion(peer, Verdict::Trust)
    }

    /// A session of a peer has ended, in its own word: that is as true as a crash can be told.
    fn part(&mut self, peer: ProcessId, session: u64) -> Result<(), Failure> {
        if self.sessions[peer.index()] != session || !self.left.insert(peer) {
            return Ok(());
        }
        self.suspicion(peer, Verdict::Suspect)
    }

    /// Takes the effects of booting.
    pub(crate) fn boot(&mut self, recovered: bool) -> Result<(), Failure> {
        let cause = if recovered { Kind::Recover } else { Kind::Boot };
        self.outlet.take(self.node.pending(), Account::of(cause))
    }

    pub(crate) fn command(&mut self, command: P::Command) -> Result<(), Failure> {
        let cause = self.outlet.diary.told(|| Kind::Command(command.clone().into()));
        self.step(Input::Command(command), Account { cause, ..Account::default() })
    }

    pub(crate) fn suspicion(&mut self, peer: ProcessId, verdict: Verdict) -> Result<(), Failure> {
        let cause = Kind::Suspicion { peer, verdict };
        self.outlet.share_opinion(peer, verdict);
        self.step(Input::Suspicion { peer, verdict }, Account::of(cause))
    }

    /// A timer that is no longer armed fires.
    pub(crate) fn fire(&mut self, timer: P::Timer) -> Result<(), Failure> {
        let timer_name = self.outlet.diary.told(|| format!("{timer:?}"));
        self.step(Input::Timer(timer), Account { timer: timer_name, ..Account::default() })
    }

    /// The only place where a node is stepped.
    fn step(&mut self, input: Input<P>, account: Account) -> Result<(), Failure> {
        self.outlet.take(self.node.step(input), account)
    }

    /// Begins to save what is kept back, unless that is being done; and to write all of it as one,
    /// where there is more than need be.
    fn save(&mut self) -> Result<(), Failure> {
        if let Some(saving) = self.node.save() {
            self.outlet.write(&saving, self.node.replacement())?;
            self.saving = Some(saving);
            let is_long = self.outlet.disk.is_long() || self.node.is_long();
            if let Some(whole) = is_long.then(|| self.node.rewrite()).flatten() {
                self.outlet.rewrite(whole)?;
            }
        }
        self.let_go()
    }

    /// The disk has done something.
    fn done(&mut self, done: Done) -> Result<(), Failure> {
        match done {
            // What this covers leaves.
            Done::Saved(done) => {
                done?;
                self.node.saved(self.saving.take().expect("what was saved was on its way"));
                self.let_go()
            }
            Done::Rewritten(done) => {
                done?;
                self.node.rewritten();
                Ok(())
            }
        }
    }

    fn let_go(&mut self) -> Result<(), Failure> {
        while let Some(released) = self.node.release() {
            self.outlet.let_go(released)?;
        }
        Ok(())
    }

    /// Saves until nothing is kept back.
    pub(crate) async fn settle(&mut self) -> Result<(), Failure> {
        while self.node.is_waiting() {
            self.save()?;
            if self.saving.is_some() {
                let done = self.outlet.disk.done().await;
                self.done(done)?;
            }
        }
        Ok(())
    }
}
