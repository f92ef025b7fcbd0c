//! Tests of timing models, of the environment of a run, and of rejected settings.

use std::sync::Arc;

use crate::common::{Extrema, Permission, Ring, Rule};
use serde::{Deserialize, Serialize};
use tenure_core::{
    ChannelOrder, Delay, Effects, Group, LocalTime, ProcessId, Protocol, Rank, Timing, labelled,
};
use tenure_sim::{
    Chance, Distribution, EntriesPerProcess, Fault, Latency, LockWorkload, ProcessConfigs,
    RequestPattern, Settings, SettingsError, Simulation, Workload,
};

const P1: ProcessId = ProcessId(0);

/// Protocol whose process reads its own clock at regular intervals and sends the reading. The
/// process measures the intervals with the same clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Ticker {
    group: Group,
    left: u32,
    heard: Vec<u32>,
    fired: Vec<LocalTime>,
    chosen: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Message {
    Tick { number: u32 },
}
labelled!(Message, Application, Tick => "tick");

impl Protocol for Ticker {
    type Config = u32;
    type Command = ();
    type Event = ();
    type Message = Message;
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, left: &u32, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        if group.me() == P1 {
            fx.set_timer((), Delay::time_units(1));
        }
        let (heard, fired, chosen) = (Vec::new(), Vec::new(), Vec::new());
        Ticker { group, left: *left, heard, fired, chosen }
    }

    fn stable(&self) {}

    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, message: Message, _: &mut impl Effects<Self>) {
        let Message::Tick { number } = message;
        self.heard.push(number);
    }

    fn on_timer(&mut self, (): (), fx: &mut impl Effects<Self>) {
        self.fired.push(fx.local_clock());
        self.chosen.push(fx.choose(10));
        fx.send(self.group.successor(), Message::Tick { number: self.left });
        self.left -= 1;
        if self.left > 0 {
            fx.set_timer((), Delay::time_units(1));
        }
    }
}

fn ticks(ticks: u32, settings: Settings) -> (tenure_sim::RunReport, Vec<Ticker>) {
    Simulation::<Ticker>::new(ticks, settings).run_and_inspect().unwrap()
}

fn overtakings(heard: &[u32]) -> usize {
    heard.windows(2).filter(|pair| pair[0] < pair[1]).count()
}

#[test]
fn only_fifo_link_keeps_order() {
    let heard = |order| {
        let mut settings = Settings::new(2);
        settings.network.order = Some(order);
        settings.network.latency = Distribution::exponential_units(5).into();
        let (report, processes) = ticks(300, settings);
        let reordered = report.faults.iter().find(|count| count.fault == "reordering").unwrap();
        (overtakings(&processes[1].heard), reordered.observed, processes[1].heard.len())
    };
    assert_eq!(heard(ChannelOrder::Fifo), (0, 0, 300));
    let (seen, counted, arrived) = heard(ChannelOrder::Reordered);
    assert!(seen > 50 && counted > 50 && arrived == 300, "{seen}, {counted}");
}

#[test]
fn drifting_timers_are_exact_by_local_clock() {
    let mut differs = 0;
    for seed in 0..20 {
        let mut settings = Settings { seed, ..Settings::new(2) };
        settings.time.drift_ppm = 100_000;
        let (report, processes) = ticks(50, settings);
        let fired = &processes[0].fired;
        let own = fired[49] - fired[0];
        assert!((48_999_900..=49_000_100).contains(&own), "seed {seed}: {own}");
        let real = report.finished_at - 1_000_000;
        assert!((45_000_000..=56_000_000).contains(&real), "seed {seed}: {real}");
        differs += usize::from(!(49_900_000..=50_100_000).contains(&real));
    }
    assert!(differs > 10, "{differs} of 20 clocks drift noticeably");
}

#[test]
fn steps_take_time_sequentially() {
    let run = |entries, hold| {
        let mut settings = Settings::new(3);
        settings.workload = Workload::locking(LockWorkload {
            pattern: RequestPattern::Closed { think: Distribution::time_units(100) },
            entries: EntriesPerProcess::Listed(entries),
            hold,
        });
        settings.time.step = Distribution::time_units(10);
        Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap()
    };
    // Requesting takes a step, replying takes a step, and each message takes a unit.
    let alone = run(vec![1], Distribution::time_units(1));
    assert_eq!(alone.metrics.entry_delay.longest, 22_000_000);
    // With two concurrent requests, a process sends its second reply only after its first.
    let report = run(vec![1, 1], Distribution::ZERO);
    assert_eq!(report.metrics.entering_processes, [P1, ProcessId(1)]);
    assert!(report.metrics.entry_delay.longest >= 32_000_000, "{:?}", report.metrics);
}

#[test]
fn messages_before_gst_arrive_late_but_bounded() {
    let delays = |gst| {
        let mut settings = Settings { workload: Workload::entries(20), ..Settings::new(3) };
        settings.time.timing = Some(Timing::Partial);
        settings.time.gst = gst;
        let report = Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap();
        assert!(!report.has_failed());
        (report.metrics.synchronisation_delay.longest, report.finished_at)
    };
    assert_eq!(delays(0).0, 1_000_000);
    let (longest, _) = delays(200_000_000);
    assert!(longest > 5_000_000, "{longest}");
    let (_, finished) = delays(50_000_000);
    assert!(finished < 50_000_000 + 60 * 3_000_000, "{finished}: a unit each from then on");
}

#[test]
fn links_can_have_own_latency() {
    let mut spans = vec![Distribution::time_units(1); 9];
    spans[1] = Distribution::time_units(50);
    let mut settings = Settings { workload: Workload::elect_by([P1]), ..Settings::new(3) };
    settings.network.latency = Latency::Links(Arc::from(spans));
    let report =
        Simulation::<Extrema>::new(ProcessConfigs::Each(vec![1, 2, 3]), settings).run().unwrap();
    // Messages from P1 to P2 take 50 units, and all others take one unit. Three messages cross the
    // slow link: P1's own id, the largest id, and the announcement.
    assert_eq!(report.finished_at_units(), (50 + 1) as f64 + (1 + 50 + 1) as f64 + 52.0);
}

#[test]
fn seed_determines_choices_and_clocks() {
    let run = |seed| ticks(200, Settings { seed, ..Settings::new(2) }).1.swap_remove(0);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).chosen, run(2).chosen);
    let values: std::collections::BTreeSet<u32> = run(1).chosen.into_iter().collect();
    assert!(values.into_iter().eq(0..10));
}

#[test]
fn open_arrivals_queue_up() {
    let run = |every, entries| {
        let mut settings = Settings::new(2);
        let pattern = RequestPattern::Open { every };
        let entries = EntriesPerProcess::Each(entries);
        let hold = Distribution::time_units(5);
        settings.workload = Workload::locking(LockWorkload { pattern, entries, hold });
        Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap()
    };
    let relaxed = run(Distribution::time_units(100), 20);
    assert_eq!(relaxed.metrics.entry_count, 40);
    assert!(relaxed.finished_at_units() > 2000.0);
    let pressed = run(Distribution::exponential_units(1), 20);
    assert_eq!(pressed.metrics.entry_count, 40);
    assert!(pressed.finished_at_units() < 300.0, "one entry after the other");
    assert!(!pressed.has_failed() && pressed.throughput() > relaxed.throughput());
}

#[test]
fn hot_process_enters_more_often() {
    let settings = Settings {
        workload: Workload::with_hot_process(4, ProcessId(2), 7, 0),
        ..Settings::new(4)
    };
    let report = Simulation::<Ring>::new((), settings).run().unwrap();
    assert_eq!(report.metrics.entering_processes, [ProcessId(2); 7]);
}

#[test]
fn rejects_invalid_settings_with_remedy() {
    let refused = |change: &dyn Fn(&mut Settings)| {
        let mut settings = Settings::new(3);
        change(&mut settings);
        let simulation = Simulation::<Permission>::new(Rule::Stamps, settings);
        let description = simulation.run().expect_err("it makes no sense").to_string();
        assert!(!description.contains('\n'), "{description}");
        description
    };
    let unknown = ProcessId(8);
    let side = vec![P1, unknown];
    let cut = Fault::Partition { side, from: 1, until: None };
    let backward = Fault::Partition { side: vec![P1], from: 2_000_000, until: Some(1_000_000) };
    let ranks = vec![Rank::from_id(4), Rank::from_id(2), Rank::from_id(4)];
    assert!(refused(&|s| s.size = 0).starts_with("invalid group size 0"));
    assert!(refused(&|s| s.ranks = Arc::from(ranks.clone())).starts_with("rank 4 is given twice"));
    assert!(refused(&|s| s.ranks = Arc::from(&ranks[..2])).starts_with("2 ranks for 3 processes"));
    assert_eq!(
        refused(&|s| s.faults = vec![cut.clone()]),
        "a partition names P9, but the group is P1 to P3"
    );
    assert!(refused(&|s| s.faults = vec![backward.clone()]).contains("2..1 ends before"));
    assert!(
        refused(&|s| s.network.loss = Chance::with_probability(1.5))
            .starts_with("invalid probability 1.5")
    );
    assert!(
        refused(&|s| s.network.duplication = Chance::with_probability(-0.1))
            .contains("duplication")
    );
    assert!(refused(&|s| s.network.loss = Chance::with_probability(f64::NAN)).contains("NaN"));
    assert!(refused(&|s| s.down = vec![unknown]).contains("names P9"));
    assert!(refused(&|s| s.workload = Workload::elect_by([unknown])).contains("names P9"));
    assert!(refused(&|s| s.time.drift_ppm = 1_000_000).contains("stop a clock"));
    assert!(
        refused(&|s| {
            s.time.timing = Some(Timing::Synchronous);
            s.network.latency = Distribution::exponential_units(1).into();
        })
        .contains("without bound is not synchronous")
    );
    assert!(
        refused(&|s| s.network.latency = Latency::Links(Arc::from([Distribution::ZERO])))
            .contains("3 × 3, not 1")
    );
    let few = Simulation::<Extrema>::new(ProcessConfigs::Each(vec![1, 2]), Settings::new(3));
    assert!(matches!(few.run(), Err(SettingsError::WrongConfigCount { size: 3, listed: 2 })));
}

#[test]
fn measures_encoded_message_size() {
    let mut settings = Settings { workload: Workload::entries(1), ..Settings::new(2) };
    settings.monitoring.bytes = true;
    let report = Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap();
    // Two requests of three bytes each (name, clock, process), and two replies of four bytes each.
    assert_eq!(report.metrics.bytes, 2 * 3 + 2 * 4);
}
