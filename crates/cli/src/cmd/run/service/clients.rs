//! The client processes of a run. Each client process prints a line of JSON for every recorded
//! operation.

use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_daemon::resource::CounterServer;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;

use super::entry_record::EntryRecord;
use super::plan::ServiceRunPlan;
use super::value_record::ValueOperationRecord;
use crate::cmd::failure::Failure;
use crate::cmd::node;
use crate::cmd::output::print_flushed_line;

/// Number of clients that put and read values in a run with `--values`.
pub(super) const VALUE_CLIENT_COUNT: u32 = 2;

/// Options that all client processes have.
#[derive(Debug, Args)]
pub(super) struct CommonClientOptions {
    #[arg(long)]
    parent: i32,
    #[arg(long)]
    pub(super) number: u32,
    #[arg(long, value_delimiter = ',')]
    pub(super) endpoints: Vec<String>,
    #[arg(long)]
    millis: u64,
    #[arg(long)]
    pub(super) seed: u64,
}

impl CommonClientOptions {
    /// Makes this process end when the thread that started it ends.
    pub(super) fn end_with_parent(&self) -> Result<(), Failure> {
        node::end_with_parent(self.parent)
    }

    /// Returns the present time plus the planned duration of the run. The process must then stop
    /// its work.
    pub(super) fn deadline_from_now(&self) -> Instant {
        Instant::now() + Duration::from_millis(self.millis)
    }
}

pub(super) fn print_json_line(record: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_string(record).map_err(Failure::environment)?;
    print_flushed_line(&line).map_err(Failure::environment)
}

/// The running client processes. Dropping this value kills them.
#[derive(Debug)]
pub(super) struct ClientProcesses<'a> {
    plan: &'a ServiceRunPlan,
    endpoints: String,
    /// One task for each client process that has not ended. A task fails if its client process ends
    /// with a failure.
    pub(super) running: JoinSet<Result<(), Failure>>,
}

impl ClientProcesses<'_> {
    pub(super) fn new<'a>(plan: &'a ServiceRunPlan, endpoints: &[String]) -> ClientProcesses<'a> {
        ClientProcesses { plan, endpoints: endpoints.join(","), running: JoinSet::new() }
    }

    /// Starts the clients that acquire the lock and increment the counter. Sends each record that a
    /// client prints to `entry_records`.
    pub(super) fn spawn_lock_clients(
        &mut self,
        resource: &CounterServer,
        entry_records: &UnboundedSender<EntryRecord>,
    ) -> Result<(), Failure> {
        let plan = self.plan;
        for number in 1..=plan.clients {
            let mut command = self.command("service-client", number)?;
            command
                .args(["--resource", &resource.address().to_string()])
                .args(["--hold-micros", &plan.hold.as_micros().to_string()])
                .args(["--think-micros", &plan.think.as_micros().to_string()])
                .args((!plan.uses_lock).then_some("--no-lock"));
            self.start(command, number, entry_records.clone())?;
        }
        Ok(())
    }

    /// Starts the clients that put and read values. Sends each record that a client prints to
    /// `value_records`.
    pub(super) fn spawn_value_clients(
        &mut self,
        max_value_bytes: u32,
        value_records: &UnboundedSender<ValueOperationRecord>,
    ) -> Result<(), Failure> {
        for number in (self.plan.clients + 1..).take(VALUE_CLIENT_COUNT as usize) {
            let mut command = self.command("service-writer", number)?;
            command.args(["--most-bytes", &max_value_bytes.to_string()]);
            self.start(command, number, value_records.clone())?;
        }
        Ok(())
    }

    fn command(&self, name: &str, number: u32) -> Result<Command, Failure> {
        let mut command = Command::new(std::env::current_exe().map_err(cannot_start(number))?);
        command
            .args([name, "--parent", &std::process::id().to_string()])
            .args(["--number", &number.to_string(), "--endpoints", &self.endpoints])
            .args(["--millis", &self.plan.duration.as_millis().to_string()])
            .args(["--seed", &self.plan.seed.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }

    fn start<T: DeserializeOwned + Send + 'static>(
        &mut self,
        mut command: Command,
        number: u32,
        output: UnboundedSender<T>,
    ) -> Result<(), Failure> {
        let mut child = command.spawn().map_err(cannot_start(number))?;
        self.running.spawn(async move {
            if let Some(out) = child.stdout.take() {
                let mut lines = BufReader::new(out).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    // Ignores an invalid line, because a client that was killed may leave a partial
                    // line.
                    if let Ok(line) = serde_json::from_str(&line) {
                        let _ = output.send(line);
                    }
                }
            }
            let status = child.wait().await.map_err(Failure::environment)?;
            match status.success() {
                true => Ok(()),
                false => Err(Failure::environment(format!("client {number} ended with {status}"))),
            }
        });
        Ok(())
    }
}

fn cannot_start(number: u32) -> impl Fn(io::Error) -> Failure {
    Failure::cannot(format!("start client {number}"))
}
