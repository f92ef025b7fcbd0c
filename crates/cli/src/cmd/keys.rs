//! `tenure keys`: creates the keys by which nodes authenticate each other.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tenure_core::ProcessId;
use tenure_daemon::{create_key_files, private_key_file, public_keys_file};

use super::failure::{Failure, Status};
use super::output::print;

const MAX_NODES: u32 = 1024;

/// Manage the keys that authenticate the nodes of a cluster
///
/// Nodes of `tenure node` and members of `tenure serve` prove these keys to each other and encrypt
/// their connections with them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure keys new --nodes 3 --to keys")]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    New(New),
}

/// Create keys for all nodes of a cluster
///
/// Writes a file with the private key of each node, readable by its owner only, and one with the
/// public keys of all. Copy to each node its own private key and the public keys, and name both
/// files in its configuration. Existing files are not changed. To replace a key, create new ones in
/// another directory and add the line of that node to the public keys of all nodes. Nodes read
/// their keys again on SIGHUP.
#[derive(Debug, Args)]
struct New {
    /// Number of nodes
    #[arg(short = 'n', long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_NODES)))]
    nodes: u32,
    /// Directory for the files; created if it is missing
    #[arg(long, value_name = "DIR", default_value = "keys")]
    to: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let Task::New(New { nodes, to }) = &options.task;
    create_key_files(to, *nodes).map_err(Failure::environment)?;
    print(&next_steps(to, *nodes))?;
    Ok(Status::Success)
}

fn next_steps(directory: &Path, nodes: u32) -> String {
    let private = |process| private_key_file(directory, ProcessId(process)).display().to_string();
    let public = public_keys_file(directory).display().to_string();
    let all = match nodes {
        1 => private(0),
        _ => format!("{} to {}", private(0), private(nodes - 1)),
    };
    format!(
        "{all}: private keys, one for each node or member\n\
         {public}: all public keys, for every node or member\n\n\
         Add to the configuration of the first member of `tenure serve`:\n\n\
         peer-private-key = {first:?}\n\
         peer-public-keys = {public:?}\n\n\
         Or to that of the first node of `tenure node`, under [cluster]:\n\n\
         private_key = {first:?}\n\
         public_keys = {public:?}\n",
        first = private(0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_steps_are_valid_toml() {
        let next_steps = next_steps(Path::new("a \"b\""), 3);
        assert!(next_steps.starts_with("a \"b\"/p1.key to a \"b\"/p3.key: "), "{next_steps}");
        assert!(
            next_steps.ends_with("public_keys = \"a \\\"b\\\"/public.keys\"\n"),
            "{next_steps}"
        );
        for option in ["private_key", "peer-private-key"] {
            let line = format!("\n{option} = \"a \\\"b\\\"/p1.key\"\n");
            assert!(next_steps.contains(&line), "{option}: {next_steps}");
        }
    }
}
