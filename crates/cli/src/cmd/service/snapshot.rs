//! `tenure snapshot`: saves and restores backups of a lock service.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tenure_runtime::store::sync_directory;
use tenure_server::{Backup, BackupError, Config};

use super::endpoint::{QueryOptions, request_failure};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::{Format, print};
use crate::cmd::size::parse_byte_size;

/// Default increase of the revision when a backup is restored. Revisions that clients have seen
/// since the backup must not occur again. The increase exceeds the number of revisions that a
/// cluster creates in weeks.
const DEFAULT_BUMP: u64 = 1_000_000_000;

/// Save, inspect and restore backups of a lock service
///
/// A backup contains every write that was acknowledged before it began, and password hashes: keep
/// it secret. It is not a database of etcd.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tenure snapshot save jobs.backup
  tenure snapshot status jobs.backup
  tenure snapshot restore jobs.backup --name a --data-dir /var/lib/tenure/a")]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Save(Save),
    Status(Inspect),
    Restore(Restore),
}

/// Save a backup of the data of a member, as `etcdctl snapshot save` does
///
/// If the exit status is 0, the file is complete, verified by its SHA-256 and flushed to the disk.
/// It has Tenure's format: etcd cannot be restored from it.
#[derive(Debug, Args)]
struct Save {
    /// Backup file to create
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Maximum size of the backup, as a protection against a faulty member
    #[arg(long, value_name = "SIZE", value_parser = parse_byte_size, default_value = "8G")]
    max_size: u64,
    #[command(flatten)]
    query: QueryOptions,
}

/// Verify a backup and show its contents
#[derive(Debug, Args)]
struct Inspect {
    /// Backup file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// Create the data directory of a member from a backup
///
/// Restore every member of the new cluster from the same file and with the same --initial-cluster.
/// Then start them with `tenure serve` and these options, also --initial-cluster-token. The
/// revision is raised, so that later fencing tokens are greater than all that the old cluster has
/// issued. Leases and locks are those of the backup: a client that still renews its lease continues
/// to hold its lock.
#[derive(Debug, Args)]
struct Restore {
    /// Backup file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Data directory to create; must be empty or missing [default: NAME.tenure]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Name of the member
    #[arg(long, value_name = "NAME", default_value = "default")]
    name: String,
    /// All members of the cluster; the same on each member [default: this member only]
    #[arg(long, value_name = "NAME=URL,…")]
    initial_cluster: Option<String>,
    /// Name of the new cluster
    #[arg(long, value_name = "TOKEN", default_value = "tenure")]
    initial_cluster_token: String,
    /// Increase of the revision; must exceed the changes since the backup
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BUMP)]
    bump_revision: u64,
}

pub(crate) fn run(options: Options) -> Result<Status, Failure> {
    match options.task {
        Task::Save(save) => save_backup(&save),
        Task::Status(Inspect { file, format }) => print_summary(&read(&file)?, &file, format),
        Task::Restore(restore) => restore_backup(restore),
    }
}

fn backup_failure(error: BackupError) -> Failure {
    if error.is_data_directory_error() {
        Failure::environment(error)
    } else {
        Failure::usage(error)
    }
}

fn read(file: &Path) -> Result<Backup, Failure> {
    Backup::read(file).map_err(backup_failure)
}

fn print_summary(backup: &Backup, file: &Path, format: Format) -> Result<Status, Failure> {
    let summary = backup.summary();
    format.print(&summary, || {
        format!(
            "{}: {} bytes, hash {}\nrevision {}, keys {}, leases {}, claimed locks {}\n",
            file.display(),
            summary.bytes,
            summary.hash,
            summary.revision,
            summary.keys,
            summary.leases,
            summary.locks
        )
    })?;
    Ok(Status::Success)
}

fn save_backup(Save { file, max_size, query }: &Save) -> Result<Status, Failure> {
    if file.is_dir() {
        return Err(Failure::usage(format!(
            "invalid value '{}' for <FILE>: expected a file, not a directory",
            file.display()
        )));
    }
    let part = PathBuf::from(format!("{}.part", file.display()));
    let cannot = Failure::cannot_write(&part);
    let service = query.endpoints.blocking_client()?;
    let fetched = create_secret_file(&part).map_err(&cannot).and_then(|mut to| {
        let mut left = *max_size;
        service.block_on(async {
            let mut pieces = service.admin.snapshot().await.map_err(request_failure)?;
            while let Some(piece) = pieces.next().await.map_err(request_failure)? {
                left = left.checked_sub(piece.len() as u64).ok_or_else(|| {
                    Failure::environment(format!("the backup exceeds --max-size {max_size} bytes"))
                })?;
                to.write_all(&piece).map_err(&cannot)?;
            }
            Ok(())
        })?;
        to.sync_all().map_err(&cannot)?;
        let backup = Backup::read(&part).map_err(|error| match error {
            BackupError::WrongFormat { .. } => Failure::usage(
                "the endpoint sent no backup that this version can read: if it is an etcd, use \
                 `etcdctl snapshot save`",
            ),
            error => backup_failure(error),
        })?;
        let above = file.parent().filter(|it| !it.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        fs::rename(&part, file).and_then(|()| sync_directory(above)).map_err(&cannot)?;
        Ok(backup)
    });
    if fetched.is_err() {
        let _ = fs::remove_file(&part);
    }
    print_summary(&fetched?, file, query.format)
}

/// Creates a file that only its owner may read. Replaces an existing file or symbolic link, which
/// may have another owner, weaker permissions, or a target elsewhere.
fn create_secret_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

fn restore_backup(restore: Restore) -> Result<Status, Failure> {
    let Restore { file, data_dir, name, initial_cluster, initial_cluster_token, bump_revision } =
        restore;
    let backup = read(&file)?;
    let config =
        Config { name, data_dir, initial_cluster, initial_cluster_token, ..Config::default() };
    // `insecure` accepts every listening address, because this command opens no sockets. `tenure
    // serve` checks the addresses when it starts.
    let config = Config { insecure: true, ..config };
    let directory = config.validate().map_err(Failure::usage)?.directory;
    let before = backup.summary().revision;
    let revision = backup.restore(&config, bump_revision).map_err(backup_failure)?;
    print(&format!(
        "{}: restored member {} at revision {revision} (backup: revision {before})\n\
         start it with --initial-cluster-token {}\n",
        directory.display(),
        config.name,
        config.initial_cluster_token
    ))?;
    Ok(Status::Success)
}
