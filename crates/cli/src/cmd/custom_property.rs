//! Command-line options that contain properties of runs. The user writes each property as an
//! expression.

use std::sync::Arc;

use clap::Args;
use tenure_core::{Card, Service, TICKS_PER_TIME_UNIT};
use tenure_instances::{
    AnyAlgorithm, InterventionPlan, RunParameters, TraceHeaderFields, TraceOutput,
};
use tenure_sim::{
    Distribution, EntriesPerProcess, Initiators, Latency, LockWorkload, RequestPattern,
    RunControls, Settings, Workload,
};
use tenure_trace::property::{ExpressionProperty, TemporalOperator, Vocabulary};
use tenure_trace::{Header, MergedTrace, Record, RecordKind, Trace, TraceBuffer};

use super::failure::Failure;
use super::trace::replay::parameters_from_header;

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
    fn all(&self) -> impl Iterator<Item = (TemporalOperator, &String)> {
        let of = |form: TemporalOperator, texts| std::iter::repeat(form).zip(texts);
        of(TemporalOperator::Never, self.never.iter())
            .chain(of(TemporalOperator::Always, self.always.iter()))
            .chain(of(TemporalOperator::Eventually, self.eventually.iter()))
            .chain(of(TemporalOperator::LeadsTo, self.leads_to.iter()))
    }

    fn parse(&self, vocabulary: &Vocabulary) -> Result<Vec<Arc<ExpressionProperty>>, Failure> {
        let parse = |(form, text): (TemporalOperator, &String)| {
            ExpressionProperty::parse(form, text, vocabulary)
                .map(Arc::new)
                .map_err(|error| Failure::invalid_expression(form.name(), &error))
        };
        self.all().map(parse).collect()
    }

    /// Parses the properties. Returns a usage failure if an expression is invalid. An expression is
    /// also invalid if it names a message or a field that occurs in no sample run. This function
    /// performs the sample runs. If the algorithm rejects their settings, any name of a message is
    /// valid.
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
        learn_from_sample_runs(&mut vocabulary, card, algorithm);
        self.parse(&vocabulary)
    }

    /// Parses the properties of a recorded run. Returns a usage failure if an expression is
    /// invalid. An expression is also invalid if it names a message or field that occurs neither in
    /// this run nor in sample runs of the algorithm. If the program does not know the algorithm,
    /// any name is valid.
    pub(crate) fn parse_for_trace(
        &self,
        merged: &MergedTrace,
    ) -> Result<Vec<Arc<ExpressionProperty>>, Failure> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let MergedTrace { header, records, .. } = merged;
        let mut unlearned = Vocabulary::new(header.n, header.service);
        if !records.iter().any(|record| matches!(record.kind, RecordKind::State(_))) {
            unlearned.states = None;
        }
        let mut vocabulary = unlearned.clone();
        vocabulary.learn(records);
        if let Ok(properties) = self.parse(&vocabulary) {
            return Ok(properties);
        }
        match known_algorithm(header) {
            Some((card, algorithm)) => {
                learn_from_sample_runs(&mut vocabulary, &card, &*algorithm);
            }
            None => vocabulary = Vocabulary { messages: None, ..unlearned },
        }
        self.parse(&vocabulary)
    }
}

/// Returns the algorithm in the header of a trace, with its card. Returns `None` if this program
/// does not have the algorithm, or if the options in the header are invalid.
fn known_algorithm(header: &Header) -> Option<(Card, Box<dyn AnyAlgorithm>)> {
    let parameters = parameters_from_header(header).ok()?;
    let card = tenure_instances::card(&header.algorithm, &parameters).ok()?;
    let algorithm = tenure_instances::algorithm(&header.algorithm, &parameters).ok()?;
    Some((card, algorithm))
}

/// Adds the names in sample runs of the algorithm to the vocabulary. If the algorithm rejects the
/// settings of all sample runs, the vocabulary then accepts every name of a message.
fn learn_from_sample_runs(vocabulary: &mut Vocabulary, card: &Card, algorithm: &dyn AnyAlgorithm) {
    let mut has_samples = false;
    for seed in 1..=SAMPLES {
        for settings in samples(card, vocabulary.group_size, seed) {
            if let Some(records) = sample(algorithm, settings) {
                vocabulary.learn(&records);
                has_samples = true;
            }
        }
    }
    if !has_samples {
        vocabulary.messages = None;
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
    settings.network.latency = Latency::Same(Distribution::Uniform {
        min: TICKS_PER_TIME_UNIT,
        max: 9 * TICKS_PER_TIME_UNIT,
    });
    settings.limits.events = Some(SAMPLE_EVENTS);
    settings.beyond_assumptions = true;
    let pattern = RequestPattern::Closed { think: Distribution::ZERO };
    let hold = Distribution::time_units(1);
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
