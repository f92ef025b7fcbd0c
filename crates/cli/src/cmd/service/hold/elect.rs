//! `tenure elect`: runs a command while leading.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use tenure_client::ElectionState;
use tenure_trace::plain_json;

use super::service::{Service, Task, exit_with, run_held};
use super::supervise::Held;
use crate::cmd::duration;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::machine;
use crate::cmd::output::print_file;

const EXAMPLES: &str = "\
Examples:
  tenure elect scheduler -- ./schedule.sh
  tenure elect --value host-7 scheduler -- ./schedule.sh
  tenure elect --observe scheduler

Exit status: that of the command, 128 + n if signal n ended it; 120 if the election was not won
and the command was not started; 121 if leadership was lost or the guardian process was killed,
and the command was ended.

The command may outlive its leadership in the cases that `tenure lock --help` lists: processes
outside its process tree, processes of a user that this one may not kill, processes that the
kernel cannot end yet, and processes left after both this process and its guardian were killed
or suspended together.";

/// Run a command while leading, or watch the leader of an election
///
/// Campaigns in an election at `tenure serve` or any etcd and runs the command while it leads. It
/// resigns when the command and all its descendants have ended. The process tree of the command is
/// supervised as by `tenure lock`, with the same variables and a guardian. With --observe no
/// command is run: the leader is printed now and whenever it changes, as a line of JSON.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    service: Service,
    /// Give up after waiting this long to be elected [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// Value that observers of the election see [default: the process ID]
    #[arg(long, value_name = "TEXT")]
    value: Option<String>,
    /// Print the leader, a line of JSON per change, until interrupted
    #[arg(long, conflicts_with_all = ["command", "timeout", "value", "grace", "ttl"])]
    observe: bool,
    /// Name of the election
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// Command to run, with its arguments
    #[arg(last = true, required_unless_present = "observe", value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let task = Task {
        name: &options.name,
        command: &options.command,
        grace: options.service.grace()?,
        within: options.timeout,
    };
    let runtime = machine::current_thread_runtime()?;
    if options.observe {
        return runtime.block_on(observe(options)).map(|()| Status::Success);
    }
    let value = options.value.clone().unwrap_or_else(|| std::process::id().to_string());
    let acquire = async |session: tenure_client::Session| {
        let campaign = session.campaign(&options.name, value);
        let leading = match options.timeout {
            None => Some(campaign.await?),
            Some(timeout) => tokio::time::timeout(timeout, campaign).await.ok().transpose()?,
        };
        Ok(leading.map(Held::Office))
    };
    exit_with(runtime.block_on(run_held(&options.service, task, acquire)))
}

/// A line of output with the leader. Scripts depend on the JSON keys.
#[derive(Debug, Serialize)]
struct LeaderLine {
    election: String,
    /// Value that the leader proclaims; `None` if there is no leader.
    leader: Option<String>,
    fence: Option<u64>,
    key: Option<String>,
}

async fn observe(options: &Options) -> Result<(), Failure> {
    let client = options.service.client().await?;
    let mut observer = client.observe(&options.name);
    let print = async {
        loop {
            let office = observer.next().await.map_err(Failure::environment)?;
            let text = |bytes: Vec<u8>| Some(String::from_utf8_lossy(&bytes).into_owned());
            let election = options.name.clone();
            let line = match office {
                ElectionState::NoLeader => {
                    LeaderLine { election, leader: None, fence: None, key: None }
                }
                ElectionState::Leader { key, value, fence } => {
                    LeaderLine { election, leader: text(value), fence: Some(fence), key: text(key) }
                }
            };
            let line = serde_json::to_string(&line).map_err(Failure::environment)?;
            print_file(&format!("{}\n", plain_json(&line)))?;
        }
    };
    tokio::select! {
        ended = print => ended,
        () = crate::cmd::node::interrupted() => Ok(()),
    }
}
