//! `tenure snapshot`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tenure_runtime::store::sync_directory;
use tenure_server::{Backup, BackupError, Config};

use super::endpoint::{Endpoints, failed};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, print, print_json};
use crate::cmd::size::size;

/// So many revisions more than the backup has: more than a cluster makes in weeks.
const BUMP: u64 = 1_000_000_000;

/// Backups of a lock service: save one, look at it, begin a cluster with it
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Save(Save),
    Status(Look),
    Restore(Restore),
}

/// Save what a member has, as `etcdctl snapshot save` does
///
/// The file is complete and on the disk when this ends with 0, and believed by its SHA-256. It has
/// the form of Tenure: etcd cannot be restored from it.
#[derive(Debug, Args)]
struct Save {
    /// The file to make
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How large the file may become: whoever sends it may send without end
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "8G")]
    max_size: u64,
    #[command(flatten)]
    endpoints: Endpoints,
    /// How to print what was saved
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// Say what is in a backup, if it is whole
#[derive(Debug, Args)]
struct Look {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// Make the data of a member that begins with a backup
///
/// Each member of the new cluster is made so, from the same file and with the same
/// --initial-cluster; then they are started as always, with `tenure serve` and these options. The
/// revision is raised, so that the fence of every later lock is greater than any that the old
/// cluster has handed out. Leases and locks are those of the backup: who holds one and still renews
/// it goes on to hold it.
#[derive(Debug, Args)]
struct Restore {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder of the new data; it must be empty or not there [default: NAME.tenure]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// What the member is called
    #[arg(long, value_name = "NAME", default_value = "default")]
    name: String,
    /// All members, the same on each of them [default: this one alone]
    #[arg(long, value_name = "NAME=URL,…")]
    initial_cluster: Option<String>,
    /// What the new cluster is called
    #[arg(long, value_name = "TOKEN", default_value = "tenure")]
    initial_cluster_token: String,
    /// By how much the revision is raised: more than the old cluster may have made since
    #[arg(long, value_name = "N", default_value_t = BUMP)]
    bump_revision: u64,
}

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    match options.task {
        Task::Save(save) => saved(&save),
        Task::Status(Look { file, format }) => tell(&read(&file)?, &file, format),
        Task::Restore(restore) => restored(restore),
    }
}

fn unusable(error: BackupError) -> Failure {
    if error.is_of_environment() { Failure::environment(error) } else { Failure::usage(error) }
}

fn read(file: &Path) -> Result<Backup, Failure> {
    Backup::read(file).map_err(unusable)
}

fn tell(backup: &Backup, file: &Path, format: Format) -> Result<Status, Failure> {
    let summary = backup.summary();
    match format {
        Format::Json => print_json(&summary)?,
        Format::Text => print(&format!(
            "{}: {} bytes, hash {}\nrevision {}, keys {}, leases {}, claimed locks {}\n",
            file.display(),
            summary.bytes,
            summary.hash,
            summary.revision,
            summary.keys,
            summary.leases,
            summary.locks
        ))?,
    }
    Ok(Status::Held)
}

fn saved(Save { file, max_size, endpoints, format }: &Save) -> Result<Status, Failure> {
    let part = PathBuf::from(format!("{}.part", file.display()));
    let cannot = |error: io::Error| {
        Failure::environment(format!("cannot write {}: {error}", part.display()))
    };
    let service = endpoints.service()?;
    // As a backup is a secret, nobody else may read it.
    let mut part_file = File::options();
    let part_file = part_file.write(true).create(true).truncate(true).mode(0o600);
    let fetched = part_file.open(&part).map_err(cannot).and_then(|mut to| {
        let mut left = *max_size;
        service.run(async {
            let mut pieces = service.admin.snapshot().await.map_err(failed)?;
            while let Some(piece) = pieces.next().await.map_err(failed)? {
                left = left.checked_sub(piece.len() as u64).ok_or_else(|| {
                    let says = "is longer than --max-size allows";
                    Failure::environment(format!("what is sent {says}, {max_size} bytes"))
                })?;
                to.write_all(&piece).map_err(cannot)?;
            }
            Ok(())
        })?;
        to.sync_all().map_err(cannot)?;
        let backup = read(&part)?;
        let above = file.parent().filter(|it| !it.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        fs::rename(&part, file).and_then(|()| sync_directory(above)).map_err(cannot)?;
        Ok(backup)
    });
    if fetched.is_err() {
        let _ = fs::remove_file(&part);
    }
    tell(&fetched?, file, *format)
}

fn restored(restore: Restore) -> Result<Status, Failure> {
    let Restore { file, data_dir, name, initial_cluster, initial_cluster_token, bump_revision } =
        restore;
    let backup = read(&file)?;
    let config =
        Config { name, data_dir, initial_cluster, initial_cluster_token, ..Config::default() };
    // Where it listens is said when it is started.
    let config = Config { insecure: true, ..config };
    let directory = config.plan().map_err(Failure::usage)?.directory;
    let before = backup.summary().revision;
    let revision = backup.restore(&config, bump_revision).map_err(unusable)?;
    print(&format!(
        "{}: the data of {}, at revision {revision} (the backup is of {before})\n",
        directory.display(),
        config.name
    ))?;
    Ok(Status::Held)
}
