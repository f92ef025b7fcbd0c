//! Parsers and formatters for the command-line options of a run. Each formatter writes the syntax
//! that its parser reads, so that a printed replay command can be entered again.

use std::fmt;
use std::str::FromStr;

use tenure_core::{ChannelOrder, ProcessId, Timing};
use tenure_trace::units::format_ticks_as_time_units as units;

use crate::settings::distribution::{Distribution, parse_bounded_time_units};
use crate::settings::error::SettingsError;
use crate::settings::fault::{AutomaticRecovery, Chance, Fault, RecoveredState};
use crate::settings::without_option::has_option;
use crate::settings::workload::{EntriesPerProcess, Initiators, RequestPattern};
use crate::settings::{DetectorSettings, Settings};

/// Defines the parser and the formatter of a type.
macro_rules! words {
    ($words:ty, read($text:ident) $read:block write($this:ident, $f:ident) $write:block) => {
        impl FromStr for $words {
            type Err = SettingsError;

            fn from_str($text: &str) -> Result<Self, SettingsError> $read
        }

        impl fmt::Display for $words {
            fn fmt(&self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $this = self;
                $write
            }
        }
    };
}

fn wrong(text: &str, message: &'static str) -> SettingsError {
    SettingsError::InvalidText { text: text.to_owned(), message }
}

/// List of processes. Its text consists of the process numbers, as in `1,2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessList(pub Vec<ProcessId>);

/// Parses the number of a process. The number of the first process is 1.
///
/// # Errors
///
/// [`SettingsError::InvalidText`] if the text is not a number, or if the number is 0.
pub fn parse_process_number(text: &str) -> Result<ProcessId, SettingsError> {
    let number = text.parse::<u32>().ok().and_then(|number| number.checked_sub(1));
    let wrong = || wrong(text, "expected a process number, 1 for P1");
    number.map(ProcessId).ok_or_else(wrong)
}

words! { ProcessList,
    read(text) {
        text.split(',').map(parse_process_number).collect::<Result<_, _>>().map(ProcessList)
    }
    write(this, f) {
        f.write_str(&listed(this.0.iter().map(|process| process.display_number())))
    }
}

fn listed<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

words! { Initiators,
    read(text) {
        match text {
            "all" => Ok(Initiators::All),
            _ => text.parse().map(|ProcessList(processes)| Initiators::Listed(processes)),
        }
    }
    write(this, f) {
        match this {
            Initiators::All => f.write_str("all"),
            Initiators::Listed(listed) => ProcessList(listed.clone()).fmt(f),
        }
    }
}

words! { EntriesPerProcess,
    read(text) {
        let message = "expected numbers of entries, such as 8,1,5";
        let number = |part: &str| part.parse().map_err(|_| wrong(part, message));
        let listed = text.split(',').map(number).collect::<Result<Vec<u32>, _>>()?;
        Ok(match listed[..] {
            [each] => EntriesPerProcess::Each(each),
            _ => EntriesPerProcess::Listed(listed),
        })
    }
    write(this, f) {
        match this {
            EntriesPerProcess::Each(each) => each.fmt(f),
            EntriesPerProcess::Listed(entries) => f.write_str(&listed(entries)),
        }
    }
}

/// A process that enters the critical section more often than the others. The text `3:50` means
/// that process 3 enters 50 times. With the text `3`, the number of entries of process 3 is ten
/// times the largest number that the workload configures for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotProcess {
    /// Process that enters more often than the others.
    pub process: ProcessId,
    /// Number of entries of this process; `None` if the text contains none.
    pub entries: Option<u32>,
}

impl HotProcess {
    /// Number of entries of the hot process if the text contains no number, as a multiple of the
    /// largest number of entries that the workload configures for a process.
    const DEFAULT_FACTOR: u32 = 10;

    /// Returns the numbers of entries of a group of `size` processes in which this process is hot.
    /// The other processes have the numbers in `entries`. If this process is not in the group, no
    /// number changes. Returns `None` if the number of this process is too large for a `u32`.
    pub fn applied_to(self, entries: &EntriesPerProcess, size: u32) -> Option<EntriesPerProcess> {
        let mut listed: Vec<u32> = (0..size).map(|place| entries.of(ProcessId(place))).collect();
        let largest = listed.iter().max().copied().unwrap_or(0);
        let hot = match self.entries {
            Some(entries) => entries,
            None => largest.checked_mul(Self::DEFAULT_FACTOR)?,
        };
        if let Some(entries) = listed.get_mut(self.process.index()) {
            *entries = hot;
        }
        Some(EntriesPerProcess::Listed(listed))
    }
}

words! { HotProcess,
    read(text) {
        let (process, entries) = match text.split_once(':') {
            Some((process, entries)) => (process, Some(entries)),
            None => (text, None),
        };
        let number = |entries: &str| {
            let message = "expected a process and its entries: 3 or 3:50";
            entries.parse().map_err(|_| wrong(entries, message))
        };
        let entries = entries.map(number).transpose()?;
        Ok(HotProcess { process: parse_process_number(process)?, entries })
    }
    write(this, f) {
        match this.entries {
            Some(entries) => write!(f, "{}:{entries}", this.process.display_number()),
            None => this.process.display_number().fmt(f),
        }
    }
}

/// Latency of messages from one process to another. The text `1-2=5..9` means 5 to 9 units from
/// process 1 to process 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkLatency {
    /// Sender of the messages.
    pub from: ProcessId,
    /// Receiver of the messages.
    pub to: ProcessId,
    /// Distribution of the latency.
    pub latency: Distribution,
}

words! { LinkLatency,
    read(text) {
        let no_link = || wrong(text, "expected a link and its latency, such as 1-2=5..9");
        let (link, latency) = text.split_once('=').ok_or_else(no_link)?;
        let (from, to) = link.split_once('-').ok_or_else(no_link)?;
        let (from, to) = (parse_process_number(from)?, parse_process_number(to)?);
        if from == to {
            return Err(wrong(link, "expected two different processes"));
        }
        Ok(LinkLatency { from, to, latency: latency.parse()? })
    }
    write(this, f) {
        write!(f, "{}-{}={}", this.from.display_number(), this.to.display_number(), this.latency)
    }
}

words! { Chance,
    read(text) {
        let probability = text.parse().ok().filter(|it| (0.0..=1.0).contains(it));
        let wrong = || wrong(text, "expected a probability from 0 to 1, such as 0.1");
        probability.map(Chance::with_probability).ok_or_else(wrong)
    }
    write(this, f) {
        this.probability.fmt(f)
    }
}

/// Parses the drift of clocks, such as 0.01 for one percent, and returns it in parts per million.
///
/// # Errors
///
/// [`SettingsError::InvalidText`] if the text is not a number from 0 to below 1.
pub fn parse_drift_to_ppm(text: &str) -> Result<u32, SettingsError> {
    let rate: Option<f64> = text.parse().ok();
    let millionths = rate.map(|rate| (rate * 1e6).round()).filter(|it| (0.0..1e6).contains(it));
    let wrong = || wrong(text, "expected a drift from 0 to below 1, such as 0.01");
    millionths.map(|millionths| millionths as u32).ok_or_else(wrong)
}

fn drift(millionths: u32) -> String {
    (f64::from(millionths) / 1e6).to_string()
}

/// Recovery of a crashed process. The text `3@50` means that process 3 recovers at time 50. The
/// text `3@+5` means that process 3 recovers 5 units after each of its crashes. With the suffix
/// `:forgetful`, as in `3@50:forgetful`, the process recovers without its stable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryOption {
    /// Process that recovers.
    pub process: ProcessId,
    /// True if the time is counted from each crash of the process.
    pub from_crash: bool,
    /// Ticks from a crash to the recovery if `from_crash` is true, else since the start of the run.
    pub ticks: u64,
    /// State after the recovery.
    pub memory: RecoveredState,
}

impl RecoveryOption {
    /// Adds the recovery to the faults of a run. If `from_crash` is true, the recovery becomes part
    /// of each crash of the process in `faults`. Otherwise, it becomes a fault of its own.
    ///
    /// # Errors
    ///
    /// [`SettingsError::NoCrash`], with `faults` unchanged, if `from_crash` needs a missing crash.
    pub fn add_to(self, faults: &mut Vec<Fault>) -> Result<(), SettingsError> {
        let RecoveryOption { process, ticks, memory, .. } = self;
        if !self.from_crash {
            faults.push(Fault::Recover { process, at: ticks, memory });
            return Ok(());
        }
        let mut follows = Err(SettingsError::NoCrash { process });
        for fault in faults {
            if let Fault::Crash { process: whose, recovery, .. } = fault
                && *whose == process
            {
                *recovery = Some(AutomaticRecovery { downtime: ticks, memory });
                follows = Ok(());
            }
        }
        follows
    }
}

words! { RecoveryOption,
    read(text) {
        let (process, when) = process_at(text)?;
        let (when, memory) = match when.split_once(':') {
            None => (when, RecoveredState::Stable),
            Some((when, "forgetful")) => (when, RecoveredState::Lost),
            Some((_, word)) => {
                return Err(wrong(word, "expected 3@50 or 3@50:forgetful"));
            }
        };
        let after = when.strip_prefix('+');
        let ticks = parse_bounded_time_units(after.unwrap_or(when))?;
        Ok(RecoveryOption { process, from_crash: after.is_some(), ticks, memory })
    }
    write(this, f) {
        let plus = if this.from_crash { "+" } else { "" };
        let forgets = if this.memory == RecoveredState::Lost { ":forgetful" } else { "" };
        write!(f, "{}@{plus}{}{forgets}", this.process.display_number(), units(this.ticks))
    }
}

/// Splits a text such as `3@10` at the `@`.
fn process_at(text: &str) -> Result<(ProcessId, &str), SettingsError> {
    let wrong = || wrong(text, "expected a process and a time, such as 3@10");
    let (who, when) = text.split_once('@').ok_or_else(wrong)?;
    Ok((parse_process_number(who)?, when))
}

// The text is an option and its value: `crash 3@inside:2`, `recover 3@50`, `partition 1,2@10..50`.
words! { Fault,
    read(text) {
        let (option, value) = text.split_once(' ').unwrap_or((text, ""));
        match option {
            "crash" => {
                let (process, when) = process_at(value)?;
                Ok(Fault::Crash { process, when: when.parse()?, recovery: None })
            }
            "recover" => {
                let RecoveryOption { process, ticks, memory, from_crash } = value.parse()?;
                if from_crash {
                    return Err(wrong(value, "expected the time of the recovery, such as 3@50"));
                }
                Ok(Fault::Recover { process, at: ticks, memory })
            }
            "partition" => {
                let no_cut =
                    || wrong(value, "expected a side and its time, such as 1,2@10..50");
                let (side, span) = value.split_once('@').ok_or_else(no_cut)?;
                let (from, until) = span.split_once("..").ok_or_else(no_cut)?;
                let from = parse_bounded_time_units(from)?;
                let until = Some(until).filter(|it| !it.is_empty());
                let until = until.map(parse_bounded_time_units).transpose()?;
                if until.is_some_and(|until| until < from) {
                    return Err(wrong(value, "ends before it begins; swap the two times"));
                }
                let ProcessList(side) = side.parse()?;
                Ok(Fault::Partition { side, from, until })
            }
            _ => Err(wrong(text, "expected crash, recover or partition, and a time")),
        }
    }
    write(this, f) {
        match *this {
            Fault::Crash { process, when, .. } => {
                write!(f, "crash {}@{when}", process.display_number())
            }
            Fault::Recover { process, at: ticks, memory } => {
                let option = RecoveryOption { process, from_crash: false, ticks, memory };
                write!(f, "recover {option}")
            }
            Fault::Partition { ref side, from, until } => {
                let until = until.map_or(String::new(), units);
                write!(f, "partition {}@{}..{until}", ProcessList(side.clone()), units(from))
            }
            // No option expresses this fault.
            Fault::Suspicion { observer, peer, .. } => write!(f, "{observer} suspects {peer}"),
        }
    }
}

/// Returns the command `tenure simulate` that repeats the run with these settings.
///
/// The command contains no options of the algorithm itself, such as variants or topologies. The
/// caller appends these options. [`inexpressible_settings`](crate::inexpressible_settings) lists
/// further settings that the command omits. The command also omits all limits except
/// [`RunLimits::until`](crate::RunLimits::until), and all monitoring settings except custom
/// properties.
pub fn replay_command(algorithm: &str, settings: &Settings) -> String {
    let mut command =
        format!("tenure simulate {algorithm}{}", group_command_line_options(settings));
    let mut option =
        |name: &str, value: &dyn fmt::Display| command.push_str(&format!(" --{name} {value}"));
    if let Some(initiators @ Initiators::Listed(_)) = &settings.workload.initiators {
        option("initiators", initiators);
    }
    if !settings.down.is_empty() {
        option("down", &ProcessList(settings.down.clone()));
    }
    locking(settings, &mut option);
    network(settings, &mut option);
    for fault in settings.faults.iter().filter(|fault| has_option(fault)) {
        command.push_str(&format!(" --{fault}"));
    }
    for recovery_option in automatic_recoveries(settings) {
        command.push_str(&format!(" --recover {recovery_option}"));
    }
    if let Some(until) = settings.limits.until {
        command.push_str(&format!(" --until {}", units(until)));
    }
    command.push_str(&format!(" --seed {}", settings.seed));
    if settings.beyond_assumptions {
        command.push_str(" --beyond-assumptions");
    }
    for custom in &settings.monitoring.custom {
        let text = custom.text().replace('\'', "'\\''");
        command.push_str(&format!(" --{} '{text}'", custom.operator()));
    }
    command
}

/// Returns the command-line options that recreate the group: its size and its ranks. A space
/// precedes each option.
pub fn group_command_line_options(settings: &Settings) -> String {
    let size = format!(" -n {}", settings.size);
    let ranks = settings.ranks.iter();
    if settings.ranks.is_empty() {
        return size;
    }
    if settings.ranks.iter().any(|rank| rank.weight != 0) {
        return format!("{size} --loads {}", listed(ranks.map(|it| u64::MAX / it.weight.max(1))));
    }
    format!("{size} --ids {}", listed(ranks.map(|rank| rank.id)))
}

fn locking(settings: &Settings, option: &mut impl FnMut(&str, &dyn fmt::Display)) {
    let Some(locking) = &settings.workload.locking else { return };
    if !matches!(locking.pattern, RequestPattern::Sequential { .. }) {
        match &locking.entries {
            // A single number would apply to every process.
            EntriesPerProcess::Listed(entries) if entries.len() < 2 => {
                let of = |place| locking.entries.of(ProcessId(place));
                option("entries", &listed((0..settings.size).map(of)));
            }
            entries => option("entries", entries),
        }
    }
    match &locking.pattern {
        RequestPattern::Sequential { total } => option("sequential", total),
        RequestPattern::Closed { think: Distribution::ZERO } => {}
        RequestPattern::Closed { think } => option("think", think),
        RequestPattern::Open { every } => option("arrivals", every),
    }
    if locking.hold != Distribution::time_units(1) {
        option("hold", &locking.hold);
    }
}

fn network(settings: &Settings, option: &mut impl FnMut(&str, &dyn fmt::Display)) {
    let (network, time) = (&settings.network, &settings.time);
    let latency = network.latency.most_common();
    if latency != Distribution::time_units(1) {
        option("latency", &latency);
    }
    for link in network.latency.links_with_other_latency(settings.size) {
        option("link-latency", &link);
    }
    if let Some(background_traffic) = &settings.workload.background_traffic {
        option("app-messages", &background_traffic.send_chance);
    }
    match network.order {
        Some(ChannelOrder::Fifo) => option("channel", &"fifo"),
        Some(ChannelOrder::Reordered) => option("channel", &"reordered"),
        None => {}
    }
    for (name, chance) in [("lose", network.loss), ("duplicate", network.duplication)] {
        if chance.can_occur() {
            option(name, &chance);
        }
    }
    match time.timing {
        Some(Timing::Rounds) => option("timing", &"rounds"),
        Some(Timing::Synchronous) => option("timing", &"synchronous"),
        Some(Timing::Partial) => option("timing", &"partial"),
        Some(Timing::Asynchronous) => option("timing", &"asynchronous"),
        None => {}
    }
    if time.gst > 0 {
        option("gst", &units(time.gst));
    }
    if time.drift_ppm > 0 {
        option("drift", &drift(time.drift_ppm));
    }
    if time.step != Distribution::ZERO {
        option("step", &time.step);
    }
    if let Some(detector) = settings.detector.filter(|it| *it != DetectorSettings::default()) {
        option("suspect-after", &detector.delay);
    }
}

/// Returns the options for processes that recover automatically after each crash. Equal options
/// occur once.
fn automatic_recoveries(settings: &Settings) -> Vec<RecoveryOption> {
    let mut automatic_recoveries = Vec::new();
    for fault in &settings.faults {
        if let Fault::Crash { process, recovery: Some(recovery), .. } = *fault {
            let AutomaticRecovery { downtime: ticks, memory } = recovery;
            let recovery_option = RecoveryOption { process, from_crash: true, ticks, memory };
            if !automatic_recoveries.contains(&recovery_option) {
                automatic_recoveries.push(recovery_option);
            }
        }
    }
    automatic_recoveries
}

#[cfg(test)]
mod tests {
    use tenure_core::TICKS_PER_TIME_UNIT;

    use super::*;
    use crate::settings::fault::CrashTrigger;

    /// Asserts that formatting and parsing are inverse for the texts in `right`, and that the texts
    /// in `wrong` are rejected.
    #[track_caller]
    fn both_ways<T>(right: &[&str], wrong: &[&str])
    where
        T: FromStr<Err = SettingsError> + fmt::Display + fmt::Debug + PartialEq,
    {
        for text in right {
            let read: T = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(read.to_string(), *text);
        }
        for text in wrong {
            assert!(text.parse::<T>().is_err(), "{text}");
        }
    }

    #[test]
    fn units_round_trip() {
        both_ways::<ProcessList>(&["1", "3,1,2"], &["", "0", "1,", "P1", "-1"]);
        both_ways::<Initiators>(&["all", "2,3"], &["", "none", "0"]);
        both_ways::<EntriesPerProcess>(&["2", "2,1,0"], &["", "x", "-1", "1,"]);
        both_ways::<HotProcess>(&["3", "3:50"], &["0", "3:", "3:x", "x:3"]);
        both_ways::<LinkLatency>(
            &["1-2=5..9", "2-1=exp:2"],
            &["1-2", "1=5", "1-1=5", "0-1=5", "1-2="],
        );
        both_ways::<Chance>(&["0", "0.1", "1"], &["1.5", "-0.1", "NaN", "x"]);
        both_ways::<Distribution>(
            &["0", "1", "1.5", "0.000001", "1..3", "exp:2", "lognormal:1,0.5"],
            &["", "-1", "1e3", "3..1", "exp:", ".5", "1.0000001", "99999999999999"],
        );
        both_ways::<CrashTrigger>(
            &[
                "10",
                "2.5",
                "message:4",
                "inside:2+0.5",
                "inside:1",
                "waiting:3+1",
                "saving:2",
                "sending:2",
            ],
            &[
                "",
                "soon",
                "saved:0",
                "saving:1+1",
                "inside:0",
                "inside:x",
                "message:2+1",
                "10+1",
                "waiting+",
                "+1",
            ],
        );
        both_ways::<RecoveryOption>(
            &["3@50", "3@50:forgetful", "3@+5", "3@+0.5:forgetful"],
            &["3@5:new", "3@+", "3@inside", "@+1", "3@+5:", "3"],
        );
        both_ways::<Fault>(
            &["crash 3@10", "crash 3@inside:2+0.5", "recover 3@50:forgetful", "recover 3@50"],
            &["crash 3", "crash 0@1", "crash 3@", "crash @5", "crash P3@5", "crash 3@-1", "3@1"],
        );
        both_ways::<Fault>(
            &["partition 1,2@10..50", "partition 1@10.."],
            &["partition 1,2", "partition 1,2@10", "partition 1,2@50..10", "partition @1..2"],
        );
        for text in ["0.01", "0.000001"] {
            assert_eq!(drift(parse_drift_to_ppm(text).unwrap()), text);
        }
        assert!(
            ["1", "-0.1", "NaN", "x"].into_iter().all(|text| parse_drift_to_ppm(text).is_err())
        );
    }

    #[test]
    fn hot_process_enters_ten_times_as_often() {
        let listed = |hot: &str, entries: &str| {
            let (hot, entries): (HotProcess, EntriesPerProcess) =
                (hot.parse().unwrap(), entries.parse().unwrap());
            hot.applied_to(&entries, 3).map(|listed| listed.to_string())
        };
        assert_eq!(listed("3", "1").as_deref(), Some("1,1,10"));
        assert_eq!(listed("3", "20").as_deref(), Some("20,20,200"));
        assert_eq!(listed("3", "2,4").as_deref(), Some("2,4,40"));
        assert_eq!(listed("2:50", "20").as_deref(), Some("20,50,20"));
        assert_eq!(listed("1", "429496729").as_deref(), Some("4294967290,429496729,429496729"));
        assert_eq!(listed("1", "429496730"), None);
    }

    #[test]
    fn omitted_parts_have_defaults() {
        assert_eq!("3".parse(), Ok(HotProcess { process: ProcessId(2), entries: None }));
        assert_eq!("waiting".parse(), Ok(CrashTrigger::Waiting { request: 1, after: 0 }));
        let when = CrashTrigger::At(10 * TICKS_PER_TIME_UNIT);
        let crash = Fault::Crash { process: ProcessId(2), when, recovery: None };
        assert_eq!("crash 3@10".parse(), Ok(crash));
    }
}
