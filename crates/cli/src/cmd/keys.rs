//! `tenure keys`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tenure_core::ProcessId;
use tenure_daemon::{make_keys, private_key_file, public_keys_file};

use super::failure::{Failure, Status};
use super::output::print;

/// The most nodes for which keys are made at once.
const MOST_NODES: u32 = 1024;

/// Keys by which the nodes of a cluster know each other
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    New(New),
}

/// Make keys for all nodes of a cluster
///
/// Writes a file with the private key of each node, which nobody else may read, and one with the
/// public keys of all. Give every node its own private key and the public keys, name both in its
/// configuration, and remove the other private keys from there. What is there already stays as it
/// is: to change one key, make new ones elsewhere and add the line of that node to the public keys
/// of all; nodes read their keys again when they are sent HUP.
#[derive(Debug, Args)]
struct New {
    /// How many nodes
    #[arg(short = 'n', long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_NODES)))]
    nodes: u32,
    /// The directory for the files; it is made if it is missing
    #[arg(long, value_name = "DIR", default_value = "keys")]
    to: PathBuf,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let Task::New(New { nodes, to }) = &options.task;
    make_keys(to, *nodes).map_err(Failure::environment)?;
    print(&told(to, *nodes))?;
    Ok(Status::Held)
}

/// What was made, and what is to be done with it.
fn told(directory: &Path, nodes: u32) -> String {
    let private = |process| private_key_file(directory, ProcessId(process)).display().to_string();
    let public = public_keys_file(directory).display().to_string();
    let all = match nodes {
        1 => private(0),
        _ => format!("{} to {}", private(0), private(nodes - 1)),
    };
    format!(
        "{all}: the private key of each node, for that node alone\n\
         {public}: the public keys of all, for every node\n\n\
         In the configuration of the first node, under [cluster]:\n\n\
         private_key = {:?}\n\
         public_keys = {public:?}\n",
        private(0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_a_configuration_takes() {
        let told = told(Path::new("a \"b\""), 3);
        assert!(told.starts_with("a \"b\"/p1.key to a \"b\"/p3.key: "), "{told}");
        assert!(told.ends_with("public_keys = \"a \\\"b\\\"/public.keys\"\n"), "{told}");
    }
}
