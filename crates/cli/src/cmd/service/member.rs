//! `tenure member`: lists and changes the members of a lock service.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use tenure_client::{ClientError, Code, Member};
use tenure_server::Url;
use tenure_trace::escape_invisible;

use super::endpoint::{BlockingClient, QueryOptions, request_failure};
use super::member_states::query_members;
use crate::cmd::failure::{Failure, Status};

/// List, add, promote and remove the members of a lock service
///
/// `--initial-cluster` of `tenure serve` names all possible members. These commands show and change
/// which of them are members now. A change needs a majority.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure member list --endpoints http://127.0.0.1:2379
  tenure member remove c
  tenure member add http://127.0.0.1:2383")]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    List(List),
    Add(Add),
    /// Make a learner a voting member
    ///
    /// Fails if the learner does not have the log yet. Requires a majority of the voting members
    /// before and after the change.
    Promote(MemberOptions),
    /// Remove a member from the cluster
    ///
    /// Requires a majority of the voting members before and after the change, and is refused
    /// otherwise. The removed member exits with status 5 as soon as it learns of the removal. It
    /// can be added again with an empty data directory.
    Remove(MemberOptions),
}

/// Show the state of each member: leader, term, applied index
///
/// Queries all members in parallel, at the client URLs that they advertise. A member that does not
/// respond within 1.5 s is reported as unreachable, with the reason, and the time since which no
/// other member has a connection with it. Without a quorum the list is that of the queried member.
/// With --format json the peer URLs are printed too.
///
/// Exit status: 0 if there is a quorum, 4 if there is none or no endpoint responds.
#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    common: QueryOptions,
}

/// Add a member that was removed and restarted with an empty data directory
///
/// The member must run with --initial-cluster-state existing. It receives the log first, and votes
/// as soon as it has the log. With --learner it votes only after it is promoted. A member that does
/// not run is not added.
#[derive(Debug, Args)]
struct Add {
    /// Peer URL of the member, as in --initial-cluster
    #[arg(value_name = "URL", value_parser = peer_url)]
    peer_url: Url,
    /// Add a learner: it receives the log and does not vote
    #[arg(long)]
    learner: bool,
    #[command(flatten)]
    common: QueryOptions,
}

#[derive(Debug, Args)]
struct MemberOptions {
    /// Name of the member, or its ID as shown by `tenure member list`
    #[arg(value_name = "MEMBER", value_parser = NonEmptyStringValueParser::new())]
    member: String,
    #[command(flatten)]
    common: QueryOptions,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let (Task::List(List { common })
    | Task::Add(Add { common, .. })
    | Task::Promote(MemberOptions { common, .. })
    | Task::Remove(MemberOptions { common, .. })) = &options.task;
    let service = common.endpoints.blocking_client()?;
    let changed = match &options.task {
        Task::List(_) => None,
        Task::Add(Add { peer_url, learner, .. }) => {
            let added = service.block_on(service.admin.add_member(&peer_url.to_string(), *learner));
            Some(added.map_err(|error| add_failure(peer_url, error))?)
        }
        Task::Promote(selected) => {
            let id = selected.id(&service)?;
            Some(service.block_on(service.admin.promote_member(id)).map_err(change_failure)?)
        }
        Task::Remove(selected) => {
            let id = selected.id(&service)?;
            Some(service.block_on(service.admin.remove_member(id)).map_err(change_failure)?)
        }
    };
    let report = service.call(query_members(&service.admin, service.endpoints(), changed))?;
    common.format.print(&report, || report.text())?;
    Ok(if report.quorum { Status::Success } else { Status::Environment })
}

fn peer_url(text: &str) -> Result<Url, String> {
    text.parse().map_err(|_| "expected http://HOST:PORT or https://HOST:PORT".to_owned())
}

/// Converts an error that occurred while a member was added. If the reason is that the member did
/// not receive the log in time, the message explains how to start the member.
fn add_failure(peer_url: &Url, error: ClientError) -> Failure {
    if let ClientError::Rejected { message, .. } = &error
        && message.contains("in sync with leader")
    {
        return Failure::usage(format!(
            "the member {peer_url} did not receive the log in time and was not added: if it does \
             not run, start it with an empty data directory and --initial-cluster-state existing, \
             then add it"
        ));
    }
    change_failure(error)
}

/// Converts an error that occurred while the list of members was changed. If no response arrived,
/// the message says that the outcome is unknown.
fn change_failure(error: ClientError) -> Failure {
    match &error {
        ClientError::Rejected { message, .. } if message.contains("change is in progress") => {
            Failure::environment(format!(
                "{error}: try again when that change is complete: see `tenure member list`"
            ))
        }
        ClientError::Rejected { code: Code::Unavailable, .. } => Failure::environment(format!(
            "{error}: expected responses from a majority of the members after the change; start \
             the members that are down, or remove those first"
        )),
        ClientError::Unavailable { .. } => Failure::environment(format!(
            "{error}; the outcome is unknown, and the change may still complete: see `tenure \
             member list`"
        )),
        _ => request_failure(error),
    }
}

impl MemberOptions {
    /// Returns the ID of the member with this name or this hexadecimal ID.
    fn id(&self, service: &BlockingClient) -> Result<u64, Failure> {
        let members = service.call(service.admin.members(true))?;
        let matches =
            |it: &&Member| it.name == self.member || format!("{:x}", it.id) == self.member;
        let found: Vec<&Member> = members.iter().filter(matches).collect();
        let member = &self.member;
        match found[..] {
            [only] => Ok(only.id),
            [] => {
                let names: Vec<_> = members.iter().map(|it| escape_invisible(&it.name)).collect();
                let names = names.join(", ");
                Err(Failure::usage(format!("unknown member '{member}': expected {names}")))
            }
            // etcd accepts several members with the same name.
            _ => {
                let ids: Vec<_> = found.iter().map(|it| format!("{:x}", it.id)).collect();
                let (count, ids) = (found.len(), ids.join(", "));
                Err(Failure::usage(format!(
                    "{count} members have the name '{member}': expected one of the IDs {ids}"
                )))
            }
        }
    }
}
