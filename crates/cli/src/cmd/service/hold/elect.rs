//! `tenure elect`: runs a command while this client leads an election.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use tenure_client::{
    CampaignOptions, Client, ClientError, ElectionObserver, ElectionState, Leadership, Session,
};
use tenure_trace::{escape_invisible, escape_invisible_in_json};

use super::held::HeldClaims;
use super::print_error;
use super::run::{
    GuardedCommandSpec, SessionOptions, acquire_and_run, acquire_timeout, exit_unless_success,
};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::machine;
use crate::cmd::output::{print, print_to_reader};
use crate::cmd::service::client_description::ClientDescription;
use crate::cmd::service::endpoint::request_failure;

/// Interval at which an observer checks whether the service responds.
const OUTAGE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Time limit of the read that shows whether the candidate of `--transfer-to` leads already.
const LEADER_READ_TIMEOUT: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  tenure elect scheduler -- ./schedule.sh
  tenure elect --value host-7 scheduler -- ./schedule.sh
  tenure elect --on-lost ./notify.sh scheduler -- ./schedule.sh
  tenure elect --identity host-7 --priority 1 scheduler -- ./schedule.sh
  tenure elect --transfer-to host-7 scheduler
  tenure elect --observe scheduler

Exit status: that of the command, 128 + n if signal n ended it; 120 if the election was not won
and the command was not started; 121 if leadership was lost or transferred, or the guardian
process was killed, and the command was ended. The status of --on-lost has no effect on it. With
--observe or --transfer-to: 2 if the service rejects the request or has no such candidate, 4 if no
member responds (with --observe, only at the start; later it waits).

The command may outlive its leadership in the cases that `tenure lock --help` lists: processes
outside its process tree, processes of a user that this one may not kill, processes that the
kernel cannot end yet, and processes left after both this process and its guardian were killed
or suspended together.";

/// Run a command while leading, or watch the leader of an election
///
/// Campaigns in an election at `tenure serve` or any etcd and runs the command while it leads. It
/// resigns when the command and all its descendants have ended. The process tree of the command is
/// supervised as by `tenure lock`, with the same variables and a guardian. With --observe no
/// command is run: the leader is printed now and whenever it changes, as a line of JSON. If no
/// member serves requests, it waits, and states the reason on standard error.
///
/// A candidate with --identity can be preferred: by a --priority that is higher than the leader's,
/// or by --transfer-to. The leader, if it has an --identity too, then ends its command as before a
/// deadline, with status 121, and the preferred candidate leads. With users, such candidates and
/// --transfer-to need the right to read and write the keys below NAME#election/ as well.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    service: SessionOptions,
    /// Give up after waiting this long to be elected [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = acquire_timeout)]
    timeout: Option<Duration>,
    /// Value that observers of the election see [default: --identity, or the user, host, process ID
    /// and program]
    #[arg(long, value_name = "TEXT")]
    value: Option<String>,
    /// Print the leader, a line of JSON per change, until interrupted
    #[arg(long, conflicts_with_all = ["command", "timeout", "value", "grace", "ttl"])]
    #[arg(conflicts_with_all = ["identity", "on_lost"])]
    observe: bool,
    /// Name of this candidate, by which --transfer-to selects it
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    identity: Option<String>,
    /// Priority of this candidate [default: 0]
    #[arg(long, value_name = "N", requires = "identity", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Make the waiting candidate with this --identity the next leader, and exit. If this candidate
    /// leads already, it stays the leader
    #[arg(long, value_name = "IDENTITY", value_parser = NonEmptyStringValueParser::new())]
    #[arg(conflicts_with_all = ["command", "timeout", "value", "grace", "ttl", "observe"])]
    #[arg(conflicts_with_all = ["identity", "on_lost"])]
    transfer_to: Option<String>,
    /// Shell command to run after leadership was lost and the command has ended. It runs without
    /// leadership, and receives TENURE_LOCK, TENURE_FENCE and TENURE_REASON
    #[arg(long, value_name = "COMMAND")]
    on_lost: Option<String>,
    /// Name of the election
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// Command to run, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    #[arg(required_unless_present_any = ["observe", "transfer_to"])]
    command: Vec<OsString>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let grace = options.service.grace()?;
    let runtime = machine::current_thread_runtime()?;
    if options.observe {
        return runtime.block_on(observe(options)).map(|()| Status::Success);
    }
    if let Some(identity) = &options.transfer_to {
        return runtime.block_on(transfer(options, identity)).map(|()| Status::Success);
    }
    let description = ClientDescription::of_command(&options.command, None).to_string();
    let default = || options.identity.clone().unwrap_or(description);
    let value = options.value.clone().unwrap_or_else(default);
    let task = GuardedCommandSpec {
        name: &options.name,
        command: &options.command,
        grace,
        acquire_timeout: options.timeout,
        client: None,
        // With an empty value, a delayed copy of the campaign's own request would look like a
        // request to give up the leadership.
        can_receive_break_requests: !value.is_empty(),
        on_lost: options.on_lost.as_deref(),
    };
    let acquire = async |session: Session| {
        let leading = campaign(&session, options, value).await?;
        Ok(Some(HeldClaims::Leadership { leading, has_identity: options.identity.is_some() }))
    };
    exit_unless_success(runtime.block_on(acquire_and_run(&options.service, task, acquire)))
}

async fn campaign(
    session: &Session,
    options: &Options,
    value: String,
) -> Result<Leadership, ClientError> {
    let Some(identity) = &options.identity else {
        return session.campaign(&options.name, value).await;
    };
    let priority = options.priority.unwrap_or(0);
    let candidate = CampaignOptions::new(identity).priority(priority).value(value);
    session.campaign_with(&options.name, candidate).await
}

async fn transfer(options: &Options, identity: &str) -> Result<(), Failure> {
    let client = options.service.connect_client().await?;
    let requested = client.request_transfer(&options.name, identity).await;
    let candidate = requested.map_err(request_failure)?;
    // The request is in force, even if this read fails.
    let mut observer = client.election_observer(&options.name);
    let state = tokio::time::timeout(LEADER_READ_TIMEOUT, observer.next_state()).await;
    let leads = matches!(
        state, Ok(Ok(ElectionState::Leader { key, .. })) if key == candidate.key
    );
    let (identity, name) = (escape_invisible(&candidate.identity), &options.name);
    print(&match leads {
        true => format!("{identity} leads {name}, and stays the leader\n"),
        false => format!("{identity} is to lead {name} next\n"),
    })
}

/// A line of output that names the leader. Scripts depend on the JSON keys.
#[derive(Debug, Serialize)]
struct LeaderLine {
    election: String,
    /// Value that the leader proclaims; `None` if there is no leader.
    leader: Option<String>,
    fence: Option<u64>,
    key: Option<String>,
}

/// Waits for the next state of the election. If no member serves requests meanwhile, prints one
/// line about this outage.
async fn next_state(
    observer: &mut ElectionObserver,
    client: &Client,
) -> Result<ElectionState, ClientError> {
    let mut failed_checks = 0_u32;
    let mut next = std::pin::pin!(observer.next_state());
    loop {
        tokio::select! {
            biased;
            state = &mut next => return state,
            () = tokio::time::sleep(OUTAGE_CHECK_INTERVAL) => {}
        }
        let failure = client.endpoint_failures();
        failed_checks = if failure.is_some() { failed_checks.saturating_add(1) } else { 0 };
        // After a single failure, the client is about to try another member.
        if let Some(reason) = failure.filter(|_| failed_checks == 2) {
            print_error(&format!("waiting, because no member serves requests: {reason}"));
        }
    }
}

async fn observe(options: &Options) -> Result<(), Failure> {
    let client = options.service.connect_client().await?;
    let mut observer = client.election_observer(&options.name);
    let print = async {
        loop {
            let state = next_state(&mut observer, &client).await.map_err(request_failure)?;
            let text = |bytes: Vec<u8>| Some(String::from_utf8_lossy(&bytes).into_owned());
            let election = options.name.clone();
            let line = match state {
                ElectionState::NoLeader => {
                    LeaderLine { election, leader: None, fence: None, key: None }
                }
                ElectionState::Leader { key, value, fence } => {
                    LeaderLine { election, leader: text(value), fence: Some(fence), key: text(key) }
                }
            };
            let line = serde_json::to_string(&line).map_err(Failure::environment)?;
            if !print_to_reader(&format!("{}\n", escape_invisible_in_json(&line)))? {
                return Ok(());
            }
        }
    };
    tokio::select! {
        ended = print => ended,
        () = crate::cmd::node::wait_for_interrupt() => Ok(()),
    }
}
