//! `tenure choose`: recommends a lock for the user's system.

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Card;

use super::failure::{Failure, Status};
use super::node;
use super::output::{print_unwrapped, wrap_lines};

/// Recommend a lock by three questions and print the configuration of a node with it
///
/// Each question that no option answers is printed, and its answer is read from a line of standard
/// input. An empty line, or the end of the input, selects the default, which is shown first. The
/// configuration is that of the first node; the others differ in `me`, directory and
/// `page.listen`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure choose
  tenure choose --crashes yes --partitions yes -n 3 --output node-1.toml")]
pub(crate) struct Options {
    /// Must the other nodes continue when a node crashes?
    #[arg(long, value_name = "ANSWER")]
    crashes: Option<Answer>,
    /// May the network be partitioned?
    #[arg(long, value_name = "ANSWER")]
    partitions: Option<Answer>,
    /// Number of nodes
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_nodes)]
    nodes: Option<u32>,
    /// Write the configuration to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Answer {
    Yes,
    No,
}

/// Upper bound on the number of nodes. A lock gains nothing from more nodes, and the example
/// configuration has too few ports for them.
const MAX_NODES: u32 = 80;

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let mut lines = io::stdin().lock();
    let crashes = match options.crashes {
        Some(answer) => answer,
        None => prompt(
            &mut lines,
            "Must the other nodes continue when a node crashes? [yes/no]",
            yes_or_no,
        )?,
    };
    let partitions = match options.partitions {
        Some(answer) => answer,
        // The recommendation depends on partitions only if the other nodes must survive a crash.
        None if crashes == Answer::No => Answer::No,
        None => {
            prompt(&mut lines, "May the network between them be partitioned? [yes/no]", yes_or_no)?
        }
    };
    let size = match options.nodes {
        Some(size) => size,
        None => prompt(&mut lines, "How many nodes are there? [3]", |text| {
            if text.is_empty() { Ok(3) } else { parse_nodes(text) }
        })?,
    };
    let (lock, reason) = recommend(crashes, partitions);
    let card =
        tenure_instances::card(lock, &Parameters::with_defaults(size)).map_err(Failure::usage)?;
    eprint!("{}", wrap_lines(&recommendation(&card, reason)));
    let text = configuration(lock, size);
    match &options.output {
        None => print_unwrapped(&text)?,
        Some(path) => {
            let cannot_write = |error| Failure::environment(format!("{}: {error}", path.display()));
            let mut file = std::fs::File::create_new(path).map_err(cannot_write)?;
            let written = file.write_all(text.as_bytes());
            // An incomplete file would prevent the next attempt.
            let written = written.inspect_err(|_| drop(std::fs::remove_file(path)));
            written.map_err(cannot_write)?;
            let next_steps = format!(
                "written: {0}; start it with: tenure node --config {0}\n\
                 the other nodes use the same file with their own me, directory and page.listen\n\
                 see the leader with: tenure status {0}\n",
                path.display()
            );
            eprint!("{}", wrap_lines(&next_steps));
        }
    }
    Ok(Status::Success)
}

fn recommend(crashes: Answer, partitions: Answer) -> (&'static str, &'static str) {
    match (crashes, partitions) {
        (Answer::No, _) => (
            "central",
            "One coordinator grants the lock, with three messages per entry. While it is down or \
             partitioned away, no process enters; two never hold the lock.",
        ),
        (Answer::Yes, Answer::No) => (
            "coordinated:bully",
            "The leader grants the lock, and the remaining nodes elect a new leader: the lock \
             works with a single node left. If the network is partitioned after all, each part \
             has a leader, and only fencing tokens protect the resource.",
        ),
        (Answer::Yes, Answer::Yes) => (
            "coordinated:raft",
            "A leader elected by a majority grants the lock. In a partition the majority \
             continues. A leader that is cut off stops granting before the next one is elected, \
             and a holder that is cut off loses the lock before the next client acquires it. A \
             suspended process cannot notice the loss: let the resource compare fencing tokens.",
        ),
    }
}

fn recommendation(card: &Card, reason: &str) -> String {
    let promises: Vec<_> =
        card.promises_under_drift(Some(0)).map(|promise| promise.name()).collect();
    let (name, title) = (&card.name, &card.title);
    format!("{name}: {title}\n{reason}\nIt promises {}.", promises.join(", "))
}

const PAGE: &str = "# listen = \"127.0.0.1:7180\"";

fn configuration(lock: &str, size: u32) -> String {
    let election = lock.split_once(':').map_or("raft", |(_, election)| election);
    let addresses: Vec<String> =
        (1..=size).map(|me| format!("\"127.0.0.1:{}\"", 7100 + me)).collect();
    let pages: Vec<String> = (1..=size).map(|me| format!("\"127.0.0.1:{}\"", 7180 + me)).collect();
    let line = |line: &str| match line.split_once(" = ").map_or(line, |(key, _)| key) {
        "mutex" => format!("mutex = \"{lock}\"\n"),
        "election" => format!("election = \"{election}\"\n"),
        "addresses" => format!("addresses = [{}]\n", addresses.join(", ")),
        // Enables the status page, because `tenure status` sends its requests to the pages of the
        // nodes.
        "# [page]" => "[page]\n".to_owned(),
        _ if line == PAGE => format!("listen = {}\naddresses = [{}]\n", pages[0], pages.join(", ")),
        _ => format!("{line}\n"),
    };
    let text: String = node::EXAMPLE_CONFIG.lines().map(line).collect();
    text.replacen(
        "a cluster of three. The other two have",
        &format!("a cluster of {size}. The others have"),
        1,
    )
}

/// Asks the user a question, and repeats it until `read` accepts the answer. An empty line and the
/// end of the input are empty answers, which select the default. Returns a usage failure if `read`
/// rejects the empty answer at the end of the input.
fn prompt<T>(
    lines: &mut impl BufRead,
    question: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    loop {
        eprint!("{question} ");
        let mut line = String::new();
        let ended = lines.read_line(&mut line).map_err(Failure::cannot("read the answer"))? == 0;
        if ended {
            eprintln!();
        }
        match read(line.trim()) {
            Ok(answer) => return Ok(answer),
            Err(message) if ended => return Err(Failure::usage(message)),
            Err(message) => eprintln!("{message}"),
        }
    }
}

fn yes_or_no(text: &str) -> Result<Answer, String> {
    match text.to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Ok(Answer::Yes),
        "n" | "no" => Ok(Answer::No),
        _ => Err(format!("invalid answer '{text}': expected yes or no")),
    }
}

fn parse_nodes(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=MAX_NODES).contains(number));
    number.ok_or_else(|| format!("invalid number of nodes '{text}': expected 1 to {MAX_NODES}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recommendation_is_a_valid_configuration() {
        for (crashes, partitions, lock) in [
            (Answer::No, Answer::No, "central"),
            (Answer::Yes, Answer::No, "coordinated:bully"),
            (Answer::Yes, Answer::Yes, "coordinated:raft"),
        ] {
            assert_eq!(recommend(crashes, partitions).0, lock);
            for size in [1, 3, 5] {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("node.toml");
                std::fs::write(&path, configuration(lock, size)).expect("a file");
                let config = tenure_daemon::Config::read(&path).expect("a valid configuration");
                assert_eq!((config.node_count(), &*config.service.mutex), (size, lock));
                let page = config.page.expect("a status page");
                assert_eq!(page.addresses.len(), size as usize);
                assert!(page.addresses.contains(&page.listen.to_string()));
            }
        }
    }

    #[test]
    fn repeats_invalid_answers_and_defaults_to_yes() {
        let mut lines = "perhaps\n\nNO\n".as_bytes();
        let mut answer = || prompt(&mut lines, "?", yes_or_no).expect("an answer");
        assert_eq!([answer(), answer(), answer()], [Answer::Yes, Answer::No, Answer::Yes]);
        assert!(prompt(&mut "zero".as_bytes(), "?", parse_nodes).is_err());
    }
}
