//! Serves the lab over HTTP until an interrupt.

use std::net::Ipv4Addr;

use clap::Args;
use tenure_lab::{Deadline, Lab, RunSource};
use tenure_trace::Trace;
use tenure_web::Server;

use super::{LabOptions, RunFactory, WordsFrom, parse_error, run_from_words};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::interrupt::TerminationSignals;
use crate::cmd::output::print_unwrapped;
use crate::cmd::parse_options;
use crate::cmd::trace::warn_torn_or_empty;

/// Step through a run in the browser and intervene: lose messages, crash processes, go back
///
/// Prints the URL of the page and serves it until Ctrl-C. On the page you take the steps of the
/// simulator one by one. You can lose, duplicate, delay or deliver messages, crash and recover
/// processes, fire timers, and act as a user. Going back to an earlier step and continuing
/// differently creates a branch. Each history has a command line (`tenure simulate … --steer …`)
/// that replays it exactly.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure lab
  tenure lab ricart-agrawala -n 4 --latency 1..4
  tenure lab --open found.ndjson")]
pub(crate) struct Options {
    #[command(flatten)]
    own: LabOptions,
    /// Start with this algorithm and these options of `tenure simulate`
    #[arg(value_name = "ALGORITHM OPTIONS", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl LabOptions {
    /// Separates the options of the lab from the other words of a command line. Returns the options
    /// and the other words.
    fn extract(words: &[String]) -> Result<(LabOptions, Vec<String>), Failure> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if !LabOptions::is_lab_option(word) {
                others.push(word.clone());
                continue;
            }
            own.push(word.clone());
            own.extend((!word.contains('=')).then(|| rest.next().cloned()).flatten());
        }
        let own = parse_options(own).map_err(|error| Failure::usage(parse_error(&error)))?;
        Ok((own, others))
    }

    /// Combines two sets of options. Options in `self` take precedence.
    fn or(self, other: &LabOptions) -> LabOptions {
        LabOptions {
            port: self.port.or(other.port),
            bind: self.bind.or(other.bind),
            open: self.open.or_else(|| other.open.clone()),
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let lab = Lab::new(RunFactory);
    let (own, words) = LabOptions::extract(&options.words)?;
    let own = own.or(&options.own);
    let opened = match (&own.open, words.as_slice()) {
        (Some(_), [algorithm, ..]) => {
            let message = format!("--open FILE starts with a recorded run: leave out {algorithm}");
            return Err(Failure::usage(message));
        }
        (Some(path), []) => {
            let trace = Trace::read(path).map_err(Failure::usage)?;
            warn_torn_or_empty(trace.torn.as_slice(), &[]);
            Some(RunFactory.spec_from_trace(&trace))
        }
        (None, []) => None,
        (None, words) => Some(run_from_words(words, WordsFrom::Terminal)),
    };
    let opened =
        opened.map(|made| made.and_then(|run| lab.open_session(run, &Deadline::default())));
    let session = opened.transpose().map_err(Failure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::environment)?;
    let served = runtime.block_on(serve(&own, lab, session));
    // Does not wait for a computation that is in progress. The computation may take long, and
    // changes only sessions of this process.
    runtime.shutdown_background();
    served
}

async fn serve(own: &LabOptions, lab: Lab, session: Option<u64>) -> Result<Status, Failure> {
    let bind = own.bind.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let server = Server::bind(bind, own.port.unwrap_or(0)).await.map_err(Failure::environment)?;
    let mut stop = TerminationSignals::new()?;
    let place = session.map_or(String::new(), |session| format!("#session={session}"));
    print_unwrapped(&format!("{}{place}\n", server.url_with_token()))?;
    let stopped = async move { stop.next().await };
    lab.serve(server, stopped).await;
    Ok(Status::Success)
}
