//! `tenure check --measure`: finds the least and the greatest value of each measure over all
//! schedules, and compares both with the bounds on the card.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value as Json, json};
use tenure_check::{
    FinalStateKind, Measure, MeasureConfig, MeasureReport, RequestLimit, RequestLimits,
};
use tenure_core::{Card, CostUnit, MessageCost, Service};

use super::CheckPlan;
use super::config::{build_check_config, progress_observer};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{line_width, warn_no_effect, wrap_lines};
use crate::nearest::nearest;

/// Parses a measure, which is a name or has the form `NAME=KIND`. For example, `messages=reply`
/// measures only the messages of the kind `reply`.
pub(super) fn parse(text: &str) -> Result<MeasureConfig, String> {
    let (name, kind) = match text.split_once('=') {
        Some((name, kind)) => (name, Some(kind.to_owned())),
        None => (text, None),
    };
    let names = || Measure::ALL.into_iter().map(Measure::name);
    let found = Measure::ALL.into_iter().find(|measure| measure.name() == name);
    let measure = found.ok_or_else(|| {
        let nearest = nearest(name, names()).join(", ");
        format!("expected {}; nearest are {nearest}", names().collect::<Vec<_>>().join(", "))
    })?;
    let has_messages =
        matches!(measure, Measure::Messages | Measure::Received | Measure::CausalChainLength);
    match &kind {
        Some(_) if !has_messages => Err(format!("{name} counts no messages: expected no kind")),
        Some(kind) if kind.is_empty() => Err("expected a kind of message after =".to_owned()),
        _ => Ok(MeasureConfig { measure, message_kind: kind }),
    }
}

pub(super) fn run(plan: &CheckPlan<'_>) -> Result<Status, Failure> {
    let measured = measured(plan)?;
    for option in unused_options(plan) {
        warn_no_effect(option, &plan.options.algorithm);
    }
    if let (Some(path), Some((report, _))) = (&plan.options.trace, measured.first()) {
        save_maximum(plan, report, path)?;
    }
    let all = measured.iter().map(|(report, bound)| to_json(report, bound.as_ref()));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    plan.options.format.print(&all, || {
        let texts = measured.iter().map(|(report, bound)| text(report, bound.as_ref()));
        wrap_lines(&texts.collect::<Vec<_>>().join("\n"))
    })?;
    Ok(status(&measured))
}

pub(super) fn run_to_json(plan: &CheckPlan<'_>) -> Result<Json, Failure> {
    let measured = measured(plan)?;
    let first = measured.first().map(|(report, bound)| to_json(report, bound.as_ref()));
    first.unwrap_or(Ok(Json::Null))
}

type Measured = Vec<(MeasureReport, Option<BoundComparison>)>;

fn measured(plan: &CheckPlan<'_>) -> Result<Measured, Failure> {
    let CheckPlan { options, parameters, card } = plan;
    options.group.check_timeout_names(card)?;
    let algorithm = tenure_instances::algorithm(&options.algorithm, parameters);
    let algorithm = algorithm.map_err(Failure::usage)?;
    let mut measured = Vec::new();
    for measure in &options.measure {
        if measure.measure == Measure::Bypass && card.service != Service::Mutex {
            let message =
                format!("--measure bypass does not apply to {}: it is no lock", card.name);
            return Err(Failure::usage(message));
        }
        let mut config = build_check_config(options, card, parameters.size);
        config.search.on_progress = progress_observer(true);
        let report = algorithm.measure_costs(&config, measure).map_err(super::search_failure)?;
        let bound = BoundComparison::of(plan, &report);
        measured.push((report, bound));
    }
    Ok(measured)
}

fn unused_options(plan: &CheckPlan<'_>) -> Vec<&'static str> {
    plan.options.group.unused_options(&plan.options.algorithm, plan.card.service)
}

fn save_maximum(plan: &CheckPlan<'_>, report: &MeasureReport, path: &Path) -> Result<(), Failure> {
    let Some(maximum) = &report.maximum else { return Ok(()) };
    let mut maximum = maximum.clone();
    plan.describe_in_header(&mut maximum.trace.header)?;
    maximum.save(path).map_err(Failure::environment)
}

/// Returns the exit status of the measurements, which is the first of these that applies:
///
/// - [`Status::Violated`] if a run exceeds the upper bound on the algorithm's [`Card`], or falls
///   below the lower bound.
/// - [`Status::Incomplete`] if a limit or an interrupt stopped a search, so that its extremes may
///   not be exact.
/// - [`Status::Success`] otherwise.
fn status(measured: &Measured) -> Status {
    let exceeds = |bound: &BoundComparison| bound.most.is_exceeded() || bound.least.is_exceeded();
    if measured.iter().filter_map(|(_, bound)| bound.as_ref()).any(exceeds) {
        Status::Violated
    } else if measured.iter().any(|(report, _)| report.reached_limit.is_some()) {
        Status::Incomplete
    } else {
        Status::Success
    }
}

fn text(report: &MeasureReport, bound: Option<&BoundComparison>) -> String {
    let bound = bound.map_or(String::new(), BoundComparison::text);
    let (summary, size) = (report.summary(), report.search_size_in_words());
    format!("{summary}{bound}{size}{}", report.schedules_in_words(line_width()))
}

fn to_json(report: &MeasureReport, bound: Option<&BoundComparison>) -> Result<Json, Failure> {
    let mut value = serde_json::to_value(report).map_err(Failure::environment)?;
    if let (Json::Object(fields), Some(bound)) = (&mut value, bound) {
        let BoundComparison { formula, unit_count, least, most, .. } = bound;
        let card = json!({ "formula": formula, "times": unit_count, "least": least, "most": most });
        fields.insert("card".to_owned(), card);
    }
    Ok(value)
}

/// Comparison of the bounds on the algorithm's [`Card`] with the values that the search found. The
/// card states bounds for one unit, such as an entry. The comparison multiplies them by the number
/// of units in a run.
struct BoundComparison {
    formula: &'static str,
    /// Unit to which the formula on the algorithm's [`Card`] applies: `an entry` into the critical
    /// section, or `an election`. For the measure bypass, it is `a wait`.
    unit: &'static str,
    /// Number of units in a run, such as critical-section entries. The bound for a run is the
    /// product of `unit_count` and the bound for one unit. For the measure bypass, it is 1.
    unit_count: u64,
    least: BoundVerdict,
    most: BoundVerdict,
    minimum: String,
    maximum: String,
}

/// Result of comparing a bound on the algorithm's [`Card`] with an extreme that the search found.
/// The number in each variant is the bound for a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum BoundVerdict {
    /// The algorithm's [`Card`] has no bound to compare.
    None,
    /// An explored run attains the bound, and no explored run violates it.
    Attained(u64),
    /// All runs keep the bound, but no run attains it.
    NotTight(u64),
    /// An explored run exceeds the upper bound or falls below the lower bound, or the measure grows
    /// without a bound.
    Exceeded(u64),
    /// The search has not decided whether a run attains or violates the bound. It has not explored
    /// all runs, it has found no minimum, or it counts messages only until all users are served.
    Unknown(u64),
}

impl BoundVerdict {
    fn is_exceeded(self) -> bool {
        matches!(self, BoundVerdict::Exceeded(_))
    }

    /// Compares an upper bound with `seen`, the greatest explored value. `seen` is `None` if the
    /// measure grows without a bound. `is_exact` is true if no run has a greater value.
    fn of_upper_bound(bound: u64, seen: Option<u64>, is_exact: bool) -> Self {
        match seen {
            None => BoundVerdict::Exceeded(bound),
            Some(seen) if seen > bound => BoundVerdict::Exceeded(bound),
            Some(seen) if seen == bound => BoundVerdict::Attained(bound),
            Some(_) if is_exact => BoundVerdict::NotTight(bound),
            Some(_) => BoundVerdict::Unknown(bound),
        }
    }

    /// Compares a lower bound with `seen`, the least explored value. `seen` is `None` if no value
    /// was explored. `is_exact` is true if no run has a smaller value.
    fn of_lower_bound(bound: u64, seen: Option<u64>, is_exact: bool) -> Self {
        match seen {
            Some(seen) if seen < bound => BoundVerdict::Exceeded(bound),
            Some(seen) if seen == bound => BoundVerdict::Attained(bound),
            Some(_) if is_exact => BoundVerdict::NotTight(bound),
            Some(_) | None => BoundVerdict::Unknown(bound),
        }
    }

    /// Describes the bound, and whether a run attains it. The description begins with `side`, which
    /// is `at most` or `at least`. For [`BoundVerdict::NotTight`], it ends with `extreme`, a text
    /// such as `the maximum is 6`. For [`BoundVerdict::None`], it is empty.
    fn in_words(self, side: &str, extreme: &str) -> String {
        match self {
            BoundVerdict::None => String::new(),
            BoundVerdict::Attained(bound) => format!("{side} {bound}: attained"),
            BoundVerdict::NotTight(bound) => {
                format!("{side} {bound}: not tight here, {extreme}")
            }
            BoundVerdict::Exceeded(bound) => format!("{side} {bound}: violated"),
            BoundVerdict::Unknown(bound) => format!("{side} {bound}: not decided"),
        }
    }
}

impl BoundComparison {
    /// Compares the bounds on the algorithm's [`Card`] with the extremes of this measure. Returns
    /// `None` if the card does not cover runs with these options, or has no bound on this measure.
    /// Also returns `None` if the number of units in a run is unbounded or unknown.
    fn of(plan: &CheckPlan<'_>, report: &MeasureReport) -> Option<Self> {
        let CheckPlan { options, card, parameters } = plan;
        if options.permits_faults_or_waives_assumptions() || report.message_kind.is_some() {
            return None;
        }
        match report.measure {
            Measure::Messages => {
                let entries = options.entry_limits(parameters.size);
                Self::of_cost(card, unit_count(&card.messages, &entries, parameters.size)?, report)
            }
            Measure::Bypass => {
                let most = u64::from(card.promised_bypass_bound()?);
                let most =
                    BoundVerdict::of_upper_bound(most, greatest(report), is_exact_maximum(report));
                let formula = card.theory.map_or("", |theory| theory.bypass);
                let least = BoundVerdict::None;
                let (minimum, maximum) = (report.minimum_in_words(), report.maximum_in_words());
                let unit = "a wait";
                Some(BoundComparison {
                    formula,
                    unit,
                    unit_count: 1,
                    least,
                    most,
                    minimum,
                    maximum,
                })
            }
            Measure::Received | Measure::CausalChainLength | Measure::Moves => None,
        }
    }

    fn of_cost(card: &Card, unit_count: u64, report: &MeasureReport) -> Option<Self> {
        let MessageCost { per, formula, least, most, is_complete } = card.messages;
        if !is_complete || least == 0 && most.is_none() {
            return None;
        }
        let unit = if per == CostUnit::Election { "an election" } else { "an entry" };
        let minimum = report.minimum.as_ref().map(|minimum| number(minimum.value));
        let minimum = minimum.flatten();
        let exact_minimum = report.exact_minimum().is_some();
        let mut lower = BoundVerdict::of_lower_bound(least * unit_count, minimum, exact_minimum);
        // With `FinalStateKind::Served`, the search counts messages only until all users are
        // served, and more messages may follow. A run with fewer messages than `least` therefore
        // does not contradict the bound.
        if report.minimum_run_end == Some(FinalStateKind::Served) && lower.is_exceeded() {
            lower = BoundVerdict::Unknown(least * unit_count);
        }
        let most = most.map(|most| most.saturating_mul(unit_count));
        Some(BoundComparison {
            formula,
            unit,
            unit_count,
            least: lower,
            minimum: report.minimum_in_words(),
            maximum: report.maximum_in_words(),
            most: most.map_or(BoundVerdict::None, |most| {
                BoundVerdict::of_upper_bound(most, greatest(report), is_exact_maximum(report))
            }),
        })
    }

    fn text(&self) -> String {
        let BoundComparison { formula, unit, unit_count, least, most, minimum, maximum } = self;
        let times = match unit_count {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        let mut text = format!("  {:<24} {formula} for {unit}{times}\n", "card");
        let sides = [
            most.in_words("at most", &format!("the maximum is {maximum}")),
            least.in_words("at least", &format!("the minimum is {minimum}")),
        ];
        for side in sides.iter().filter(|side| !side.is_empty()) {
            text.push_str(&format!("  {:<24} {side}\n", ""));
        }
        text
    }
}

/// Returns the greatest value of the measure in the explored runs. Returns 0 if the search found no
/// value, and `None` if the measure grows without a bound.
fn greatest(report: &MeasureReport) -> Option<u64> {
    report.maximum.as_ref().map_or(Some(0), |maximum| number(maximum.value))
}

fn number(value: tenure_check::MeasureValue) -> Option<u64> {
    match value {
        tenure_check::MeasureValue::Exactly(value) | tenure_check::MeasureValue::AtLeast(value) => {
            Some(value.into())
        }
        tenure_check::MeasureValue::Unbounded => None,
    }
}

fn is_exact_maximum(report: &MeasureReport) -> bool {
    report.exact_maximum().is_some()
}

/// Returns the number of units of `cost` in a run in which every request is served. A unit is an
/// election or a critical-section entry. Returns `None` if the number of entries is unbounded, or
/// if `cost` is about another unit.
fn unit_count(cost: &MessageCost, entries: &RequestLimits, size: u32) -> Option<u64> {
    let number = |entries: &RequestLimit| match entries {
        RequestLimit::AtMost(times) => Some(u64::from(*times)),
        RequestLimit::Unbounded => None,
    };
    match (cost.per, entries) {
        (CostUnit::Election, _) => Some(1),
        (CostUnit::Entry, RequestLimits::Same(each)) => Some(number(each)? * u64::from(size)),
        (CostUnit::Entry, RequestLimits::PerProcess(list)) => list.iter().map(number).sum(),
        (CostUnit::Agreement | CostUnit::Message | CostUnit::Period, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_measures_and_kinds() {
        let kind = Some("reply".to_owned());
        assert_eq!(parse("time"), Ok(Measure::CausalChainLength.into()));
        assert_eq!(
            parse("messages=reply"),
            Ok(MeasureConfig { measure: Measure::Messages, message_kind: kind })
        );
        let wrong = ["mesages", "bypass=reply", "messages="].map(|text| parse(text).is_err());
        assert_eq!(wrong, [true; 3]);
        assert!(parse("mesages").is_err_and(|error| error.contains("nearest are messages")));
    }

    #[test]
    fn compares_bounds_with_extremes() {
        use BoundVerdict::{Attained, Exceeded, NotTight, Unknown};
        let most = |seen, exact| BoundVerdict::of_upper_bound(6, seen, exact);
        assert_eq!(most(Some(6), true), Attained(6));
        assert_eq!(most(Some(5), true), NotTight(6));
        assert_eq!(most(Some(5), false), Unknown(6));
        assert_eq!([most(Some(7), false), most(None, true)], [Exceeded(6); 2]);
        let least = |seen| BoundVerdict::of_lower_bound(6, seen, true);
        assert_eq!(
            [least(Some(6)), least(Some(7)), least(Some(5))],
            [Attained(6), NotTight(6), Exceeded(6)]
        );
    }
}
