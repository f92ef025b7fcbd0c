//! Health probes for load balancers and orchestrators, with the paths and parameters of etcd 3.6.

use http::{HeaderValue, Response, StatusCode, header};
use tonic::body::Body;

use crate::member::Member;
use crate::net::listener::{json_response, plain_response};
use crate::rpc::error::RpcError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// Checks that stored data is intact. It always passes: a member that detects corruption stops.
    DataCorruption,
    SerializableRead,
    LinearizableRead,
}

/// Kind of a probe. It determines which checks run, and whether a read waits for the recovery of
/// the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    /// Liveness: the process works, whether or not a leader is known.
    Live,
    /// Readiness: the member can serve requests of clients.
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

    async fn run(self, member: &Member, check: Check) -> Result<(), RpcError> {
        match check {
            Check::DataCorruption => Ok(()),
            Check::SerializableRead => {
                member.check_running()?;
                // A member that waits for its peers is alive, but not ready to serve reads.
                if self == Probe::Ready { member.wait_recovered().await } else { Ok(()) }
            }
            Check::LinearizableRead => member.wait_linearizable().await,
        }
    }
}

pub(crate) fn is_probe(path: &str) -> bool {
    path == "/health" || probe_at(path).is_some()
}

/// Returns the probe at a path, with the checks to run; `None` if there is no probe at this path.
/// `/readyz` runs all checks of the probe. If the path names a check, as in
/// `/readyz/linearizable_read`, only this check runs.
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

pub(crate) async fn respond(member: &Member, path: &str, query: &str) -> Response<Body> {
    let allowed = if path == "/health" { HEALTH_PARAMETERS } else { CHECKS };
    let parameters = match parameters(query, allowed) {
        Ok(parameters) => parameters,
        Err(why) => return text(StatusCode::BAD_REQUEST, format!("{why}\n")),
    };
    match probe_at(path) {
        Some((probe, checks)) => run_checks(member, probe, &checks, &parameters).await,
        None => health(member, &parameters).await,
    }
}

/// Query parameters that `/health` accepts. The other probes accept the parameters in [`CHECKS`].
const HEALTH_PARAMETERS: &[&str] = &["exclude", "serializable"];
const CHECKS: &[&str] = &["exclude", "verbose"];

/// Returns the names and values of the parameters of a query. Rejects parameters that are not in
/// `allowed`. If a misspelled parameter were ignored, the probe would check the wrong thing.
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

/// Serves `/health`. The member is healthy if no alarm is active, the member knows a leader, and a
/// linearizable read succeeds. With the parameter `serializable=true`, the leader is not needed,
/// and the check only reads the member's own store. With the parameter `exclude=NOSPACE`, the alarm
/// NOSPACE is ignored.
async fn health(member: &Member, parameters: &[(&str, &str)]) -> Response<Body> {
    // The alarm has its name from etcd, because liveness probes for etcd exclude the alarm by this
    // name.
    let is_full = member.with_state(|state| state.store.has_nospace_alarm());
    if is_full && !parameters.contains(&("exclude", "NOSPACE")) {
        return unhealthy("ALARM NOSPACE");
    }
    let checked = match parameters.contains(&("serializable", "true")) {
        true => member.check_running(),
        false if member.leader_status().leader.is_none() => return unhealthy("RAFT NO LEADER"),
        false => member.wait_linearizable().await,
    };
    match checked {
        Ok(()) => json_response(StatusCode::OK, r#"{"health":"true","reason":""}"#.into()),
        Err(error) => unhealthy(&format!("RANGE ERROR:{error}")),
    }
}

fn unhealthy(reason: &str) -> Response<Body> {
    let reason = serde_json::Value::from(reason);
    let text = format!(r#"{{"health":"false","reason":{reason}}}"#);
    json_response(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// Serves `/livez` and `/readyz`. The response is `ok` if all checks pass. If a check fails, or
/// with the parameter `verbose`, the response lists each check with its result. The parameter
/// `exclude` contains the name of a check to skip. An unknown name is ignored, as etcd does.
async fn run_checks(
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
            Err(error) => {
                status = StatusCode::SERVICE_UNAVAILABLE;
                report.push_str(&format!("[-]{name} failed: {error}\n"));
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
    let mut response = plain_response(status, text);
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
        let read = |query| parameters(query, HEALTH_PARAMETERS);
        assert_eq!(read(""), Ok(vec![]));
        let known = vec![("serializable", "true"), ("exclude", "NOSPACE")];
        assert_eq!(read("serializable=true&exclude=NOSPACE"), Ok(known));
        let why = "unknown query parameter 'serialisable': expected exclude or serializable";
        assert_eq!(read("serialisable=true"), Err(why.to_owned()));
    }
}
