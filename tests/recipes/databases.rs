//! Database servers for one test. They are reachable only through a socket in a directory.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::service::{has_programs, until};
use crate::skipped::report_skip;

/// A server process with its data. Both are removed when this value is dropped.
struct Database {
    server: Child,
    folder: TempDir,
}

impl Drop for Database {
    fn drop(&mut self) {
        // SIGKILL would leave shared memory behind. SIGINT ends PostgreSQL at once, and SIGTERM
        // ends MariaDB.
        let id = i32::try_from(self.server.id()).ok().and_then(Pid::from_raw);
        for signal in [Signal::INT, Signal::TERM] {
            let _ = kill_process(id.expect("an identifier"), signal);
        }
        let _ = self.server.wait();
    }
}

pub(crate) struct PostgreSql(Database);

impl PostgreSql {
    /// Starts a server with an empty database. Returns `None` if PostgreSQL is not installed.
    pub(crate) fn start() -> Option<PostgreSql> {
        if !has_programs(&["psql"]) {
            return None;
        }
        let Some(programs) = folder_of("initdb", "/usr/lib/postgresql") else {
            report_skip("initdb");
            return None;
        };
        let folder = private_folder();
        let data = folder.path().join("data");
        let mut initdb = as_owner(&folder, programs.join("initdb"));
        initdb.args(["--no-sync", "--auth=trust", "--username=test", "-D"]).arg(&data);
        run(&mut initdb);
        let mut server = as_owner(&folder, programs.join("postgres"));
        server.args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"]).arg(folder.path());
        let server = server.arg("-D").arg(&data).spawn().expect("the server starts");
        let database = PostgreSql(Database { server, folder });
        until("PostgreSQL accepts connections", || responds(&database.client()));
        Some(database)
    }

    pub(crate) fn client(&self) -> String {
        let folder = self.0.folder.path().display();
        format!("psql -qtAX -v ON_ERROR_STOP=1 -h {folder} -U test postgres")
    }
}

pub(crate) struct MariaDb(Database);

impl MariaDb {
    /// Starts a server with an empty database. Returns `None` if MariaDB is not installed.
    pub(crate) fn start() -> Option<MariaDb> {
        if !has_programs(&["mariadb", "mariadb-install-db"]) {
            return None;
        }
        let Some(programs) = folder_of("mariadbd", "/usr/sbin") else {
            report_skip("mariadbd");
            return None;
        };
        let folder = private_folder();
        let data = format!("--datadir={}", folder.path().join("data").display());
        let mut install = as_owner(&folder, "mariadb-install-db");
        run(install.args(["--no-defaults", "--auth-root-authentication-method=normal", &data]));
        let mut server = as_owner(&folder, programs.join("mariadbd"));
        server.args(["--no-defaults", "--skip-networking", &data]);
        server.arg(format!("--socket={}", folder.path().join("socket").display()));
        server.arg(format!("--pid-file={}", folder.path().join("pid").display()));
        let server = server.spawn().expect("the server starts");
        let database = MariaDb(Database { server, folder });
        until("MariaDB accepts connections", || responds(&database.client()));
        Some(database)
    }

    pub(crate) fn client(&self) -> String {
        let socket = self.0.folder.path().join("socket");
        format!("mariadb --no-defaults -N -u root -S {} test", socket.display())
    }
}

/// Returns the first folder that contains the program `program`. Searches the folders of the
/// variable `PATH`, then `folder`, and then the folders `bin` two levels below `folder`.
fn folder_of(program: &str, folder: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = versions.map(|version| version.path().join("bin"));
    let folders = std::env::split_paths(&path).chain([PathBuf::from(folder)]).chain(below);
    folders.into_iter().find(|folder| folder.join(program).exists())
}

/// Creates a directory that belongs to an unprivileged user, because database servers refuse to run
/// as root.
fn private_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let users = fs::read_to_string("/etc/passwd").expect("the users");
    let nobody = users.lines().find(|line| line.starts_with("nobody:")).expect("the user nobody");
    let mut ids = nobody.split(':').skip(2).map(|id| id.parse().expect("a number"));
    if rustix::process::getuid().is_root() {
        chown(folder.path(), ids.next(), ids.next()).expect("permission");
    }
    folder
}

fn as_owner(folder: &TempDir, program: impl AsRef<Path>) -> Command {
    let owner = fs::metadata(folder.path()).expect("a folder");
    let mut command = Command::new(program.as_ref());
    command.current_dir(folder.path()).env("HOME", folder.path());
    if rustix::process::getuid().is_root() {
        command.gid(owner.gid()).uid(owner.uid());
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a statement with `client`, the command line of a database client. Returns true if the
/// database accepts the statement.
fn responds(client: &str) -> bool {
    let shell = format!("echo 'SELECT 1;' | {client}");
    let output = Command::new("sh").args(["-c", &shell]).output().expect("a shell");
    output.status.success()
}
