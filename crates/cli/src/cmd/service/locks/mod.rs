//! `tenure locks`: shows the locks of a lock service.

mod break_lock;
mod explain;
mod queue;
mod read;
mod recipe;
mod stored_text;
mod text;
mod wait_chain;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use self::queue::Lock;
pub(super) use self::read::{LockTotals, fetch_totals};
use super::endpoint::{BlockingClient, QueryOptions};
use crate::cmd::failure::{Failure, Status};

/// Show and break the locks and elections of a lock service or an etcd
///
/// A lock consists of the keys NAME/LEASE below its name, as clients of etcd create them, in the
/// order of their creation. The first key belongs to the holder, and its revision is the fencing
/// token. Commands of Tenure store the user, host, process ID and program in the key; of other
/// clients the value of the key is shown, and they are unknown without a value. The keys
/// NAME/read/LEASE and NAME/write/LEASE of a read/write lock are one queue, and NAME/permits/LEASE
/// is a claim on a semaphore. For these, NAME is the name of the lock.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure locks ls
  tenure locks why jobs/nightly
  tenure locks queue jobs/nightly --format json
  tenure locks break jobs/nightly")]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// List the locks and elections that are held or waited for
    Ls {
        /// Only locks whose keys NAME/… have this prefix
        #[arg(value_name = "PREFIX", default_value = "")]
        prefix: String,
        #[command(flatten)]
        common: QueryOptions,
    },
    /// Show the holders of a lock and the number of waiters
    Show(LockOptions),
    /// Show the queue of a lock: holders and waiters in the order of acquisition
    Queue(LockOptions),
    /// Explain why each waiter waits and for whom, and when the next one acquires the lock at the
    /// latest
    Why(LockOptions),
    Break(break_lock::Options),
}

#[derive(Debug, Args)]
struct LockOptions {
    /// Name of the lock or election
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: String,
    #[command(flatten)]
    common: QueryOptions,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let (text, value, format) = match &options.task {
        Task::Ls { prefix, common } => {
            let locks = read::fetch_locks(&common.endpoints.blocking_client()?, prefix)?;
            let to_json: Vec<Value> = locks.iter().map(Lock::to_json).collect();
            (text::format_lock_table(&locks), json!({ "locks": to_json }), common.format)
        }
        Task::Show(selected) => {
            let (_, lock) = selected.read()?;
            (text::format_summary(&lock), lock.to_json(), selected.common.format)
        }
        Task::Queue(selected) => {
            let (_, lock) = selected.read()?;
            (text::format_queue_table(&lock), json!(lock), selected.common.format)
        }
        Task::Why(selected) => {
            let (service, lock) = selected.read()?;
            let chain = wait_chain::fetch_wait_chain(&service, &lock)?;
            let lines: Vec<String> =
                explain::explanation_lines(&lock).into_iter().chain(chain.lines()).collect();
            let value = json!({
                "name": lock.name, "explanation": lines, "waits": explain::explain_waits(&lock),
                "chain": chain.steps,
            });
            (lines.join("\n") + "\n", value, selected.common.format)
        }
        Task::Break(options) => return break_lock::run(options),
    };
    format.print(&value, || text)?;
    Ok(Status::Success)
}

impl LockOptions {
    fn read(&self) -> Result<(BlockingClient, Lock), Failure> {
        let service = self.common.endpoints.blocking_client()?;
        let lock = read::fetch_lock_queue(&service, self.name.as_bytes())?;
        Ok((service, lock))
    }
}
