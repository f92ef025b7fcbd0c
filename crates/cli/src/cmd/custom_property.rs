//! Command-line options that contain properties of runs. The user writes each property as an
//! expression.

use std::sync::Arc;

use clap::Args;
use tenure_core::{Card, Service, TICKS_PER_UNIT};
use tenure_instances::{
    AnyAlgorithm, InterventionPlan, RunParameters, TraceHeaderFields, TraceOutput,
};
use tenure_sim::{
    Distribution, EntriesPerProcess, Initiators, Latency, LockWorkload, RequestPattern,
    RunControls, Settings, Workload,
};
use tenure_trace::property::{ExpressionProperty, PropertyForm, Vocabulary};
use tenure_trace::{Record, Trace, TraceBuffer};

use super::failure::Failure;

/// Options for properties that the user writes as expressions.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CustomPropertyOptions {
    /// Condition that no state meets: 'inside(P1) & inside(P3)'; repeatable. A free variable such
    /// as p stands for any process. The predicates are in docs/properties.md
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    #[arg(help_heading = "Properties and output")]
    never: Vec<String>,
    /// Condition that every state meets: 'count(p: inside(p)) <= 1'; repeatable
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    #[arg(help_heading = "Properties and output")]
    always: Vec<String>,
    /// Condition that some state of every run meets: 'exists p: leads(p)'; repeatable
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    #[arg(help_heading = "Properties and output")]
    eventually: Vec<String>,
    /// Two conditions of which the first is always followed by the second: 'waiting(p) ~>
    /// inside(p)'; repeatable
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    #[arg(help_heading = "Properties and output")]
    leads_to: Vec<String>,
}

impl CustomPropertyOptions {
    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Returns the properties as the user wrote them, each with its form. The form is the option
    /// that contains the property, such as `--never`.
    fn all(&self) -> impl Iterator<Item = (PropertyForm, &String)> {
        let of = |form: PropertyForm, texts| std::iter::repeat(form).zip(texts);
        of(PropertyForm::Never, self.never.iter())
            .chain(of(PropertyForm::Always, self.always.iter()))
            .chain(of(PropertyForm::Eventually, self.eventually.iter()))
            .chain(of(PropertyForm::LeadsTo, self.leads_to.iter()))
    }

    pub(crate) fn parse(
        &self,
        vocabulary: &Vocabulary,
    ) -> Result<Vec<Arc<ExpressionProperty>>, Failure> {
        let parse = |(form, text): (PropertyForm, &String)| {
            ExpressionProperty::parse(form, text, vocabulary)
                .map(Arc::new)
                .map_err(|error| Failure::invalid_expression(form.name(), &error))
        };
        self.all().map(parse).collect()
    }

    /// Parses the properties. Returns an error if a property names a message or a field that the
    /// algorithm does not have. To learn these names, performs sample runs of the algorithm.
    pub(crate) fn parse_with_sample_runs(
        &self,
        card: &Card,
        algorithm: &dyn AnyAlgorithm,
        size: u32,
    ) -> Result<Vec<Arc<ExpressionProperty>>, Failure> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let mut vocabulary = Vocabulary::new(size, card.service);
        let mut has_samples = false;
        for seed in 1..=SAMPLES {
            for settings in samples(card, size, seed) {
                if let Some(records) = sample(algorithm, settings) {
                    vocabulary.learn(&records);
                    has_samples = true;
                }
            }
        }
        if !has_samples {
            // Without samples, every name of a message is accepted.
            vocabulary.messages = None;
        }
        self.parse(&vocabulary)
    }
}

/// Number of seeds with which sample runs are performed. Each seed has one or two sample runs.
const SAMPLES: u64 = 8;

const SAMPLE_EVENTS: u64 = 4_000;

/// Returns the settings of sample runs with this seed. A first run has random latencies and no
/// faults. If the algorithm tolerates lost messages, a second run with the same settings loses some
/// of its messages.
fn samples(card: &Card, size: u32, seed: u64) -> Vec<Settings> {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.network.latency =
        Latency::Same(Distribution::Uniform { min: TICKS_PER_UNIT, max: 9 * TICKS_PER_UNIT });
    settings.limits.events = Some(SAMPLE_EVENTS);
    settings.beyond_assumptions = true;
    let pattern = RequestPattern::Closed { think: Distribution::ZERO };
    let hold = Distribution::units(1);
    settings.workload = match card.service {
        Service::Election => Workload { initiators: Some(Initiators::All), ..Workload::default() },
        service if service.is_agreement() => {
            let hold = Distribution::ZERO;
            Workload::locking(LockWorkload { pattern, entries: EntriesPerProcess::Each(2), hold })
        }
        _ => Workload::locking(LockWorkload { pattern, entries: EntriesPerProcess::Each(3), hold }),
    };
    let mut all = vec![settings];
    if let (true, Ok(loss)) = (card.faults.loss, "0.1".parse()) {
        let mut lossy = all[0].clone();
        lossy.network.loss = loss;
        all.push(lossy);
    }
    all
}

/// Performs a sample run and returns its records, with the states of processes. Returns `None` if
/// the algorithm rejects the settings.
fn sample(algorithm: &dyn AnyAlgorithm, settings: Settings) -> Option<Vec<Record>> {
    let written = TraceBuffer::default();
    let writer = Box::new(written.clone());
    let header = TraceHeaderFields::default();
    let trace = Some(TraceOutput { writer, has_states: true, header });
    let intervention_plan = InterventionPlan::default();
    let run = RunParameters {
        settings,
        intervention_plan: &intervention_plan,
        trace,
        controls: RunControls::new(),
    };
    algorithm.simulate(run).ok()?;
    Some(Trace::parse(&written.take_bytes(), "sample").ok()?.records)
}
