//! `tenure check`: every schedule.

mod options;
mod perform;

use tenure_algorithms::catalogue::Parameters;
use tenure_check::{Judgement, Limit, Refusal, Report};
use tenure_core::{Need, Property, Service, TICKS_PER_UNIT, Timing};

use self::perform::examination;
use super::failure::{Failure, Status};
use super::output::{Format, narrow, no_effect, print, print_json, width};
use super::program;

pub(crate) use options::Options;

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    let is_bare = options.is_bare()?;
    let options = options.limited();
    let report = perform(&options)?;
    for option in idle(&options, &report)? {
        no_effect(option, &options.algorithm);
    }
    if options.trace.is_some() && report.shortest().is_none() {
        eprintln!("nothing is violated, so there is no trace to write");
    }
    match options.format {
        Format::Text => {
            let more = if is_bare { next(&options, &report)? } else { String::new() };
            let found = format!("{report:.columns$}", columns = width());
            let clocked = clocked(&options)?;
            print(&narrow(&(found + &advice(&options, &report) + &clocked + &more)))?;
        }
        Format::Json => print_json(&report)?,
    }
    Ok(match report.judgement() {
        Judgement::Holds => Status::Held,
        Judgement::Violated => Status::Violated,
        Judgement::Incomplete => Status::Incomplete,
    })
}

/// Searches, and writes the counterexample where it is wanted and there is one.
pub(crate) fn perform(options: &Options) -> Result<Report, Failure> {
    let report = report(options)?;
    save(options, &report)?;
    Ok(report)
}

/// The options that were given and make no difference.
fn idle(options: &Options, report: &Report) -> Result<Vec<&'static str>, Failure> {
    let parameters = options.group.parameters()?;
    let card = tenure_instances::card(&options.algorithm, &parameters).map_err(Failure::usage)?;
    let mut idle = options.group.idle(&options.algorithm, card.service);
    let elects = card.service == Service::Election || card.service.is_agreement();
    if options.app_messages > 0 && elects {
        idle.push("--app-messages");
    }
    if options.saving != Default::default() && (options.crash == 0 || options.recover == 0) {
        idle.push("--saving");
    }
    if options.recover > 0 && options.crash == 0 && options.group.down().is_empty() {
        idle.push("--recover");
    }
    let is_whole = report.limit.is_none() && report.counterexamples.is_empty();
    if options.term_max.is_some() && is_whole && !report.has_terms {
        idle.push("--term-max");
    }
    if options.new_sessions && options.recover == 0 {
        idle.push("--new-sessions");
    }
    if options.when_full.is_some() && options.lose == 0 {
        idle.push("--when-full");
    }
    let timing = options.group.timing().unwrap_or(card.timing);
    // Outside synchronous time a timer fires at any time.
    if timing != Timing::Synchronous {
        let given = [
            ("--latency", options.latency.is_some()),
            ("--timeout", !options.group.timeout.is_empty()),
        ];
        idle.extend(given.iter().filter(|(_, given)| *given).map(|(option, _)| *option));
    }
    Ok(idle)
}

/// Searches, and says what was found.
pub(crate) fn report(options: &Options) -> Result<Report, Failure> {
    searched(options, true)
}

/// The same with nothing on the terminal meanwhile.
pub(crate) fn quiet_report(options: &Options) -> Result<Report, Failure> {
    searched(options, false)
}

fn searched(options: &Options, followed: bool) -> Result<Report, Failure> {
    if options.group.draws_ids() {
        return Err(Failure::usage("a check is of certain ranks; list them: --ids 2,3,1"));
    }
    // Timeouts follow from the bound on latency, of a unit at least.
    let longest = options.latency.as_ref().map_or(1, |latency| (*latency.end()).max(1));
    let delay = u64::from(longest) * TICKS_PER_UNIT;
    // No message is so late that more than one number of a heartbeat is told apart.
    let parameters = Parameters { rounds: 1, delay, ..options.group.parameters()? };
    let card = tenure_instances::card(&options.algorithm, &parameters).map_err(Failure::usage)?;
    options.group.check_timeouts(&card)?;
    let properties = options.properties(&card)?;
    let subject = tenure_instances::subject(&options.algorithm, &parameters);
    let mut examination = examination(options, &parameters, properties);
    examination.watch = examination.watch.filter(|_| followed);
    let checked = subject.map_err(Failure::usage)?.check(&examination);
    checked.map_err(|refusal| match refusal {
        // A handler that panics is no wrong usage: the algorithm is.
        Refusal::Panicked { .. } => Failure::violated(refusal),
        Refusal::Weaker { algorithm, weakness } => Failure::weaker(&algorithm, &weakness),
        refusal => Failure::usage(refusal),
    })
}

/// Names the promises that this search does not judge, as they hold only while clocks keep time,
/// and the command that checks them.
fn clocked(options: &Options) -> Result<String, Failure> {
    let (group, name) = (&options.group, &options.algorithm);
    let card = tenure_instances::card(name, &group.parameters()?).map_err(Failure::usage)?;
    let timing = group.timing().unwrap_or(card.timing);
    if timing == Timing::Synchronous || card.clocked.is_empty() {
        return Ok(String::new());
    }
    let names: Vec<&str> = card.clocked.iter().map(|promise| promise.name()).collect();
    let (drift, says) = (card.drift_ppm / 10_000, names.join(" and "));
    let mut command = format!("tenure check {name} -n {}", group.size()?);
    command.push_str(&group.algorithm_options());
    let budgets = [
        ("lose", options.lose),
        ("duplicate", options.duplicate),
        ("crash", options.crash),
        ("recover", options.recover),
    ];
    for (fault, budget) in budgets.iter().filter(|(_, budget)| *budget > 0) {
        command.push_str(&format!(" --{fault} {budget}"));
    }
    if let Some(side) = &options.partition {
        command.push_str(&format!(" --partition {side}"));
    }
    let properties = names.join(",");
    Ok(format!(
        "  not judged here, where timers fire at any time: {says}, promised\n    \
         while clocks are right to {drift} %; they are checked by\n    \
         `{command} --timing synchronous --latency 0 --property {properties}`\n"
    ))
}

/// What to try when a small group was right of which nothing was said: a larger one, and what that
/// will cost. Each process more multiplies the worlds by more than the one before it did.
fn next(options: &Options, report: &Report) -> Result<String, Failure> {
    if report.judgement() != Judgement::Holds {
        return Ok(String::new());
    }
    let name = &options.algorithm;
    let smaller =
        Options::of(&format!("{name} -n {} --max-states {}", report.size - 1, report.states));
    let before = quiet_report(&smaller?)?.states;
    let times = report.states / before.max(1);
    let states = report.states.saturating_mul(times);
    let bytes = states.saturating_mul(report.bytes as u64 / report.states.max(1));
    let memory = match bytes >> 30 {
        0 => String::new(),
        gigabytes => format!(", {gigabytes} GB"),
    };
    let lasts = match report.seconds * times as f64 {
        ..1.0 => "",
        ..60.0 => ", seconds",
        ..3600.0 => ", minutes",
        _ => ", hours",
    };
    let more = report.size + 1;
    Ok(format!(
        "  next: `tenure check {name} -n {more}`, {times} times as many states or more \
         ({states}{lasts}{memory})\n"
    ))
}

/// What to try when a search was stopped.
fn advice(options: &Options, report: &Report) -> String {
    let goes_on = match report.limit {
        None => return String::new(),
        Some(Limit::States) => "--max-states allows more",
        Some(Limit::Memory) => "--max-memory allows more",
        Some(Limit::Time) => "--max-time allows more, and --max-time none has no limit",
        Some(Limit::Stopped) => "",
    };
    let mut smaller = Vec::new();
    let mut less = |option: &str, now: u64, least: u64| {
        if now > least {
            smaller.push(format!("{option} {}", now - 1));
        }
    };
    if options.group.ids.is_none() && options.group.loads.is_none() {
        less("-n", report.size.into(), 2);
    }
    less("--term-max", report.bounds.term_max.unwrap_or(0), 0);
    less("--in-flight", report.bounds.in_flight.map_or(0, |most| most as u64), 1);
    let smaller = match smaller.is_empty() {
        true => String::new(),
        false => format!("smaller searches: {}", smaller.join(", ")),
    };
    let parts = [goes_on, &smaller].into_iter().filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    if parts.is_empty() { String::new() } else { format!("  {}\n", parts.join("; ")) }
}

/// The command as it was typed, without where its counterexample goes and how its report is told:
/// whoever is shown the picture types it.
fn again(typed: impl Iterator<Item = String>) -> String {
    let mut words = vec![program::name().to_owned()];
    let mut is_left_out = false;
    for word in typed {
        let names = |option: &str| {
            word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        let is_one = names("--trace") || names("--format");
        if !is_one && !is_left_out {
            words.push(word.clone());
        }
        is_left_out = is_one && !word.contains('=');
    }
    words.join(" ")
}

/// Writes the shortest counterexample where `--trace` says.
fn save(options: &Options, report: &Report) -> Result<(), Failure> {
    let Some(path) = &options.trace else { return Ok(()) };
    match report.shortest() {
        Some(found) => {
            let mut found = found.clone();
            let header = &mut found.trace.header;
            header.options = options.group.words()?;
            let parameters = options.group.parameters()?;
            let card = tenure_instances::card(&options.algorithm, &parameters);
            let card = card.map_err(Failure::usage)?;
            header.most_inside = card.most_inside();
            header.fenced = card.fenced() || found.property.needs() == Need::Fences;
            header.ranks = Some(parameters.ranks.to_vec());
            let most = card.messages.most.filter(|_| found.property == Property::Cost);
            header.most_messages = most;
            header.most_bypass = match found.property {
                Property::Bypass(most) => most,
                _ => None,
            };
            header.topology = (found.property == Property::Topology).then_some(card.topology);
            header.replay = Some(again(std::env::args().skip(1)));
            found.save(path).map_err(Failure::environment)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counterexample_knows_the_command_that_finds_it() {
        let typed =
            "check central --trace a.ndjson -n 2 --format=json --lose 1 --trace=b --entries 2";
        let again = again(typed.split(' ').map(str::to_owned));
        assert_eq!(again, "tenure check central -n 2 --lose 1 --entries 2");
    }
}
