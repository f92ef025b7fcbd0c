//! `tenure elect`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use tenure_client::Office;
use tenure_trace::plain_json;

use super::service::{Service, Task, end, run_held};
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

Exit status: that of the command, 128 + n if signal n ended it; 120 if this was not elected
and the command not started; 121 if it led no longer, or the guardian process was killed,
and the command ended.

The command may outlive its leadership in the cases that `tenure lock --help` names: processes
outside its tree, of a user that this one may not kill, that the kernel cannot end yet, or
after both this process and its guardian were killed or stopped together.";

/// Run a command while leading, or see who leads
///
/// Stands for an election at `tenure serve` or any etcd, runs the command while it leads, and then
/// resigns when the command and all its descendants have ended. The command and its process tree
/// are treated as by `tenure lock`, with the same variables and the same guardian. With --observe
/// nothing is run: who leads is printed, now and whenever that changes, as a line of JSON.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    service: Service,
    /// How long to wait for the office [default: as long as it takes]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    timeout: Option<Duration>,
    /// What those who observe see of it [default: the number of this process]
    #[arg(long, value_name = "TEXT")]
    value: Option<String>,
    /// Print who leads, a line of JSON a change, until interrupted
    #[arg(long, conflicts_with_all = ["command", "timeout", "value", "grace", "ttl"])]
    observe: bool,
    /// The election
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The command, and what it is given
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
    let runtime = machine::one_thread()?;
    if options.observe {
        return runtime.block_on(observe(options)).map(|()| Status::Held);
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
    end(runtime.block_on(run_held(&options.service, task, acquire)))
}

/// Who leads. Scripts depend on the names.
#[derive(Debug, Serialize)]
struct Line {
    election: String,
    /// What the leader has said; nothing if nobody leads.
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
                Office::Vacant => Line { election, leader: None, fence: None, key: None },
                Office::Led { key, value, fence } => {
                    Line { election, leader: text(value), fence: Some(fence), key: text(key) }
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
