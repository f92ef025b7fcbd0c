//! The two generals, where messages are reliable: who leads the attack, and when.
//!
//! The stronger army leads. It sends word, waits, and attacks; the other attacks on hearing.
//! Where a message takes from `min` to `max`, waiting for `min` makes the other never the
//! earlier one and at most `max − min` later; waiting for the middle halves the worst case, and
//! either may be the first. Where nothing bounds the delay, nothing bounds how far they are apart.

use serde::{Deserialize, Serialize};
use tenure_core::{Delay, Effects, Facts, Group, LocalTime, ProcessId, Protocol, labelled};
use tenure_trace::{Heard, Spoken};

use crate::engine::clocks::Clocks;
use crate::settings::Settings;
use crate::settings::refusal::SettingsError;
use crate::settings::span::Span;
use crate::sim::Simulation;

/// One of the two armies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct General {
    group: Group,
    wait: u64,
    leads: bool,
    attacked: Option<LocalTime>,
}

/// What is fixed for life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How strong each army is.
    pub strengths: [u32; 2],
    /// How long the one that leads waits, in ticks, between its message and its attack.
    pub wait: u64,
}

impl Config {
    /// The stronger army; of equals the first.
    pub fn leader(&self) -> ProcessId {
        let [first, second] = self.strengths;
        ProcessId(u32::from(first < second))
    }
}

/// What an army is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Win, if you lead.
    Attack,
}

impl Spoken for Command {}

/// What is seen of an army.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// It attacks now.
    Attacks,
}

impl Facts for Event {}

impl Heard for Event {}

/// What armies say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "We attack."
    Attack,
}

labelled!(Message, Application, Attack => "attack");

/// The one timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The time to attack has come.
    Attack,
}

impl Protocol for General {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        assert!(group.size() == 2, "there are two armies");
        General { group, wait: config.wait, leads: config.leader() == group.me(), attacked: None }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Attack = command;
        if self.leads && self.attacked.is_none() {
            fx.send(self.group.successor(), Message::Attack);
            fx.set_timer(Timer::Attack, Delay::ticks(self.wait));
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Attack = message;
        self.attack(fx);
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        let Timer::Attack = timer;
        self.attack(fx);
    }
}

impl General {
    fn attack(&mut self, fx: &mut impl Effects<Self>) {
        self.attacked = Some(fx.local_clock());
        fx.emit(Event::Attacks);
    }
}

/// What became of one attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attack {
    /// Who led it.
    pub leader: ProcessId,
    /// How many ticks after the leader the other army attacked, negative if before it; `None` if
    /// it never did, as when the message was lost.
    pub skew: Option<i64>,
}

/// Both armies are asked to attack at once, over a network where a message takes `latency`.
///
/// # Errors
///
/// When the latency makes no sense.
pub fn attack(config: Config, latency: Span, seed: u64) -> Result<Attack, SettingsError> {
    let mut settings = Settings::new(2);
    settings.network.latency = latency.into();
    settings.seed = seed;
    attack_under(config, settings)
}

/// The same in an environment of one's own, for two whose clocks run true.
///
/// # Errors
///
/// As [`attack`].
pub fn attack_under(config: Config, settings: Settings) -> Result<Attack, SettingsError> {
    let clocks = Clocks::new(&settings);
    let mut simulation = Simulation::<General>::new(config, settings);
    for army in [ProcessId(0), ProcessId(1)] {
        simulation = simulation.command(0, army, Command::Attack);
    }
    let (_, armies) = simulation.run_and_inspect()?;
    let leader = config.leader();
    // Each army's clock has a start of its own.
    let waited = |it: ProcessId, at: LocalTime| (at - clocks.reading(it, 0)) as i64;
    let attacked = |it: ProcessId| armies[it.index()].attacked.map(|at| waited(it, at));
    let other = ProcessId(1 - leader.0);
    let skew = attacked(other).zip(attacked(leader)).map(|(second, first)| second - first);
    Ok(Attack { leader, skew })
}
