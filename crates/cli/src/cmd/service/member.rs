//! `tenure member`.

use clap::{Args, Subcommand};
use tenure_client::Member;
use tenure_trace::plain;

use super::endpoint::{Endpoints, Service};
use super::member_states::{Report, survey};
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

/// Ask each member for its state: who leads, in which term, how far each has come
///
/// Every member is asked directly, at the client URLs that it advertises, all at the same time; one
/// that does not respond within 1.5 s is reported as unreachable, with the reason. Without a quorum
/// the members are those that the asked member knows. With --format json the peer URLs are printed
/// too.
///
/// Exit status: 0 if there is a quorum, 4 if there is none or no endpoint answers.
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

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let (Task::List(List { asked })
    | Task::Add(Add { asked, .. })
    | Task::Promote(Chosen { asked, .. })
    | Task::Remove(Chosen { asked, .. })) = &options.task;
    let service = asked.endpoints.service()?;
    let changed = match &options.task {
        Task::List(_) => None,
        Task::Add(Add { peer_url, learner, .. }) => {
            Some(service.call(service.admin.add_member(peer_url, *learner))?)
        }
        Task::Promote(chosen) => {
            let id = chosen.id(&service)?;
            Some(service.call(service.admin.promote_member(id))?)
        }
        Task::Remove(chosen) => {
            let id = chosen.id(&service)?;
            Some(service.call(service.admin.remove_member(id))?)
        }
    };
    let report = service.call(survey(&service.admin, asked.endpoints.urls(), changed))?;
    asked.print(&report)
}

impl Asked {
    fn print(&self, report: &Report) -> Result<Status, Failure> {
        match self.format {
            Format::Json => print_json(report)?,
            Format::Text => print(&report.text())?,
        }
        Ok(if report.quorum { Status::Held } else { Status::Environment })
    }
}

impl Chosen {
    /// Returns the identifier of the member that was named.
    fn id(&self, service: &Service) -> Result<u64, Failure> {
        let members = service.call(service.admin.members(true))?;
        let is_it = |it: &&Member| it.name == self.member || format!("{:x}", it.id) == self.member;
        let found = members.iter().find(is_it).ok_or_else(|| {
            let names: Vec<_> = members.iter().map(|it| plain(&it.name)).collect();
            let (member, names) = (&self.member, names.join(", "));
            Failure::usage(format!("there is no member `{member}`; there are {names}"))
        })?;
        Ok(found.id)
    }
}
