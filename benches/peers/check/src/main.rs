//! Compares Tenure's checker, stateright, Spin and TraceForge on the same protocols, in one run:
//! `cargo run --release` in this folder. See its `README.md`.

mod compared_protocol;
mod measure;
mod protocols;
mod race;
mod spin;
mod stateright_model;
mod table;
mod traceforge_program;

use std::time::Duration;

use compared_protocol::{ComparedProtocol, Scope};
use measure::report_explored;
use protocols::chang_roberts::ChangRoberts;
use protocols::maekawa::Maekawa;
use protocols::raft_election::RaftElection;
use protocols::ricart_agrawala::Textbook;
use race::Model;
use traceforge_program::Recorded;

/// Time limit for one tool on one model, unless `--timeout` is given.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

const USAGE: &str = "usage: tenure-peers-check [--quick] [--timeout SECONDS] [--readme FILE]";

struct Options {
    /// True if only small groups are explored, which takes seconds.
    is_quick: bool,
    timeout: Duration,
    /// File whose table is replaced.
    readme: Option<String>,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [tool, model, size, times, mistaken] = words.as_slice()
        && let Some(model) = Model::parse(model)
    {
        let number = |word: &str| word.parse().expect("a number");
        let is_mistaken = mistaken == "true";
        return run(tool, model, Scope { size: number(size), times: number(times), is_mistaken });
    }
    match parse(&words) {
        Some(options) => {
            let cells = race::run(options.is_quick, options.timeout);
            let table = table::markdown(&cells, options.timeout);
            println!("{table}");
            if let Some(path) = options.readme {
                table::write(&path, &table);
            }
        }
        None => {
            eprintln!("{USAGE}");
            std::process::exit(2);
        }
    }
}

fn parse(words: &[String]) -> Option<Options> {
    let mut options = Options { is_quick: false, timeout: DEFAULT_TIMEOUT, readme: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.is_quick = true,
            "--timeout" => {
                options.timeout = Duration::from_secs(words.next()?.parse().ok()?);
            }
            "--readme" => options.readme = Some(words.next()?.clone()),
            _ => return None,
        }
    }
    Some(options)
}

/// Runs one tool in this process and prints its counts for the process that measures it.
fn run(tool: &str, model: Model, scope: Scope) {
    match model {
        Model::RicartAgrawala => run_on::<Textbook>(tool, scope),
        Model::Maekawa => run_on::<Maekawa>(tool, scope),
        Model::ChangRoberts => run_on::<ChangRoberts>(tool, scope),
        Model::RaftElection => run_on::<RaftElection>(tool, scope),
    }
}

fn run_on<P: ComparedProtocol<Event: Recorded>>(tool: &str, scope: Scope) {
    let memory_before = measure::resident_bytes("VmRSS:");
    match tool {
        "stateright" => {
            let (states, transitions, holds) = stateright_model::explore::<P>(scope);
            report_explored(states, transitions, holds, memory_before);
        }
        "traceforge" => {
            let found = traceforge_program::explore::<P>(scope);
            report_explored(found.execs as u64, found.block as u64, true, memory_before);
        }
        _ => {
            let report = P::check(scope, tool == "tenure-progress");
            // The other tools judge safety only. An election of Raft need not make progress.
            let safety = ["mutual-exclusion", "one-leader-at-a-time", "one-leader-per-term"];
            let holds = safety.iter().all(|property| report.counterexample(property).is_none());
            report_explored(report.states, report.transitions, holds, memory_before);
        }
    }
}
