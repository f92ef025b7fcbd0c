//! `tenure status`: who leads right now, and since when.

mod ask;
mod table;

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use tenure_daemon::Config;
use tenure_daemon::status::{Leading, NodeStatus};

use super::failure::{Failure, Status};
use super::output::{Format, print, print_json};

/// Who leads right now and since when, as each node sees it
///
/// Asks the pages of nodes that run. A configuration file leads to the page of its own node, and to
/// those of all nodes if it names them as page.addresses. A page beyond its machine wants the
/// token that is part of the address which its node reported.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure status node-1.toml
  tenure status node-1.toml node-2.toml node-3.toml --format json
  tenure status http://127.0.0.1:7180/")]
pub(crate) struct Options {
    /// Configuration files of nodes, or addresses of their pages
    #[arg(required = true, value_name = "CONFIG|URL")]
    targets: Vec<String>,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// A page to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    /// The number of the node's process, where it is known beforehand.
    node: Option<u32>,
    /// `host:port`; nothing where nobody said where it is.
    page: Option<String>,
    /// The token that is to be said, as `?token=…`.
    query: String,
}

/// What came of asking a node.
#[derive(Debug, Serialize)]
struct Answer {
    node: Option<u32>,
    page: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<NodeStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What came of asking all.
#[derive(Debug, Serialize)]
struct Answers {
    /// Who leads, if all that answered know it and agree.
    leader: Option<Leading>,
    nodes: Vec<Answer>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let mut targets: Vec<Target> = Vec::new();
    for said in &options.targets {
        for target in named(said)? {
            if !targets.iter().any(|known| known.is(&target)) {
                targets.push(target);
            }
        }
    }
    let nodes = without_guesses(ask::all(&targets));
    let answers = Answers { leader: leader(&nodes), nodes };
    match options.format {
        Format::Json => print_json(&answers)?,
        Format::Text => print(&table::table(&answers))?,
    }
    let silent = answers.nodes.iter().any(|answer| answer.page.is_some() && answer.error.is_some());
    Ok(if silent { Status::Environment } else { Status::Held })
}

impl Target {
    /// Whether the other is no other.
    fn is(&self, other: &Target) -> bool {
        let same = self.node.is_some() && self.node == other.node;
        if other.page.is_none() { same } else { self.page == other.page }
    }
}

/// Without those whose page one argument does not know, and another does.
fn without_guesses(mut answers: Vec<Answer>) -> Vec<Answer> {
    let asked = answers.iter().filter(|answer| answer.page.is_some());
    let asked: BTreeSet<Option<u32>> = asked.map(|answer| answer.node).collect();
    answers.retain(|answer| answer.page.is_some() || !asked.contains(&answer.node));
    answers
}

/// Whom an argument means.
fn named(said: &str) -> Result<Vec<Target>, Failure> {
    match said.strip_prefix("http://") {
        Some(rest) => Ok(vec![address(rest)]),
        None => configured(Path::new(said)),
    }
}

fn address(rest: &str) -> Target {
    let (page, path) = rest.split_once('/').unwrap_or((rest, ""));
    let query = path.find('?').map_or(String::new(), |place| path[place..].to_owned());
    Target { node: None, page: Some(page.to_owned()), query }
}

/// Everybody of whom a configuration tells.
fn configured(path: &Path) -> Result<Vec<Target>, Failure> {
    let config = Config::read(path).map_err(Failure::usage)?;
    let refuse = |says: &str| Failure::usage(format!("{}: {says}", path.display()));
    let page = config.page.as_ref().ok_or_else(|| {
        refuse("its node has no page to ask; add [page] with listen = \"127.0.0.1:7180\"")
    })?;
    let own = match &page.addresses[..] {
        [] if page.listen.port() == 0 => {
            let says =
                "page.listen has port 0, which is any; name the address that the node reported";
            return Err(refuse(says));
        }
        [] => page.listen.to_string(),
        all => all[config.me().index()].clone(),
    };
    let target = |number: u32| {
        let named = page.addresses.get(number as usize - 1).cloned();
        let page = if number == config.cluster.me { Some(own.clone()) } else { named };
        Target { node: Some(number), page, query: String::new() }
    };
    Ok((1..=config.size()).map(target).collect())
}

/// Whom all follow who answered; as the leader itself tells it, if it did.
fn leader(answers: &[Answer]) -> Option<Leading> {
    let all = || answers.iter().filter_map(|answer| answer.status.as_ref());
    let first = all().next()?.leader.clone()?;
    let agrees = |seen: &Leading| (seen.process, seen.term) == (first.process, first.term);
    if !all().all(|status| status.leader.as_ref().is_some_and(agrees)) {
        return None;
    }
    let itself = all().find(|status| status.process == first.process);
    itself.and_then(|status| status.leader.clone()).or(Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_an_argument_names_is_there_once() {
        let answer = |node: u32, page: Option<&str>| {
            let page = page.map(str::to_owned);
            Answer { node: Some(node), page, status: None, error: None }
        };
        // Two files of a group of three, neither of which knows where the others are.
        let all =
            vec![answer(1, Some("a")), answer(2, None), answer(3, None), answer(2, Some("b"))];
        let left = without_guesses(all);
        let left: Vec<_> = left.iter().map(|it| (it.node, it.page.as_deref())).collect();
        assert_eq!(left, [(Some(1), Some("a")), (Some(3), None), (Some(2), Some("b"))]);
    }

    #[test]
    fn an_address_may_have_a_token() {
        let target = address("192.0.2.7:7180/?token=0123");
        assert_eq!(target.page.as_deref(), Some("192.0.2.7:7180"));
        assert_eq!(target.query, "?token=0123");
        assert_eq!(address("localhost:7180").query, "");
    }
}
