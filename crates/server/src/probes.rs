//! Health probes, under the paths and with the parameters of etcd 3.6.

use http::{HeaderValue, Response, StatusCode, header};
use tonic::body::Body;

use crate::listener::{json, respond};
use crate::member::Member;
use crate::refusal::Refusal;

/// A check of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// The data are what they were written as. A member that finds out otherwise ends.
    DataCorruption,
    /// The member can read its own store.
    SerializableRead,
    /// The member has caught up with what a majority has confirmed.
    LinearizableRead,
}

/// What a probe asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// Whether the process works, with or without a leader.
    Live,
    /// Whether requests of clients can be served.
    Ready,
}

impl Check {
    const ALL: [Check; 3] =
        [Check::DataCorruption, Check::SerializableRead, Check::LinearizableRead];

    fn name(self) -> &'static str {
        match self {
            Check::DataCorruption => "data_corruption",
            Check::SerializableRead => "serializable_read",
            Check::LinearizableRead => "linearizable_read",
        }
    }
}

impl Probe {
    fn checks(self) -> &'static [Check] {
        match self {
            Probe::Live => &[Check::SerializableRead],
            Probe::Ready => &Check::ALL,
        }
    }

    async fn run(self, member: &Member, check: Check) -> Result<(), Refusal> {
        match check {
            Check::DataCorruption => Ok(()),
            Check::SerializableRead => {
                member.is_running()?;
                // It is alive while it waits for its peers, and not ready to read.
                if self == Probe::Ready { member.is_back().await } else { Ok(()) }
            }
            Check::LinearizableRead => member.confirm().await,
        }
    }
}

/// True if a probe is served at this path.
pub(crate) fn is_probe(path: &str) -> bool {
    path == "/health" || probe_at(path).is_some()
}

/// The probe at a path, with its checks: `/readyz`, or `/readyz/linearizable_read` for one of them.
fn probe_at(path: &str) -> Option<(Probe, Vec<Check>)> {
    let mut parts = path.strip_prefix('/')?.splitn(2, '/');
    let probe = match parts.next()? {
        "livez" => Probe::Live,
        "readyz" => Probe::Ready,
        _ => return None,
    };
    let checks = probe.checks().iter().copied();
    let checks: Vec<Check> = match parts.next() {
        Some(name) => checks.filter(|check| check.name() == name).collect(),
        None => checks.collect(),
    };
    (!checks.is_empty()).then_some((probe, checks))
}

/// Answers a probe.
pub(crate) async fn answer(member: &Member, path: &str, query: &str) -> Response<Body> {
    let allowed = if path == "/health" { HEALTH } else { CHECKS };
    let parameters = match parameters(query, allowed) {
        Ok(parameters) => parameters,
        Err(why) => return text(StatusCode::BAD_REQUEST, format!("{why}\n")),
    };
    match probe_at(path) {
        Some((probe, checks)) => checked(member, probe, &checks, &parameters).await,
        None => health(member, &parameters).await,
    }
}

/// Parameters of `/health`, and of the others.
const HEALTH: &[&str] = &["exclude", "serializable"];
const CHECKS: &[&str] = &["exclude", "verbose"];

/// The parameters of a query with their values. Others than those allowed are rejected: a probe
/// that misspells one would otherwise ask something else than it means.
fn parameters<'a>(query: &'a str, allowed: &[&str]) -> Result<Vec<(&'a str, &'a str)>, String> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match allowed.contains(&name) {
                true => Ok((name, value)),
                false => Err(format!(
                    "unknown query parameter '{name}': expected {}",
                    allowed.join(" or ")
                )),
            }
        })
        .collect()
}

/// `/health`: whether a leader is known and the member has caught up with it; with
/// `serializable=true` whether the member itself works. `exclude` names alarms to ignore.
async fn health(member: &Member, parameters: &[(&str, &str)]) -> Response<Body> {
    // As etcd names it; its liveness probe excludes it.
    let is_full = member.look(|state| state.store.is_full());
    if is_full && !parameters.contains(&("exclude", "NOSPACE")) {
        return unhealthy("ALARM NOSPACE");
    }
    let checked = match parameters.contains(&("serializable", "true")) {
        true => member.is_running(),
        false if member.standing().leader.is_none() => return unhealthy("RAFT NO LEADER"),
        false => member.confirm().await,
    };
    match checked {
        Ok(()) => json(StatusCode::OK, r#"{"health":"true","reason":""}"#.into()),
        Err(refused) => unhealthy(&format!("RANGE ERROR:{refused}")),
    }
}

fn unhealthy(reason: &str) -> Response<Body> {
    let reason = serde_json::Value::from(reason);
    let text = format!(r#"{{"health":"false","reason":{reason}}}"#);
    json(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// `/livez` and `/readyz`: `ok`, or each check that failed and why. `exclude` names checks to leave
/// out; names of checks that do not exist are ignored, as at etcd.
async fn checked(
    member: &Member,
    probe: Probe,
    checks: &[Check],
    parameters: &[(&str, &str)],
) -> Response<Body> {
    let (mut report, mut status) = (String::new(), StatusCode::OK);
    let is_excluded = |check: &&Check| parameters.contains(&("exclude", check.name()));
    for check in checks.iter().filter(|check| !is_excluded(check)) {
        let name = check.name();
        match probe.run(member, *check).await {
            Ok(()) => report.push_str(&format!("[+]{name} ok\n")),
            Err(refused) => {
                status = StatusCode::SERVICE_UNAVAILABLE;
                report.push_str(&format!("[-]{name} failed: {refused}\n"));
            }
        }
    }
    let is_verbose = parameters.iter().any(|(name, _)| *name == "verbose");
    match status {
        StatusCode::OK if is_verbose => text(status, format!("{report}ok\n")),
        StatusCode::OK => text(status, "ok\n".into()),
        _ => text(status, report),
    }
}

fn text(status: StatusCode, text: String) -> Response<Body> {
    let mut response = respond(status, "text/plain; charset=utf-8", text);
    let no_sniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, no_sniff);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_probes_and_single_checks() {
        for path in ["/health", "/livez", "/readyz", "/livez/serializable_read"] {
            assert!(is_probe(path), "{path}");
        }
        for path in ["/livez/linearizable_read", "/readyz/", "/readyz/other", "/healthz", "/"] {
            assert!(!is_probe(path), "{path}");
        }
        let one = probe_at("/readyz/linearizable_read");
        assert_eq!(one, Some((Probe::Ready, vec![Check::LinearizableRead])));
    }

    #[test]
    fn unknown_query_parameters_are_rejected() {
        let read = |query| parameters(query, HEALTH);
        assert_eq!(read(""), Ok(vec![]));
        let known = vec![("serializable", "true"), ("exclude", "NOSPACE")];
        assert_eq!(read("serializable=true&exclude=NOSPACE"), Ok(known));
        let why = "unknown query parameter 'serialisable': expected exclude or serializable";
        assert_eq!(read("serialisable=true"), Err(why.to_owned()));
    }
}
