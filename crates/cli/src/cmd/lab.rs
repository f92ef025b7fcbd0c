//! `tenure lab`: the simulator in a browser, step by step.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Command, FromArgMatches, Parser};
use serde_json::{Value, json};
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Card;
use tenure_core::quorum::Kind;
use tenure_instances::Head;
use tenure_lab::{Apparatus, Ground, Lab, Patience, Workshop};
use tenure_sim::{Settings, Steer};
use tenure_trace::{Course, Trace};
use tenure_web::Server;

use super::failure::{Failure, Status};
use super::misread;
use super::output::print_file;
use super::simulate;
use super::trace::replay;

/// Step through a run in the browser and meddle: lose messages, crash processes, go back
///
/// Prints the address of the page and serves it until Ctrl-C. On the page every step of the
/// simulator can be taken one by one; messages can be lost, duplicated, delayed or delivered at
/// once, processes crashed and brought back, timers fired, users heard. Going back to an old moment
/// and doing something else makes a branch. Each history is also a command line (`tenure simulate
/// … --steer …`) that makes it again, to the byte.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    own: Own,
    /// Begin with this algorithm and these options of `tenure simulate`
    #[arg(value_name = "ALGORITHM OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Options that no run has, and that somebody may write among its words.
#[derive(Debug, Default, Args)]
struct Own {
    /// The port [default: any that is free]
    #[arg(long, value_name = "P")]
    port: Option<u16>,
    /// Where to listen [default: 127.0.0.1]. Beyond this machine, the printed address has a token
    /// without which nobody gets in
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Begin along a recorded run, as `tenure check --trace` saves counterexamples
    #[arg(long, value_name = "FILE")]
    open: Option<PathBuf>,
}

impl Own {
    fn command() -> Command {
        Own::augment_args(Command::new("lab"))
    }

    /// Whether this is one of them.
    fn is_named(word: &str) -> bool {
        let name = word.split('=').next().and_then(|word| word.strip_prefix("--"));
        name.is_some() && Own::command().get_arguments().any(|it| it.get_long() == name)
    }

    /// Takes them out of the words.
    fn taken(words: &[String]) -> Result<(Own, Vec<String>), Failure> {
        let (mut own, mut others) = (vec!["lab".to_owned()], Vec::new());
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if !Own::is_named(word) {
                others.push(word.clone());
                continue;
            }
            own.push(word.clone());
            own.extend((!word.contains('=')).then(|| rest.next().cloned()).flatten());
        }
        let own = Own::command().try_get_matches_from(own);
        match own.and_then(|matches| Own::from_arg_matches(&matches)) {
            Ok(own) => Ok((own, others)),
            Err(error) => Err(Failure::usage(refused(&error))),
        }
    }

    /// These, and where they say nothing, the others.
    fn or(self, other: &Own) -> Own {
        Own {
            port: self.port.or(other.port),
            bind: self.bind.or(other.bind),
            open: self.open.or_else(|| other.open.clone()),
        }
    }
}

/// What may follow `tenure simulate`.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    options: simulate::Options,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let lab = Lab::new(Bench);
    let (own, words) = Own::taken(&options.words)?;
    let own = own.or(&options.own);
    let opened = match (&own.open, words.as_slice()) {
        (Some(_), [algorithm, ..]) => {
            let says = format!("--open FILE begins along a recorded run; leave out {algorithm}");
            return Err(Failure::usage(says));
        }
        (Some(path), []) => {
            let trace = Trace::read(path).map_err(|error| super::trace::of_input(error.into()))?;
            super::trace::report_torn(trace.torn.as_slice(), &[]);
            Some(Bench.of_trace(&trace))
        }
        (None, []) => None,
        (None, words) => Some(Bench.of_words(words)),
    };
    let opened =
        opened.map(|made| made.and_then(|apparatus| lab.open(apparatus, &Patience::default())));
    let session = opened.transpose().map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(Failure::environment)?.block_on(serve(&own, lab, session))
}

async fn serve(own: &Own, lab: Lab, session: Option<u64>) -> Result<Status, Failure> {
    let bind = own.bind.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let server = Server::bind(bind, own.port.unwrap_or(0)).await.map_err(Failure::environment)?;
    let mut stop = super::interrupt::Interrupts::new()?;
    let place = session.map_or(String::new(), |session| format!("#session={session}"));
    print_file(&format!("{}{place}\n", server.url()))?;
    let stopped = async move { stop.next().await };
    lab.serve(server, stopped).await;
    Ok(Status::Held)
}

/// Makes runs from what the command line knows.
struct Bench;

impl Workshop for Bench {
    fn algorithms(&self) -> Value {
        let cards = tenure_instances::names().filter_map(|name| {
            let card = tenure_instances::card(name, &Parameters::plain(5)).ok()?;
            Some((name, card))
        });
        cards.map(|(name, card)| listed(name, &card)).collect()
    }

    fn of_words(&self, words: &[String]) -> Result<Apparatus, String> {
        if let Some(own) = words.iter().find(|word| Own::is_named(word)) {
            return Err(format!("{own} is the lab's own, and it runs already"));
        }
        let words_given = words.join(" ");
        let line = ["simulate".to_owned()].into_iter().chain(words.iter().cloned());
        let Line { options } = Line::try_parse_from(line).map_err(|error| refused(&error))?;
        if let Some(says) = simulate::only_for_the_terminal(&options) {
            return Err(says);
        }
        let in_words = |failure: Failure| failure.to_string();
        let plan = simulate::plan(&options).map_err(in_words)?;
        let settings = plan.settings(plan.common().seed);
        let steering = plan.steering().clone();
        let replay = plan.replay_unsteered(&settings);
        let head = Head { replay: Some(replay.clone()), ..plan.head(&settings) };
        let subject = plan.subject(&settings).map_err(in_words)?;
        let engine = subject.engine(settings.clone(), head, None);
        Ok(Apparatus {
            words: words_given,
            ground: ground(&plan.card, &plan.parameters),
            card: plan.card,
            size: settings.size,
            replay: Some(replay),
            steers: steering.steers,
            steps: steering.most.unwrap_or(0),
            engine: engine.map_err(|error| error.to_string())?,
        })
    }

    fn of_trace(&self, trace: &Trace) -> Result<Apparatus, String> {
        let in_words = |failure: Failure| failure.to_string();
        let header = &trace.header;
        let parameters = if header.options.is_empty() {
            Parameters::plain(header.n)
        } else {
            replay::parameters(header).map_err(in_words)?
        };
        let course = Course::of_trace(trace).map_err(|error| error.to_string())?;
        let card = tenure_instances::card(&header.algorithm, &parameters);
        let card = card.map_err(|unknown| unknown.to_string())?;
        let ranks = parameters.ranks.clone();
        // What was recorded may be beyond what the card assumes.
        let plain = Settings::new(course.size);
        let settings = Settings { ranks, beyond_assumptions: true, ..plain };
        let subject = tenure_instances::subject(&header.algorithm, &parameters);
        let subject = subject.map_err(|unknown| unknown.to_string())?;
        let engine = subject.engine(settings, Head::default(), Some(course));
        let violated = header.violates.as_ref().map_or("run", |_| "counterexample");
        Ok(Apparatus {
            words: format!("a recorded {violated} of {}", header.algorithm),
            ground: ground(&card, &parameters),
            card,
            size: header.n,
            replay: None,
            steers: Vec::<Steer>::new(),
            steps: 0,
            engine: engine.map_err(|error| error.to_string())?,
        })
    }
}

/// Where the processes stand.
fn ground(card: &Card, parameters: &Parameters) -> Ground {
    let Parameters { size, coordinator, tree, quorums, .. } = *parameters;
    let quorums = match card.name.rsplit(':').next() {
        Some("maekawa") => Some(quorums),
        // Whoever did not choose has the first that there are, which this lock has as majorities.
        Some("majority") if quorums == Kind::Grid => Some(Kind::Majority),
        Some("majority") => Some(quorums),
        _ => None,
    };
    Ground::of(card, size, coordinator, tree, quorums)
}

/// What clap says, in one line; help is not for a page.
fn refused(error: &clap::Error) -> String {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            "`tenure simulate --help` in a terminal tells what can be said here".to_owned()
        }
        _ => misread::answer(error).err().map_or(String::new(), |failure| failure.to_string()),
    }
}

fn listed(name: &str, card: &Card) -> Value {
    let variants = card.variants.iter().map(
        |variant| json!({ "name": variant.name, "sound": variant.sound, "says": variant.says }),
    );
    json!({
        "name": name,
        "service": card.service,
        "says": card.title,
        "topology": card.topology,
        "variants": variants.collect::<Vec<_>>(),
    })
}
