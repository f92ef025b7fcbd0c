//! Tests that guarded resources reject a paused holder after its lock has passed to another
//! process.
//!
//! The first holder reads a total and adds 1. Before this holder writes, it is stopped together
//! with `tenure lock` and the guardian, as when a machine is suspended. The lease of the first
//! holder ends, and a second holder adds 10. Then the first holder continues and writes.

use std::net::SocketAddr;
use std::process::Command;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::ETAG;
use axum::middleware::map_response;
use axum::response::Response;
use axum::routing::get;
use rustix::process::Signal;
use tokio::net::TcpListener;

use crate::databases::{MariaDb, PostgreSql};
use crate::holder::Tree;
use crate::service::{Service, example, has_programs, until};
use crate::{fenced_service, object_store};

/// Shell command that a holder runs after it has read the total and before it writes the new total.
/// The command adds `ADD` to the total, and waits for the file `GO`.
const WORK: &str = "total=$(cat); echo $((total + ADD)); : >$HELD; \
                    until [ -e $GO ]; do sleep 0.02; done";

/// Runs a script in both holders, and pauses the first holder. Returns the exit status of the
/// script in the first holder.
#[track_caller]
fn status_of_paused_holder(service: &Service, script: &[&str]) -> String {
    let holder = |add: &str, go: &str| {
        let mut command = service.command("tenure");
        command
            .args(["lock", "--ttl", "600s", "--endpoints", &service.url(), "total", "--"])
            .args(["sh", "-c", "\"$@\"; echo $? >$STATUS", "sh"])
            .args(script)
            .args(["sh", "-c", WORK])
            .env("ADD", add)
            .env("HELD", service.path(&format!("held{add}")))
            .env("GO", go)
            .env("STATUS", service.path(&format!("status{add}")));
        command
    };
    let go = service.path("go");
    let first = Tree::start(&mut holder("1", go.to_str().expect("text")));
    until("the first holder has read", || service.path("held1").exists());
    let processes = first.processes();
    Tree::signal(&processes, Signal::STOP);
    service.expire(&service.leases());

    let mut second = Tree::start(&mut holder("10", "/"));
    assert!(second.wait().success());
    assert_eq!(service.text("status10"), "0\n", "the second holder writes");

    std::fs::write(&go, "").expect("written");
    // Continues only the script. `tenure lock` and its guardian stay stopped, because they would
    // end the script before it writes.
    Tree::signal(&processes[2..], Signal::CONT);
    until("the first holder has ended", || service.text("status1").ends_with('\n'));
    let status = service.text("status1");
    for file in ["go", "held1", "held10", "status1", "status10"] {
        std::fs::remove_file(service.path(file)).expect("it exists");
    }
    status
}

/// Asserts that a guard rejects the write of the paused holder. Also asserts, as a control
/// experiment, that the write is accepted without the guard.
#[track_caller]
fn assert_guarded(
    service: &Service,
    total: impl Fn() -> String,
    guarded: &[&str],
    unguarded: &[&str],
) {
    let before = total().trim().parse::<u32>().unwrap_or(0);
    assert_eq!(status_of_paused_holder(service, guarded), "1\n", "the stale write is rejected");
    assert_eq!(total().trim(), (before + 10).to_string(), "only the second holder wrote");
    let before = before + 10;
    assert_eq!(status_of_paused_holder(service, unguarded), "0\n", "the stale write is accepted");
    assert_eq!(total().trim(), (before + 1).to_string(), "the write of the second holder is lost");
}

fn script(name: &str) -> String {
    example(&format!("guards/{name}")).to_str().expect("text").to_owned()
}

#[test]
fn fence_file_rejects_paused_holder() {
    if !has_programs(&["flock"]) {
        return;
    }
    let service = Service::start();
    let unguarded = "touch total; \"$@\" <total >new$$; mv new$$ total";
    assert_guarded(
        &service,
        || service.text("total"),
        &[&script("file.sh"), "total"],
        &["sh", "-c", unguarded, "sh"],
    );
    // The library reads the file in which the script has stored the highest token.
    let highest = tenure_client::FenceFile::new(service.path("total.fence")).highest_fence();
    assert!(highest.expect("a token") > 1);
}

/// Script that changes the total of an invoice without comparing fencing tokens.
const UNGUARDED_SQL: &str = "client=$1; shift; \
    total=$(echo 'SELECT total FROM invoices WHERE id = 1;' | $client | \"$@\"); \
    echo \"UPDATE invoices SET total = $total WHERE id = 1;\" | $client";

#[track_caller]
fn assert_sql_guarded(service: &Service, guard: &str, client: &str) {
    let run = |statement: &str| {
        let shell = format!("echo '{statement}' | {client}");
        let output = service.command("sh").args(["-c", &shell]).output().expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    };
    run("CREATE TABLE invoices \
         (id INTEGER PRIMARY KEY, total BIGINT NOT NULL, fence BIGINT NOT NULL DEFAULT 0);");
    run("INSERT INTO invoices (id, total) VALUES (1, 100);");
    assert_guarded(
        service,
        || run("SELECT total FROM invoices WHERE id = 1;"),
        &[&script(guard), client, "1"],
        &["sh", "-c", UNGUARDED_SQL, "sh", client],
    );
}

#[test]
fn sqlite_rejects_paused_holder() {
    if has_programs(&["sqlite3"]) {
        assert_sql_guarded(&Service::start(), "sql.sh", "sqlite3 -bail invoices.db");
    }
}

/// Returns the SQL blocks of docs/fencing.md.
fn documented_sql() -> Vec<&'static str> {
    let page = include_str!("../../docs/fencing.md");
    page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Asserts that the documented tables accept the token 8, and then reject the stale token 7.
#[track_caller]
fn assert_documented_sql_rejects_stale_token(client: &str) {
    let run = |statements: String| {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &format!("printf %s \"$1\" | {client}"), "sh", &statements]);
        let output = shell.output().expect("a shell");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {errors}");
        String::from_utf8(output.stdout).expect("text").split_whitespace().collect::<String>()
    };
    let with_token = |sql: &str, token: u32| {
        sql.replace("$1", &token.to_string()).replace("$2", "1").replace("$3", "50")
    };
    let documented = documented_sql();
    // The last one is for MySQL.
    assert_eq!(documented.len(), 3, "{documented:?}");
    for (sql, accepted) in documented.into_iter().zip(["1001", "8"]) {
        let (create, use_token) = sql.split_once(";\n").expect("a table");
        run(format!("{create};"));
        if accepted == "1001" {
            run("INSERT INTO invoices (id, total) VALUES (1, 100);".to_owned());
        }
        assert_eq!(run(with_token(use_token, 8)), accepted, "{use_token}");
        assert_eq!(run(with_token(use_token, 7)), "", "{use_token}");
    }
}

#[test]
fn documented_sql_rejects_stale_tokens_in_sqlite() {
    if has_programs(&["sqlite3"]) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("invoices.db");
        assert_documented_sql_rejects_stale_token(&format!("sqlite3 -bail {}", file.display()));
    }
}

#[test]
fn documented_sql_rejects_stale_tokens_in_postgresql() {
    if let Some(database) = PostgreSql::start() {
        assert_documented_sql_rejects_stale_token(&database.client());
    }
}

#[test]
fn postgresql_rejects_paused_holder() {
    if let Some(database) = PostgreSql::start() {
        assert_sql_guarded(&Service::start(), "sql.sh", &database.client());
    }
}

#[test]
fn mariadb_rejects_paused_holder() {
    if let Some(database) = MariaDb::start() {
        assert_sql_guarded(&Service::start(), "mysql.sh", &database.client());
    }
}

/// Serves an HTTP application at a port, until this process ends. Returns the address.
fn serve(application: Router) -> SocketAddr {
    let (sender, address) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            sender.send(listener.local_addr().expect("an address")).expect("a receiver");
            axum::serve(listener, application).await.expect("it serves");
        });
    });
    address.recv().expect("an address")
}

/// Returns the last line of the response to a GET request for `url`. Returns an empty text if the
/// response is an error.
fn last_line(service: &Service, url: &str) -> String {
    let output = service.command("curl").args(["-sf", url]).output().expect("curl");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn conditional_put_rejects_paused_holder() {
    if !has_programs(&["curl"]) {
        return;
    }
    let service = Service::start();
    let url = format!("http://{}/bucket/total", serve(object_store::router()));
    let unguarded = "curl -s $0 | tail -n 1 | \"$@\" | curl -sf -X PUT --data-binary @- $0";
    assert_guarded(
        &service,
        || last_line(&service, &url),
        &[&script("object.sh"), &url],
        &["sh", "-c", unguarded, &url],
    );
}

/// Runs the script for an object store with the token 1. Returns its exit status and its error.
fn status_and_error_at(store: Router) -> (Option<i32>, String) {
    let url = format!("http://{}/bucket/total", serve(store));
    let mut command = Command::new(script("object.sh"));
    let output = command.args([&url, "echo", "7"]).env("TENURE_FENCE", "1").output();
    let output = output.expect("a script");
    (output.status.code(), String::from_utf8(output.stderr).expect("text"))
}

#[test]
fn conditional_put_requires_tags_and_success() {
    if !has_programs(&["curl"]) {
        return;
    }
    assert_eq!(status_and_error_at(object_store::router()), (Some(0), String::new()));
    let without_tag = async |mut response: Response| {
        response.headers_mut().remove(ETAG);
        response
    };
    let untagged = object_store::router().layer(map_response(without_tag));
    let (status, error) = status_and_error_at(untagged);
    assert!(status == Some(1) && error.ends_with("status 200 without an ETag\n"), "{error}");
    let unavailable =
        get(async || StatusCode::NOT_FOUND).put(async || StatusCode::SERVICE_UNAVAILABLE);
    let (status, error) = status_and_error_at(Router::new().route("/{bucket}/{*key}", unavailable));
    assert!(status == Some(1) && error.ends_with("status 503\n"), "{error}");
}

#[test]
fn header_rejects_paused_holder() {
    if !has_programs(&["curl"]) {
        return;
    }
    let service = Service::start();
    let fences = service.path("fences");
    std::fs::create_dir(&fences).expect("a folder");
    for (application, is_fenced) in
        [(fenced_service::fenced(&fences), true), (fenced_service::documents(), false)]
    {
        let url = format!("http://{}/documents/total", serve(application));
        let status = status_of_paused_holder(&service, &[&script("http.sh"), &url]);
        // Without the layer, the late write of the first holder overwrites the write of the second
        // holder.
        let expected = if is_fenced { ("1\n", "10") } else { ("0\n", "1") };
        assert_eq!((&status[..], &last_line(&service, &url)[..]), expected);
    }
}
