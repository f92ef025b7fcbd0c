//! Tests of the command line of `tenure serve`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::hold::{signal, until};
use crate::killed::Killed;
use crate::member::Member;
use crate::shell::{assert_fails_with, tenure};
use crate::skipped::report_skip;

#[test]
fn one_command_starts_a_durable_member() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    for (request, answer) in [
        ("put {\"key\":\"YQ==\",\"value\":\"MQ==\"}", "\"revision\":\"2\""),
        ("range {\"key\":\"YQ==\"}", "\"value\":\"MQ==\""),
    ] {
        let member = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["serve", "--listen-client-urls", "http://127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut member = Killed(member.expect("the command starts"));
        let mut lines = BufReader::new(member.stdout.take().expect("its output")).lines();
        let mut line = || lines.next().expect("a line").expect("text");
        let serves = line();
        let (_, address) = serves.split_once("http://").expect("an address");
        assert!(line().starts_with("default leads in term "));
        let (path, body) = request.split_once(' ').expect("two words");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let length = body.len();
        write!(stream, "POST /v3/kv/{path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")
            .expect("it reads");
        let mut report = String::new();
        stream.read_to_string(&mut report).expect("an answer");
        assert!(report.contains(answer), "{report}");
        let data = data.display();
        let second =
            tenure(&format!("serve --listen-client-urls http://127.0.0.1:0 --data-dir {data}"));
        assert_eq!(second.status.code(), Some(4), "the folder is in use");
        let id = member.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill").success());
        assert_eq!(member.wait().expect("an end").code(), Some(0));
    }
}

#[test]
fn invalid_options_of_serve_are_rejected_with_the_remedy() {
    let long_token = format!("--initial-cluster-token {}", "x".repeat(112));
    for (options, message) in [
        ("--listen-client-urls http://0.0.0.0:0", "without authentication"),
        ("--listen-client-urls 127.0.0.1:0", "expected one such as http://127.0.0.1:2379"),
        (
            "--listen-client-urls https://127.0.0.1:0",
            "--listen-client-urls with https requires --cert-file",
        ),
        (
            "--listen-client-urls http://127.0.0.1:0 --listen-metrics-urls https://127.0.0.1:0",
            "--listen-metrics-urls with https requires --cert-file",
        ),
        ("--name z --initial-cluster a=http://127.0.0.1:1", "has no member 'z'"),
        ("--election-timeout 10", "expected at least 3 times"),
        ("--election-timeout 100000000", "for --election-timeout: expected at most 50000 ms"),
        ("--pre-vote=maybe", "expected true or false"),
        (
            "--name a --initial-cluster a=http://127.0.0.1:1,b=http://127.0.0.1:1",
            "peer URLs must be unique",
        ),
        ("--data-dir Cargo.toml", "is not a directory: expected a new or empty directory"),
        ("--auth-token-ttl 0", "expected at least 1 second"),
        (&long_token, "' for --initial-cluster-token: expected at most 111 bytes"),
        ("--config /no/such/file", "cannot read the file"),
        ("--max-request-bytes 0", "invalid value '0' for --max-request-bytes: expected 1 to"),
        ("--max-txn-ops 20000", "expected 1 to 16384 operations"),
        ("--experimental-watch-progress-notify-interval 5", "expected a duration such as 5s"),
        ("--force-new-cluster", "--force-new-cluster true: not supported"),
        ("--auth-token=jwt,pub-key=a", "only simple tokens are supported"),
        ("--variant forgotten-vote", "unexpected argument '--variant'"),
        ("--allow-mistakes", "unexpected argument '--allow-mistakes'"),
        ("--client-crl-file a", "revoked certificates would be accepted"),
        ("--config-file a.yml", "use --config with a TOML file"),
        (
            "--name a --initial-cluster a=https://127.0.0.1:1,b=https://127.0.0.1:2 \
             --peer-cert-file a",
            "by keys, not by certificates",
        ),
        (
            "--name a --initial-cluster a=http://127.0.0.1:1 \
             --initial-advertise-peer-urls http://127.0.0.1:2",
            "expected the URL of this member in --initial-cluster",
        ),
    ] {
        assert_fails_with(&tenure(&format!("serve {options}")), 2, message);
    }
}

#[test]
fn directory_of_another_program_is_rejected_unchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, file, message) in [
        ("etcd", "member", "has the data of etcd (member/), which Tenure cannot read"),
        ("other", "notes", "has files of another program (notes)"),
    ] {
        let data = folder.path().join(name);
        std::fs::create_dir_all(data.join(file)).expect("room");
        let rejected = tenure(&format!("serve --data-dir {}", data.display()));
        assert_fails_with(&rejected, 2, message);
        assert_eq!(std::fs::read_dir(&data).expect("a folder").count(), 1);
    }
    // A new volume contains folders of the file system. The member must accept such a volume.
    let volume = folder.path().join("volume");
    for name in ["lost+found", ".snapshots"] {
        std::fs::create_dir_all(volume.join(name)).expect("room");
    }
    Member::start(&format!("--data-dir {}", volume.display()));
}

/// Starts a member with these arguments and environment variables. Waits until it leads and serves
/// clients.
fn started(folder: &std::path::Path, arguments: &[&str], variables: &[(&str, &str)]) -> Started {
    let log = folder.join("log");
    let file = std::fs::File::create(&log).expect("a file");
    let member = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .arg("serve")
        .args(arguments)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(file)
        .spawn();
    let mut member = Killed(member.expect("the command starts"));
    let mut lines = BufReader::new(member.stdout.take().expect("its output")).lines();
    let Some(Ok(serves)) = lines.next() else {
        panic!("{}", std::fs::read_to_string(log).unwrap_or_default())
    };
    let leads = lines.next().expect("a line").expect("text");
    assert!(leads.contains(" leads in term "), "{leads}");
    Started { member, serves, log }
}

struct Started {
    member: Killed,
    serves: String,
    log: std::path::PathBuf,
}

impl Started {
    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("a log")
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("it reads");
    let mut report = String::new();
    stream.read_to_string(&mut report).expect("an answer");
    report
}

/// Creates a certificate and its key in a folder. Returns false if `openssl` is not installed.
fn certificate(folder: &std::path::Path) -> bool {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-keyout", "server.key", "-out", "server.crt", "-subj", "/CN=master"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1"])
        .current_dir(folder)
        .output();
    let Ok(made) = made else { return false };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    true
}

/// Starts a member with the arguments that kubeadm gives to etcd on a single node. If `is_sealed`
/// is true, the arguments name certificates.
fn starts_by_the_manifest_of_kubeadm(is_sealed: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    if is_sealed && !certificate(folder.path()) {
        report_skip("openssl");
        return;
    }
    let metrics = tenure_runtime::ports::reserve_address().to_string();
    let metrics_url = format!("--listen-metrics-urls=http://{metrics}");
    let scheme = if is_sealed { "https" } else { "http" };
    let listen = format!("--listen-client-urls={scheme}://127.0.0.1:0");
    let advertise = format!("--advertise-client-urls={scheme}://127.0.0.1:2379");
    let mut arguments = vec![
        &advertise[..],
        "--data-dir=etcd",
        "--experimental-initial-corrupt-check=true",
        "--experimental-watch-progress-notify-interval=5s",
        "--initial-advertise-peer-urls=https://10.0.0.1:2380",
        "--initial-cluster=master=https://10.0.0.1:2380",
        &listen,
        &metrics_url,
        "--listen-peer-urls=https://10.0.0.1:2380",
        "--name=master",
        "--peer-cert-file=peer.crt",
        "--peer-client-cert-auth=true",
        "--peer-key-file=peer.key",
        "--peer-trusted-ca-file=ca.crt",
        "--snapshot-count=10000",
    ];
    if is_sealed {
        let client = ["--cert-file=server.crt", "--client-cert-auth=true"];
        arguments.extend(client);
        arguments.extend(["--key-file=server.key", "--trusted-ca-file=server.crt"]);
    }
    let started = started(folder.path(), &arguments, &[]);
    assert!(started.serves.contains(&format!("{scheme}://127.0.0.1:")), "{}", started.serves);
    assert!(started.serves.ends_with(&format!("; metrics at http://{metrics}")));
    assert!(get(&metrics, "/health").contains(r#""health":"true""#));
    let log = started.log();
    for ignored in ["--peer-cert-file", "--experimental-initial-corrupt-check"] {
        assert!(log.contains(ignored) && log.contains("option has no effect"), "{log}");
    }
}

#[test]
fn manifest_of_kubeadm_starts() {
    // The dependencies of these tests enable TLS in the command, without its feature `tls`.
    starts_by_the_manifest_of_kubeadm(false);
    starts_by_the_manifest_of_kubeadm(true);
}

#[test]
fn flags_override_environment_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    let variables = [
        ("ETCD_NAME", "infra0"),
        ("ETCD_DATA_DIR", "data"),
        ("ETCD_LISTEN_CLIENT_URLS", "http://127.0.0.1:1"),
        ("ETCD_ADVERTISE_CLIENT_URLS", "http://127.0.0.1:2379"),
        ("ETCD_LISTEN_PEER_URLS", "http://127.0.0.1:2380,http://127.0.0.2:2380"),
        ("ETCD_INITIAL_ADVERTISE_PEER_URLS", "http://127.0.0.1:2380"),
        ("ETCD_INITIAL_CLUSTER", "infra0=http://127.0.0.1:2380"),
        ("ETCD_INITIAL_CLUSTER_STATE", "new"),
        ("ETCD_INITIAL_CLUSTER_TOKEN", "etcd-cluster-1"),
        ("ETCD_AUTO_COMPACTION_RETENTION", "1"),
        ("ETCD_ENABLE_V2", "false"),
        ("ETCD_QUOTA_BACKEND_BYTES", "8589934592"),
        ("ETCD_UNKNOWN", "1"),
    ];
    let started =
        started(folder.path(), &["--listen-client-urls", "http://127.0.0.1:0"], &variables);
    let (name, address) = started.serves.split_once(" serves clients at http://").expect("a line");
    assert_eq!(name, "infra0");
    assert!(folder.path().join("data").is_dir());
    assert!(get(address, "/metrics").contains("etcd_server_quota_backend_bytes 8589934592\n"));
    let log = started.log();
    let unused = "unused=\"http://127.0.0.2:2380\"";
    for warning in ["--auto-compaction-retention", "ETCD_UNKNOWN", "--listen-peer-urls", unused] {
        assert!(log.contains(warning), "{warning}: {log}");
    }
    assert!(!log.contains("--enable-v2"), "the default value is requested: {log}");
}

#[test]
fn invalid_variable_is_rejected_and_files_exclude_variables() {
    let rejected = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .arg("serve")
        .env("ETCD_HEARTBEAT_INTERVAL", "often")
        .output()
        .expect("the command starts");
    assert_fails_with(&rejected, 2, "invalid environment variable ETCD_…: invalid value 'often'");
    let folder = tempfile::tempdir().expect("a folder");
    let file = "name = \"a\"\nlisten-client-urls = \"http://127.0.0.1:0\"\n";
    std::fs::write(folder.path().join("a.toml"), file).expect("room");
    let variables = [("ETCD_NAME", "b"), ("ETCD_HEARTBEAT_INTERVAL", "often")];
    let started = started(folder.path(), &["--config", "a.toml"], &variables);
    assert!(started.serves.starts_with("a serves"), "{}", started.serves);
    // A value may be a secret, so the log contains only the names.
    let log = started.log();
    for (variable, value) in variables {
        assert!(log.contains(&format!("variable=\"{variable}\"")), "{variable}: {log}");
        assert!(!log.contains(&format!("={value}")), "{variable}: {log}");
    }
}

#[test]
fn configuration_file_sets_the_log_unless_arguments_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = "log-level = \"error\"\nlog-format = \"json\"\n\
                listen-client-urls = \"http://127.0.0.1:0\"\n";
    std::fs::write(folder.path().join("a.toml"), file).expect("room");
    let arguments = ["--config", "a.toml", "--enable-pprof"];
    let quiet = started(folder.path(), &arguments, &[]);
    assert!(!quiet.log().contains("--enable-pprof"), "the level is error: {}", quiet.log());
    let arguments = [&arguments[..], &["--log-level", "warn"]].concat();
    let folder_of_control = tempfile::tempdir().expect("a folder");
    std::fs::write(folder_of_control.path().join("a.toml"), file).expect("room");
    let control = started(folder_of_control.path(), &arguments, &[]).log();
    let warning = control.lines().find(|line| line.contains("--enable-pprof")).expect("a warning");
    assert!(serde_json::from_str::<serde_json::Value>(warning).is_ok(), "{warning}");
    for (line, message) in [
        ("log-level = \"loud\"", "invalid value 'loud' for 'log-level': expected debug, info"),
        ("log-format = \"xml\"", "invalid value 'xml' for 'log-format': expected text or json"),
    ] {
        let path = folder.path().join("b.toml");
        std::fs::write(&path, line).expect("room");
        assert_fails_with(&tenure(&format!("serve --config {}", path.display())), 2, message);
    }
}

#[test]
fn private_key_of_a_member_must_be_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display();
    assert!(tenure(&format!("keys new --nodes 3 --to {place}/keys")).status.success());
    let key = folder.path().join("keys/p1.key");
    let urls = "a=http://127.0.0.1:1,b=http://127.0.0.1:2,c=http://127.0.0.1:3";
    let options = format!(
        "serve --name a --data-dir {place}/data --initial-cluster {urls} \
         --peer-private-key {} --peer-public-keys {place}/missing",
        key.display()
    );
    for (mode, message) in [
        (0o644, "other users can access this private key (mode 0644): run `chmod 600"),
        (0o660, "other users can access this private key (mode 0660): run `chmod 600"),
        // With this mode, the member accepts the key file and fails at the next file.
        (0o600, "missing: No such file"),
        (0o400, "missing: No such file"),
    ] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).expect("a mode");
        assert_fails_with(&tenure(&options), 2, message);
    }
}

#[test]
fn hangup_ends_no_member_and_reads_keys_again() {
    let keys = "--peer-private-key keys/p1.key --peer-public-keys keys/public.keys";
    for options in ["", keys] {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("keys");
        assert!(tenure(&format!("keys new --nodes 1 --to {}", place.display())).status.success());
        let mut arguments = vec!["--listen-client-urls", "http://127.0.0.1:0"];
        arguments.extend(options.split_whitespace());
        let mut started = started(folder.path(), &arguments, &[]);
        let id = started.member.id().to_string();
        let hang_up = |outcome: &str| {
            assert!(signal("-HUP", &id));
            until(|| started.log().contains(outcome));
        };
        if options.is_empty() {
            hang_up("no keys to reload");
        } else {
            hang_up("keys reloaded");
            std::fs::write(place.join("public.keys"), "P1 nonsense\n").expect("room");
            hang_up("keys not reloaded");
        }
        assert!(signal("-TERM", &id));
        assert_eq!(started.member.wait().expect("an end").code(), Some(0));
    }
}

#[test]
fn log_format_json_writes_one_object_per_event() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments =
        ["--listen-client-urls", "http://127.0.0.1:0", "--enable-pprof", "--log-format", "json"];
    let started = started(folder.path(), &arguments, &[]);
    let log = started.log();
    let events: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let ignored = events.iter().find(|event| event["fields"]["option"] == "--enable-pprof");
    assert_eq!(ignored.expect("a warning")["level"], "WARN", "{log}");
    let rejected = tenure("serve --log-format xml");
    assert_fails_with(&rejected, 2, "invalid value 'xml' for '--log-format");
}
