//! Two generals with reliable messages, who agree on a leader and on the time of an attack.
//!
//! The stronger army leads. The leader sends a message, waits, and attacks. The other army attacks
//! when it receives the message. The delay of a message is between `min` and `max`.
//!
//! If the leader waits for `min`, the other army never attacks earlier than the leader, and at most
//! `max − min` later. If the leader waits for the mean of `min` and `max`, either army may be
//! first. The attacks then differ by at most (`max − min`)/2. If the delay has no bound, the time
//! between the attacks has no bound.

use serde::{Deserialize, Serialize};
use tenure_core::{
    Delay, Effects, EventConversions, Group, LocalTime, ProcessId, Protocol, labelled,
};
use tenure_trace::{ServiceCommand, ServiceEvent};

use crate::engine::clocks::LocalClocks;
use crate::settings::Settings;
use crate::settings::distribution::Distribution;
use crate::settings::error::SettingsError;
use crate::sim::Simulation;

/// State of one of the two armies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArmyState {
    group: Group,
    /// Time between the leader's message and its attack, in ticks.
    wait: u64,
    leads: bool,
    /// Time of the attack on the clock of this army. `None` before the attack.
    attacked: Option<LocalTime>,
}

/// Configuration of both armies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Strength of each army, by index.
    pub strengths: [u32; 2],
    /// Time between the leader's message and its attack, in ticks.
    pub wait: u64,
}

impl Config {
    /// Returns the army that leads: the stronger one, or the first if both are equally strong.
    pub fn leading_army(&self) -> ProcessId {
        let [first, second] = self.strengths;
        ProcessId(u32::from(first < second))
    }
}

/// Command for an army.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Attack. Has an effect only at the army that leads.
    Attack,
}

impl ServiceCommand for Command {}

/// Event of an army.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The army attacks now.
    Attacks,
}

impl EventConversions for Event {}

impl ServiceEvent for Event {}

/// Message between armies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Announcement of the attack.
    Attack,
}

labelled!(Message, Application, Attack => "attack");

/// Timer of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The time to attack has come.
    Attack,
}

impl Protocol for ArmyState {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        assert!(group.size() == 2, "there are two armies");
        ArmyState {
            group,
            wait: config.wait,
            leads: config.leading_army() == group.me(),
            attacked: None,
        }
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

impl ArmyState {
    fn attack(&mut self, fx: &mut impl Effects<Self>) {
        self.attacked = Some(fx.local_clock());
        fx.emit(Event::Attacks);
    }
}

/// Result of one attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttackOutcome {
    /// Army that led the attack.
    pub leader: ProcessId,
    /// Time between the leader's attack and the attack of the other army, in ticks. Negative if the
    /// other army attacked first. `None` if one of the armies never attacked, for instance because
    /// a message was lost.
    pub skew: Option<i64>,
}

/// Simulates an attack over a network with this latency.
///
/// # Errors
///
/// [`SettingsError`] if the latency is invalid; nothing was run.
pub fn simulate_coordinated_attack(
    config: Config,
    latency: Distribution,
    seed: u64,
) -> Result<AttackOutcome, SettingsError> {
    let mut settings = Settings::new(2);
    settings.network.latency = latency.into();
    settings.seed = seed;
    simulate_coordinated_attack_with_settings(config, settings)
}

/// Simulates an attack with complete settings. Clocks must not drift.
///
/// # Errors
///
/// [`SettingsError`] if the settings are invalid; nothing was run.
///
/// # Panics
///
/// If the group does not consist of two processes.
pub fn simulate_coordinated_attack_with_settings(
    config: Config,
    settings: Settings,
) -> Result<AttackOutcome, SettingsError> {
    let clocks = LocalClocks::new(&settings);
    let mut simulation = Simulation::<ArmyState>::new(config, settings);
    for army in [ProcessId(0), ProcessId(1)] {
        simulation = simulation.with_command(0, army, Command::Attack);
    }
    let (_, armies) = simulation.run_and_inspect()?;
    let leader = config.leading_army();
    // Subtracts the start of the army's own clock, because the clocks start at different readings.
    let waited = |it: ProcessId, at: LocalTime| (at - clocks.local_time(it, 0)) as i64;
    let attacked = |it: ProcessId| armies[it.index()].attacked.map(|at| waited(it, at));
    let other = ProcessId(1 - leader.0);
    let skew = attacked(other).zip(attacked(leader)).map(|(second, first)| second - first);
    Ok(AttackOutcome { leader, skew })
}
