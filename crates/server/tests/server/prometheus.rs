//! Alert rules and the dashboard in a real Prometheus. If Prometheus is not installed, the tests
//! are skipped with a message.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::member::{Files, Member, base64, exchange, post};
use crate::metrics::document;
use crate::skipped::report_skip;

const TIMEOUT: Duration = Duration::from_secs(180);

/// Returns true if the programs of Prometheus are installed. Writes a message otherwise.
fn is_installed() -> bool {
    let runs = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let installed = runs("promtool") && runs("prometheus");
    if !installed {
        report_skip("prometheus");
    }
    installed
}

fn promtool(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let run = Command::new("promtool").args(arguments).current_dir(directory).output();
    let run = run.expect("promtool");
    let text = [run.stdout, run.stderr].concat();
    (run.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Process that runs Prometheus. It is killed on drop.
struct Prometheus {
    process: Child,
    address: SocketAddr,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts a Prometheus that scrapes `members` twice a second. It uses the alert rules of the
    /// documentation, with the delay `for` set to 0. Each alert therefore fires as soon as its
    /// condition holds.
    fn start(members: &[&Member]) -> Prometheus {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let rules = fs::read_to_string(document("monitoring/alerts.yml")).expect("the rules");
        let rules = rules.lines().map(|line| match line.trim_start().starts_with("for: ") {
            true => "        for: 0s\n".to_owned(),
            false => format!("{line}\n"),
        });
        let file = |name: &str, text: String| {
            fs::write(folder.path().join(name), text).expect("a write");
        };
        file("alerts.yml", rules.collect());
        let targets: Vec<String> = members.iter().map(|it| format!("'{}'", it.address)).collect();
        let config = format!(
            "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n  \
             evaluation_interval: 250ms\n\
             rule_files: [alerts.yml]\n\
             scrape_configs:\n- job_name: tenure\n  static_configs: [{{ targets: [{}] }}]\n",
            targets.join(", ")
        );
        file("prometheus.yml", config);
        let address = tenure_runtime::ports::reserve_address();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", folder.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus");
        Prometheus { process, address, _folder: folder }
    }

    /// Returns the response to a request of the API; `None` if Prometheus does not respond yet.
    fn ask(&self, path: &str) -> Option<Value> {
        let response = exchange(self.address, &format!("GET {path} HTTP/1.0\r\n\r\n"))?;
        serde_json::from_str(&response.body).ok()
    }

    fn query(&self, expression: &str) -> Value {
        let encoded = expression.bytes().map(|byte| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        });
        let path = format!("/api/v1/query?query={}", encoded.collect::<String>());
        let response = self.ask(&path).expect("a response");
        assert_eq!(response["status"], "success", "{expression}: {response}");
        response["data"]["result"].clone()
    }

    fn firing(&self) -> Vec<String> {
        let alerts = self.ask("/api/v1/alerts").expect("a response");
        let alerts = alerts["data"]["alerts"].as_array().expect("alerts").clone();
        let firing = alerts.iter().filter(|it| it["state"] == "firing");
        firing.map(|it| it["labels"]["alertname"].as_str().expect("a name").to_owned()).collect()
    }

    fn fires(&self, alert: &str) -> bool {
        self.firing().iter().any(|it| it == alert)
    }

    #[track_caller]
    fn wait_until(&self, condition: &str, holds: impl Fn() -> bool) {
        let until = Instant::now() + TIMEOUT;
        while !holds() {
            assert!(Instant::now() < until, "timed out: {condition}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn alert_rules_pass_their_unit_tests() {
    if !is_installed() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    for name in ["alerts.yml", "alerts_test.yml", "prometheus.yml"] {
        fs::copy(document("monitoring").join(name), folder.path().join(name)).expect("a copy");
    }
    let run = |arguments: &[&str]| promtool(folder.path(), arguments);
    for arguments in [
        ["check", "rules", "alerts.yml"],
        ["check", "config", "prometheus.yml"],
        ["test", "rules", "alerts_test.yml"],
    ] {
        let (succeeded, text) = run(&arguments);
        assert!(succeeded, "{arguments:?}: {text}");
    }
    // Control: a rule that never fires fails its test.
    let rules = fs::read_to_string(folder.path().join("alerts.yml")).expect("the rules");
    let weaker = rules.replace("tenure_link_up == 0", "tenure_link_up == 2");
    assert_ne!(weaker, rules);
    fs::write(folder.path().join("alerts.yml"), weaker).expect("a write");
    let (succeeded, text) = run(&["test", "rules", "alerts_test.yml"]);
    assert!(!succeeded && text.contains("TenureMemberUnreachable"), "{text}");
}

fn busy_members() -> (Files, Vec<Member>) {
    let (files, members) = Member::cluster();
    members[0].put("a", "1");
    members[0].ask("/v3/lease/grant", &json!({ "ID": 7, "TTL": 600 }));
    members[0].ask("/v3/lock/lock", &json!({ "name": base64("jobs"), "lease": 7 }));
    for member in &members {
        // The service rejects this request, because the lease does not exist.
        let request = json!({ "key": base64("a"), "lease": 9 });
        assert_ne!(post(member.address, "/v3/kv/put", &request).map(|it| it.0), Some(200));
    }
    (files, members)
}

#[test]
fn killed_members_fire_alerts() {
    if !is_installed() {
        return;
    }
    let (_files, mut members) = busy_members();
    let prometheus = Prometheus::start(&members.iter().collect::<Vec<_>>());
    prometheus.wait_until("Prometheus starts", || prometheus.ask("/api/v1/alerts").is_some());
    prometheus
        .wait_until("all members respond", || prometheus.query("sum(up)")[0]["value"][1] == "3");
    let quiet =
        ["TenureMemberDown", "TenureMemberUnreachable", "TenureQuorumLost", "TenureNoLeader"];
    prometheus.wait_until("no alert fires", || !quiet.iter().any(|it| prometheus.fires(it)));
    assert_dashboard_has_data(&prometheus);
    members.remove(2).kill();
    for alert in ["TenureMemberDown", "TenureMemberUnreachable"] {
        prometheus.wait_until(alert, || prometheus.fires(alert));
    }
    // On a busy machine Prometheus may miss a running member for a moment.
    prometheus
        .wait_until("two of three members are a quorum", || !prometheus.fires("TenureQuorumLost"));
    members.remove(1).kill();
    for alert in ["TenureQuorumLost", "TenureNoLeader"] {
        prometheus.wait_until(alert, || prometheus.fires(alert));
    }
}

fn assert_dashboard_has_data(prometheus: &Prometheus) {
    let text = fs::read_to_string(document("monitoring/dashboard.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() > 20);
    for panel in panels {
        for target in panel["targets"].as_array().expect("queries") {
            let query = target["expr"].as_str().expect("a query");
            let query = query.replace("$job", "tenure").replace("$instance", ".*");
            let query = query.replace("$__rate_interval", "1m");
            assert!(!query.contains('$'), "{query}");
            // This result stays empty, because no connection of a peer was rejected.
            if query.contains("tenure_rejected_total") {
                prometheus.query(&query);
                continue;
            }
            prometheus.wait_until(&query, || {
                prometheus.query(&query).as_array().is_some_and(|result| !result.is_empty())
            });
        }
    }
}
