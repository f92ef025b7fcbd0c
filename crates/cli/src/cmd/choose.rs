//! `tenure choose`: which lock for me?

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tenure_algorithms::catalogue::Parameters;
use tenure_core::Card;

use super::failure::{Failure, Status};
use super::node;
use super::output::{narrow, print_file};

/// Three questions, and the configuration of a node with the lock that fits the answers
///
/// What no option answers is asked, and answered by a line of standard input; an empty line, or no
/// line, is the answer that is shown first. The configuration is of the first node; the others have
/// the same with their own `me`, directory and `page.listen`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Whether the others have to go on when a node crashes
    #[arg(long, value_name = "ANSWER")]
    crashes: Option<Answer>,
    /// Whether the network may fall into parts
    #[arg(long, value_name = "ANSWER")]
    partitions: Option<Answer>,
    /// How many nodes there are
    #[arg(short = 'n', long, value_name = "N", value_parser = nodes)]
    nodes: Option<u32>,
    /// Where to write the configuration [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Answer {
    Yes,
    No,
}

/// More have no use for a lock, and ports run out.
const MOST_NODES: u32 = 100;

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let mut lines = io::stdin().lock();
    let crashes = match options.crashes {
        Some(answer) => answer,
        None => ask(&mut lines, "Must the others go on when a node crashes? [yes/no]", yes_or_no)?,
    };
    let partitions = match options.partitions {
        Some(answer) => answer,
        // Without crashes there is no detector that could take a cut for one.
        None if crashes == Answer::No => Answer::No,
        None => {
            ask(&mut lines, "May the network between them fall into parts? [yes/no]", yes_or_no)?
        }
    };
    let size = match options.nodes {
        Some(size) => size,
        None => ask(&mut lines, "How many nodes are there? [3]", |text| {
            if text.is_empty() { Ok(3) } else { nodes(text) }
        })?,
    };
    let (lock, why) = choice(crashes, partitions);
    let card = tenure_instances::card(lock, &Parameters::plain(size)).map_err(Failure::usage)?;
    eprint!("{}", narrow(&told(&card, why)));
    let text = configuration(lock, size);
    match &options.output {
        None => print_file(&text)?,
        Some(path) => {
            let refuse = |error| Failure::environment(format!("{}: {error}", path.display()));
            let mut file = std::fs::File::create_new(path).map_err(refuse)?;
            file.write_all(text.as_bytes()).map_err(refuse)?;
            let says = format!(
                "written: {0}; start it with: tenure node --config {0}\n\
                 the other nodes have the same with their own me, directory and page.listen\n\
                 who leads: tenure status {0}\n",
                path.display()
            );
            eprint!("{}", narrow(&says));
        }
    }
    Ok(Status::Held)
}

/// The lock, and what decides for it.
fn choice(crashes: Answer, partitions: Answer) -> (&'static str, &'static str) {
    match (crashes, partitions) {
        (Answer::No, _) => (
            "central",
            "One process decides, and three messages are an entry. When that one crashes or is cut \
             off, nobody enters; two never do.",
        ),
        (Answer::Yes, Answer::No) => (
            "coordinated:bully",
            "A leader decides, and whoever is left elects the next one: it goes on with a single \
             node. Were the network to fall into parts after all, each would have a leader, and \
             only fences would keep the resource right.",
        ),
        (Answer::Yes, Answer::Yes) => (
            "coordinated:raft",
            "A leader decides whom a majority has elected. In a partition the majority goes on; a \
             leader that is cut off stops granting before the next one is elected, and whoever is \
             inside and cut off is put out before the next one is in. Who is stopped is not: let \
             the resource compare fences.",
        ),
    }
}

fn told(card: &Card, why: &str) -> String {
    let promises: Vec<_> = card.promised(Some(0)).map(|promise| promise.name()).collect();
    let (name, title) = (&card.name, &card.title);
    format!("{name}: {title}\n{why}\nIt promises {}.", promises.join(", "))
}

/// The line of the example that says where the page is.
const PAGE: &str = "# listen = \"127.0.0.1:7180\"";

/// The example, with another lock and other addresses, and with a page.
fn configuration(lock: &str, size: u32) -> String {
    let election = lock.split_once(':').map_or("raft", |(_, election)| election);
    let addresses: Vec<String> =
        (1..=size).map(|me| format!("\"127.0.0.1:{}\"", 7100 + me)).collect();
    let pages: Vec<String> = (1..=size).map(|me| format!("\"127.0.0.1:{}\"", 7180 + me)).collect();
    let line = |line: &str| match line.split_once(" = ").map_or(line, |(key, _)| key) {
        "mutex" => format!("mutex = \"{lock}\"\n"),
        "election" => format!("election = \"{election}\"\n"),
        "addresses" => format!("addresses = [{}]\n", addresses.join(", ")),
        // Whoever asks `tenure status` who leads asks the pages.
        "# [page]" => "[page]\n".to_owned(),
        _ if line == PAGE => format!("listen = {}\naddresses = [{}]\n", pages[0], pages.join(", ")),
        _ => format!("{line}\n"),
    };
    let text: String = node::EXAMPLE.lines().map(line).collect();
    text.replacen(
        "a cluster of three. The other two have",
        &format!("a cluster of {size}. The others have"),
        1,
    )
}

/// Asks until the answer makes sense; the end of the input is an empty answer.
fn ask<T>(
    lines: &mut impl BufRead,
    question: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failure> {
    loop {
        eprint!("{question} ");
        let mut line = String::new();
        let cannot = |error| Failure::environment(format!("cannot read the answer: {error}"));
        let ended = lines.read_line(&mut line).map_err(cannot)? == 0;
        if ended {
            eprintln!();
        }
        match read(line.trim()) {
            Ok(answer) => return Ok(answer),
            Err(says) if ended => return Err(Failure::usage(says)),
            Err(says) => eprintln!("{says}"),
        }
    }
}

fn yes_or_no(text: &str) -> Result<Answer, String> {
    match text.to_ascii_lowercase().as_str() {
        "" | "y" | "yes" => Ok(Answer::Yes),
        "n" | "no" => Ok(Answer::No),
        _ => Err(format!("`{text}` is no answer; write yes or no")),
    }
}

fn nodes(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_NODES).contains(number));
    number
        .ok_or_else(|| format!("`{text}` is no number of nodes; write one from 1 to {MOST_NODES}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_a_configuration_that_a_node_understands() {
        for (crashes, partitions, lock) in [
            (Answer::No, Answer::No, "central"),
            (Answer::Yes, Answer::No, "coordinated:bully"),
            (Answer::Yes, Answer::Yes, "coordinated:raft"),
        ] {
            assert_eq!(choice(crashes, partitions).0, lock);
            for size in [1, 3, 5] {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("node.toml");
                std::fs::write(&path, configuration(lock, size)).expect("a file");
                let config = tenure_daemon::Config::read(&path).expect("it is understood");
                assert_eq!((config.size(), &*config.service.mutex), (size, lock));
                let page = config.page.expect("a page to ask who leads");
                assert_eq!(page.addresses.len(), size as usize);
                assert!(page.addresses.contains(&page.listen.to_string()));
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_asked_again_and_an_empty_answer_is_the_first() {
        let mut lines = "perhaps\n\nNO\n".as_bytes();
        let mut asked = || ask(&mut lines, "?", yes_or_no).expect("an answer");
        assert_eq!([asked(), asked(), asked()], [Answer::Yes, Answer::No, Answer::Yes]);
        assert!(ask(&mut "zero".as_bytes(), "?", nodes).is_err());
    }
}
