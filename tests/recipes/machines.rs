//! Tests of the recipes in `examples/recipes`. Each process of a test represents one machine of a
//! cluster.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::Signal;

use crate::databases::PostgreSql;
use crate::holder::Tree;
use crate::killed::Killed;
use crate::service::{Service, example, has_programs, until};

fn recipe(name: &str) -> PathBuf {
    example("recipes").join(name)
}

/// Runs a command on three simulated machines at the same time, and returns their results.
fn on_three_machines(command: impl Fn() -> Command) -> Vec<Output> {
    let machines: Vec<_> = (0..3)
        .map(|_| command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn())
        .map(|machine| Killed(machine.expect("the command starts")))
        .collect();
    machines.into_iter().map(Killed::wait_with_output).collect()
}

fn succeeded(results: &[Output]) -> usize {
    results.iter().filter(|result| result.status.success()).count()
}

#[test]
fn nightly_job_succeeds_once_a_day() {
    if !has_programs(&["curl", "base64"]) {
        return;
    }
    let service = Service::start();
    // The first run fails, so another machine has to run the job.
    let job = "echo $TENURE_FENCE >>runs; [ $(wc -l <runs) -ge 2 ]";
    let on = |day: &str| {
        let mut command = service.command(recipe("nightly.sh"));
        command.args(["report", "sh", "-c", job]).env("DAY", day).env("TTL", "60s");
        command
    };
    let runs = || -> Vec<u64> {
        service.text("runs").lines().map(|fence| fence.parse().expect("a token")).collect()
    };
    let results = on_three_machines(|| on("2026-11-27"));
    assert_eq!((succeeded(&results), runs().len()), (2, 2), "{results:?}");
    assert!(on("2026-11-27").status().expect("an end").success());
    assert_eq!(runs().len(), 2, "the job is done on this day");
    assert!(on("2026-11-28").status().expect("an end").success());
    assert_eq!(runs().len(), 3, "the job runs on the next day");
    assert!(runs().is_sorted(), "later runs have higher tokens");
}

/// A script may run in the command of a `tenure lock` for another lock.
#[test]
fn scripts_take_their_lock_under_another_one() {
    if !has_programs(&["curl", "base64"]) {
        return;
    }
    let service = Service::start();
    let show = "printenv TENURE_LOCK";
    for (script, arguments, lock) in [
        ("nightly.sh", &["report", "printenv", "TENURE_LOCK"][..], "nightly/report"),
        ("migration.sh", &[show, "migrations"], "migrations"),
        ("rolling-restart.sh", &["shop", show, "true"], "restart/shop"),
    ] {
        let mut command = service.command(recipe(script));
        let output = command.args(arguments).env("TENURE_LOCK", "other").output();
        let output = output.expect("the command starts");
        assert!(output.status.success(), "{script}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{lock}\n"), "{script}");
    }
}

#[track_caller]
fn assert_migrated_once(service: &Service, client: &str) {
    let select = |columns: &str, table: &str| {
        let shell = format!("echo 'SELECT {columns} FROM {table};' | {client}");
        let output = service.command("sh").args(["-c", &shell]).output().expect("a shell");
        String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
    };
    let select = |columns, table| -> Vec<String> { select(columns, table) };
    let migrations = service.path("migrations");
    std::fs::create_dir(&migrations).expect("a folder");
    let add =
        |name: &str, text: &str| std::fs::write(migrations.join(name), text).expect("written");
    let migrate = || {
        let mut command = service.command(recipe("migration.sh"));
        command.args([client, "migrations"]).env("TTL", "60s");
        command
    };
    add("001.sql", "CREATE TABLE items (n INTEGER);\n");
    add("002.sql", "INSERT INTO items VALUES (1);\n");
    let results = on_three_machines(migrate);
    assert_eq!(succeeded(&results), 3, "{results:?}");
    assert_eq!(select("n", "items"), ["1"]);
    assert_eq!(select("name", "migrations"), ["001.sql", "002.sql"]);

    add("003.sql", "INSERT INTO items VALUES (2);\nINSERT INTO missing VALUES (1);\n");
    assert_eq!(succeeded(&on_three_machines(migrate)), 0, "a faulty migration");
    assert_eq!(select("n", "items"), ["1"], "nothing of it is applied");
    add("003.sql", "INSERT INTO items VALUES (2);\n");
    assert_eq!(succeeded(&on_three_machines(migrate)), 3);
    assert_eq!(select("n", "items"), ["1", "2"]);
}

#[test]
fn migration_is_applied_once_to_sqlite() {
    if has_programs(&["sqlite3"]) {
        assert_migrated_once(&Service::start(), "sqlite3 -bail shop.db");
    }
}

#[test]
fn migration_is_applied_once_to_postgresql() {
    if let Some(database) = PostgreSql::start() {
        assert_migrated_once(&Service::start(), &database.client());
    }
}

#[test]
fn shards_move_from_a_failed_machine() {
    const SHARDS: usize = 4;
    let service = Service::start();
    let work = "echo $TENURE_FENCE >>fences-$SHARD; echo $MACHINE >worker-$SHARD; exec sleep 600";
    let machine = |number: &str| {
        let mut command = service.command(recipe("sharded-workers.sh"));
        command.args([&SHARDS.to_string(), "sh", "-c", work]);
        command.env("MACHINE", number).env("MACHINES", "2").env("TTL", "600s").env("STANDBY", "1");
        Tree::start(&mut command)
    };
    let workers = || -> String {
        (0..SHARDS).map(|shard| service.text(&format!("worker-{shard}"))).collect()
    };
    let first = machine("0");
    until("the first machine leads all shards", || workers() == "0\n0\n0\n0\n");
    let leases = service.leases();
    let mut second = machine("1");
    drop(first); // KILL to all of its processes
    service.expire(&leases);
    until("the second machine leads all shards", || workers() == "1\n1\n1\n1\n");
    for shard in 0..SHARDS {
        let text = service.text(&format!("fences-{shard}"));
        let fences: Vec<u64> = text.lines().map(|it| it.parse().expect("a token")).collect();
        assert!(fences.len() == 2 && fences[0] < fences[1], "shard {shard}: {fences:?}");
    }
    let processes = second.processes();
    second.signal_first(Signal::TERM);
    assert!(second.wait().success());
    let left = processes.iter().filter(|id| PathBuf::from(format!("/proc/{id}")).exists());
    assert_eq!(left.count(), 0, "TERM ends all processes of the machine");
}

/// Starts a rolling restart of three simulated machines. As long as no machine passes its check,
/// exactly `expected` machines must restart. After all checks pass, the other machines must
/// restart.
#[track_caller]
fn assert_restart_at_once(expected: usize, service: &Service, script: &Path) {
    let folder = tempfile::tempdir_in(service.path(".")).expect("a folder");
    let path = |name: String| folder.path().join(name);
    let restarted = || (0..3).filter(|number| path(format!("restarted-{number}")).exists()).count();
    let mut machines: Vec<Tree> = (0..3)
        .map(|number| {
            let restart = format!(": >restarted-{number}");
            let check = format!("test -e healthy-{number}");
            let mut command = service.command(script);
            command.args(["shop", &restart, &check]).current_dir(folder.path()).env("TTL", "60s");
            Tree::start(&mut command)
        })
        .collect();
    until("all machines have a lease", || service.leases().len() == 3);
    until("the machines restart", || restarted() >= expected);
    // If another machine were not held back, it would restart long before these requests have
    // ended.
    let revision = service.revision();
    until("other clients change the store", || {
        service.post("/v3/kv/put", r#"{"key":"eA=="}"#);
        service.revision() > revision + 100
    });
    assert_eq!(restarted(), expected, "at once");
    for number in 0..3 {
        std::fs::write(path(format!("healthy-{number}")), "").expect("written");
    }
    assert!(machines.iter_mut().all(|machine| machine.wait().success()));
    assert_eq!(restarted(), 3);
    until("all leases have ended", || service.leases().is_empty());
}

#[test]
fn at_most_two_machines_restart_at_a_time() {
    let service = Service::start();
    assert_restart_at_once(2, &service, &recipe("rolling-restart.sh"));
    // With three slots instead of two, all three machines restart together.
    let text = std::fs::read_to_string(recipe("rolling-restart.sh")).expect("a script");
    let wider = service.path("wider.sh");
    std::fs::write(&wider, text.replace("--slots 2", "--slots 3").replace("restart/", "wider/"))
        .expect("written");
    std::fs::set_permissions(&wider, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("permission");
    assert_restart_at_once(3, &service, &wider);
}

#[test]
fn restart_without_a_passed_check_fails() {
    let service = Service::start();
    let mut command = service.command(recipe("rolling-restart.sh"));
    command.args(["shop", ": >restarted", "false"]).env("WITHIN", "1").env("TTL", "60s");
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(1));
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("shop does not pass its check: false"), "{report}");
    assert!(service.path("restarted").exists());
}
