//! Tests of the page of a member of a lock service.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_browser::Tab;

use crate::lab_page::wait_for;
use crate::layout::CUT;
use crate::member::Member;

const SHOWN: &str = "window.dashboard?.state";

/// Expression that returns the overlapping texts of table cells.
const OVER: &str = "(() => {
    const all = Array.from(document.querySelectorAll('h1, h2, p, dt, dd, td, th, li, label'))
        .filter((each) => each.checkVisibility() && !each.closest('thead'))
        .filter((each) => !each.querySelector('td, th, li, dd, dt, p'))
        .map((each) => [each.textContent, each.getBoundingClientRect()]);
    if (all.length < 2) return ['nothing is shown'];
    return all.flatMap(([one, a], place) => all.slice(place + 1)
        .filter(([, b]) => a.left + 1 < b.right && b.left + 1 < a.right
            && a.top + 1 < b.bottom && b.top + 1 < a.bottom)
        .map(([two]) => `${one} and ${two}`));
})()";

/// Starts a member of a cluster. `cluster` is the value of `--initial-cluster`.
fn start(folder: &Path, name: &str, cluster: &str) -> Member {
    let data = folder.join(name);
    Member::start(&format!(
        "--name {name} --initial-cluster {cluster} --data-dir {}",
        data.display()
    ))
}

impl Member {
    /// Sends a JSON request to the member. Returns the connection without reading the response.
    fn send(&self, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let (body, length) = (body.to_string(), body.to_string().len());
        write!(stream, "POST {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")
            .expect("it reads");
        stream
    }

    /// Sends a JSON request to the member until it succeeds, and returns the response.
    fn ask(&self, path: &str, body: &Value) -> Value {
        let until = Instant::now() + Duration::from_secs(120);
        loop {
            let mut response = String::new();
            self.send(path, body).read_to_string(&mut response).expect("a response");
            let body = response.split_once("\r\n\r\n").expect("a head").1;
            let answer: Value = serde_json::from_str(body).unwrap_or_default();
            if response.starts_with("HTTP/1.0 200") {
                return answer;
            }
            assert!(Instant::now() < until, "{path}: {response}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Requests a lock with a lease. The claim exists until the connection is closed.
    fn lock(&self, name: &str, lease: u64) -> TcpStream {
        self.ask("/v3/lease/grant", &json!({ "ID": lease, "TTL": 600 }));
        self.send("/v3/lock/lock", &json!({ "name": base64(name), "lease": lease }))
    }

    fn url(&self) -> String {
        format!("http://{}/dashboard", self.address)
    }
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for three in text.as_bytes().chunks(3) {
        let number = three.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        let number = number << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place) & 63) as usize];
            encoded.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    encoded
}

/// Starts three members of one cluster. The last one has a long name.
fn cluster(folder: &Path) -> Vec<Member> {
    let names = ["north", "south", "a-member-with-a-long-name.region-7.example.internal"];
    let urls =
        names.map(|name| format!("{name}=http://{}", tenure_runtime::ports::reserve_address()));
    let cluster = urls.join(",");
    names.iter().map(|name| start(folder, name, &cluster)).collect()
}

#[test]
fn dashboard_shows_members_and_queues_and_fits_at_any_width() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut members = cluster(folder.path());
    let long = "a/lock/with-a-name/that-has/no-space/".repeat(5) + "end";
    let mut calls = Vec::new();
    for (name, lease) in [("jobs/nightly", 16), (&*long, 17), ("jobs/nightly", 18), (&*long, 19)] {
        calls.push(members[0].lock(name, lease));
    }
    tab.emulate_display(1280, 900, "light");
    tab.visit(&members[0].url(), SHOWN);
    let claims =
        "Array.from(document.querySelectorAll('#locks .waits'), (each) => each.textContent)";
    tab.wait_until(&format!("String({claims}.sort()) === '12,13'"));
    let roles = "document.querySelectorAll('#members .leads').length";
    tab.wait_until(&format!("{roles} === 1"));
    let names =
        "Array.from(document.querySelectorAll('#members tbody th'), (each) => each.textContent)";
    let expected = json!(["a-member-with-a-long-name.region-7.example.internal", "north", "south"]);
    assert_eq!(tab.evaluate(names), expected);
    let blocked = "Array.from(document.querySelectorAll('#blocked tbody tr'), (each) =>
        [each.cells[0].textContent, each.cells[3].textContent]).sort()";
    assert_eq!(tab.evaluate(blocked), json!([["12", "10"], ["13", "11"]]));
    let put = |lease: u64, user: &str| {
        let client = json!({ "tenure": 1, "user": user, "host": "db1", "pid": 7, "command": "sh" });
        let (key, value) = (format!("jobs/nightly/{lease:x}"), base64(&client.to_string()));
        let put = json!({ "key": base64(&key), "value": value, "lease": lease });
        members[0].ask("/v3/kv/put", &put);
    };
    put(16, "ann");
    put(18, "bob");
    for described in ["10 ann@db1 7 sh", "12 bob@db1 7 sh"] {
        tab.wait_until(&format!("{blocked}.flat().includes('{described}')"));
    }
    let labels = "Array.from(document.querySelectorAll('#tiles dt'), (each) => Math.round(
        each.getBoundingClientRect().top - each.parentElement.getBoundingClientRect().top))";
    assert_eq!(tab.evaluate(&format!("new Set({labels}).size === 1")), json!(true));
    for (wide, look) in [(1280, "light"), (1280, "dark"), (500, "light"), (500, "dark")] {
        tab.emulate_display(wide, 800, look);
        tab.wait_until(&format!("innerWidth === {wide}"));
        assert_eq!(tab.evaluate(CUT), json!([]), "{look} at {wide} pixels");
        assert_eq!(tab.evaluate(OVER), json!([]), "{look} at {wide} pixels");
    }
    // Control experiment: `CUT` finds a part that is wider than the window.
    tab.evaluate("document.getElementById('about').style.minWidth = '900px'");
    assert_ne!(tab.evaluate(CUT), json!([]));
    tab.evaluate("document.getElementById('about').style.minWidth = ''");
    members.remove(1);
    tab.wait_until("document.getElementById('warnings').textContent.includes('member south')");
    let lost = "Array.from(document.querySelectorAll('#members tr.lost'), (each) =>
        each.cells[0].textContent + ' ' + each.cells[1].textContent)";
    tab.wait_until(&format!("{lost}.join() === 'south unreachable'"));
    assert_eq!(tab.complaints, [""; 0]);
    members.remove(0);
    wait_for(&mut tab, "document.getElementById('status').className === 'lost'");
    drop(calls);
}

#[test]
fn dashboard_light_and_dark_differ() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = format!("one=http://{}", tenure_runtime::ports::reserve_address());
    let member = start(folder.path(), "one", &cluster);
    tab.visit(&member.url(), SHOWN);
    let papers = ["light", "dark"].map(|look| {
        tab.emulate_display(1280, 800, look);
        tab.evaluate("getComputedStyle(document.body).backgroundColor")
    });
    assert_ne!(papers[0], papers[1]);
    assert_eq!(tab.complaints, [""; 0]);
}

#[test]
fn dashboard_asks_for_a_user_if_users_are_enabled() {
    let Some(mut tab) = Tab::open() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = format!("one=http://{}", tenure_runtime::ports::reserve_address());
    let member = start(folder.path(), "one", &cluster);
    let _calls = [16, 17].map(|lease| member.lock("jobs/nightly", lease));
    let claims = json!({ "key": base64("jobs/nightly/"), "range_end": base64("jobs/nightly0") });
    let until = Instant::now() + Duration::from_secs(120);
    while member.ask("/v3/kv/range", &claims)["count"] != "2" {
        assert!(Instant::now() < until, "the claims are not queued");
        std::thread::sleep(Duration::from_millis(20));
    }
    for (path, body) in [
        ("/v3/auth/user/add", json!({ "name": "root", "password": "secret" })),
        ("/v3/auth/role/add", json!({ "name": "root" })),
        ("/v3/auth/user/grant", json!({ "user": "root", "role": "root" })),
        ("/v3/auth/enable", json!({})),
    ] {
        member.ask(path, &body);
    }
    tab.emulate_display(500, 900, "dark");
    tab.visit(&member.url(), SHOWN);
    tab.wait_until("!document.getElementById('login').hidden");
    assert!(!tab.text("body").contains("jobs/nightly"));
    assert!(tab.text("#tiles").contains("log in to see them"));
    assert_eq!((tab.evaluate(CUT), tab.evaluate(OVER)), (json!([]), json!([])));
    let fill = |tab: &mut Tab, password: &str| {
        tab.evaluate("document.getElementById('name').value = 'root'");
        tab.evaluate(&format!("document.getElementById('password').value = {password:?}"));
        tab.click("#login button");
    };
    fill(&mut tab, "wrong");
    wait_for(&mut tab, "document.getElementById('login-reason').textContent.includes('failed')");
    fill(&mut tab, "secret");
    wait_for(&mut tab, "document.getElementById('locks').textContent.includes('jobs/nightly')");
    assert!(tab.text("#user").contains("root"));
    tab.click("#logout");
    wait_for(&mut tab, "!document.getElementById('login').hidden");
    assert!(!tab.text("body").contains("jobs/nightly"));
    // The only complaints are those of the browser about the rejected request with the wrong
    // password.
    assert!(tab.complaints.iter().all(|it| it.contains("status of 4")), "{:?}", tab.complaints);
}
