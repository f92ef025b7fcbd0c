//! `tenure member`.

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use tenure_trace::plain;

use super::endpoint::{Endpoints, unsigned};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, print, print_json};

/// The members of a lock service: list, add, promote and remove them
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    List(List),
    Add(Add),
    /// Have a learner count
    ///
    /// It has to have the log by then, or it is refused. A majority of those before and of those
    /// after has to be there.
    Promote(Chosen),
    /// Remove a member from the cluster
    ///
    /// A majority of the members before and of those after has to be there. The removed member ends
    /// by itself, with status 5, as soon as it learns of it. It may be added again with an empty
    /// data directory.
    Remove(Chosen),
}

/// Say who the members are, who leads, and where they are reached
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    asked: Asked,
}

/// Take in a member that was removed, and runs again with an empty folder
///
/// It has to run with --initial-cluster-state existing. It is sent the log first, and counts as
/// soon as it has it; with --learner it does not count before it is promoted.
#[derive(Debug, Args)]
struct Add {
    /// The URL for its peers, as --initial-cluster has it
    #[arg(value_name = "URL")]
    peer_url: String,
    /// It has the log, and does not count
    #[arg(long)]
    learner: bool,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, Args)]
struct Chosen {
    /// Its name, or its number as `tenure member list` has it
    #[arg(value_name = "MEMBER")]
    member: String,
    #[command(flatten)]
    asked: Asked,
}

#[derive(Debug, Args)]
struct Asked {
    #[command(flatten)]
    endpoints: Endpoints,
    /// How to print the members
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// A member, as the members know it.
#[derive(Debug, Serialize)]
struct Member {
    id: String,
    name: String,
    peer_urls: Vec<String>,
    client_urls: Vec<String>,
    learner: bool,
    leader: bool,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let (asked, answer) = match &options.task {
        Task::List(List { asked }) => (asked, listed(&asked.endpoints)?),
        Task::Add(Add { peer_url, learner, asked }) => {
            let what = json!({ "peerURLs": [peer_url], "isLearner": learner });
            (asked, asked.endpoints.ask("/v3/cluster/member/add", &what)?)
        }
        Task::Promote(chosen) => (&chosen.asked, chosen.ask("promote")?),
        Task::Remove(chosen) => (&chosen.asked, chosen.ask("remove")?),
    };
    let status = asked.endpoints.ask("/v3/maintenance/status", &json!({}))?;
    let leader = unsigned(&status["leader"]);
    let members: Vec<Member> = all(&answer).iter().map(|it| member(it, leader)).collect();
    match asked.format {
        Format::Json => print_json(&json!({ "members": members }))?,
        Format::Text => print(&table(&members))?,
    }
    Ok(Status::Held)
}

impl Chosen {
    fn ask(&self, what: &str) -> Result<Value, Failure> {
        let listed = listed(&self.asked.endpoints)?;
        let is_it = |it: &&Value| {
            it["name"] == *self.member || format!("{:x}", unsigned(&it["ID"])) == self.member
        };
        let found = all(&listed).iter().find(is_it).ok_or_else(|| {
            let names: Vec<&str> =
                all(&listed).iter().filter_map(|it| it["name"].as_str()).collect();
            let names = names.join(", ");
            Failure::usage(format!("there is no member `{}`; there are {names}", self.member))
        })?;
        let path = format!("/v3/cluster/member/{what}");
        self.asked.endpoints.ask(&path, &json!({ "ID": found["ID"] }))
    }
}

fn listed(endpoints: &Endpoints) -> Result<Value, Failure> {
    endpoints.ask("/v3/cluster/member/list", &json!({ "linearizable": true }))
}

fn all(answer: &Value) -> &[Value] {
    answer["members"].as_array().map_or(&[], Vec::as_slice)
}

fn member(told: &Value, leader: u64) -> Member {
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.map(|text| plain(text).into_owned()).collect()
    };
    let id = unsigned(&told["ID"]);
    Member {
        id: format!("{id:x}"),
        name: plain(told["name"].as_str().unwrap_or_default()).into_owned(),
        peer_urls: texts(&told["peerURLs"]),
        client_urls: texts(&told["clientURLs"]),
        learner: told["isLearner"] == true,
        leader: id == leader,
    }
}

fn table(members: &[Member]) -> String {
    let mut rows = vec![["id", "name", "", "peers", "clients"].map(str::to_owned)];
    rows.extend(members.iter().map(|it| {
        let role = match it {
            Member { leader: true, .. } => "leads",
            Member { learner: true, .. } => "learns",
            _ => "follows",
        };
        let clients = if it.client_urls.is_empty() { "?".into() } else { it.client_urls.join(",") };
        [it.id.clone(), it.name.clone(), role.into(), it.peer_urls.join(","), clients]
    }));
    columns(&rows)
}

/// Rows with as much room for each column as its longest cell takes.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let longest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| longest(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        // Not by `{cell:width$}`, which has no room for a name of 64 KiB.
        let padded = |cell: &String, width: usize| {
            cell.to_owned() + &" ".repeat(width - cell.chars().count())
        };
        let cells = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
