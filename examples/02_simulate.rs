//! Simulates a protocol of your own, in which each process greets its peers until they respond.
#![allow(clippy::print_stdout, reason = "an example prints its results")]

use serde::{Deserialize, Serialize};
use tenure_core::{Delay, Effects, Group, ProcessId, ProcessSet, Protocol, labelled};
use tenure_sim::{Chance, Distribution, Settings, Simulation};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Greeter {
    pending: ProcessSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Hello,
    Welcome,
}
labelled!(Message, Application, Hello => "hello", Welcome => "welcome");

impl Protocol for Greeter {
    type Config = Delay;
    type Command = ();
    type Event = ();
    type Message = Message;
    type Timer = Delay;
    type Stable = ();

    fn boot(group: Group, interval: &Delay, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        fx.broadcast(&group.peers(), Message::Hello);
        fx.set_timer(*interval, *interval);
        Greeter { pending: group.peers() }
    }

    fn stable(&self) {}
    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) {}
    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Hello => fx.send(from, Message::Welcome),
            Message::Welcome => drop(self.pending.remove(from)),
        }
    }

    fn on_timer(&mut self, interval: Delay, fx: &mut impl Effects<Self>) {
        fx.broadcast(&self.pending, Message::Hello);
        if !self.pending.is_empty() {
            fx.set_timer(interval, interval);
        }
    }
}

fn main() -> Result<(), tenure_sim::SettingsError> {
    let mut settings = Settings::new(10);
    settings.network.latency = Distribution::between_time_units(1, 5).into();
    settings.network.loss = Chance::with_probability(0.3);
    let report = Simulation::<Greeter>::new(Delay::time_units(20), settings).run()?;
    let (lost, sent) = (report.metrics.dropped, report.metrics.sent);
    println!(
        "{lost} of {sent} messages lost, all responses received after {}",
        report.finished_at_units()
    );
    Ok(())
}
