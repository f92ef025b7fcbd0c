//! `tenure status`: prints the current leader of nodes, or of the members of a lock service.

mod client;
#[cfg(feature = "service")]
mod service_members;
mod table;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use clap::Args;
use serde::Serialize;
use tenure_daemon::Config;
use tenure_daemon::page::access_token_file;
use tenure_daemon::status::{LeaderInfo, NodeStatus};

use super::failure::{Failure, Status};
use super::output::Format;

#[cfg(feature = "service")]
const EXAMPLES: &str = "Examples:
  tenure status node-1.toml
  tenure status node-1.toml node-2.toml node-3.toml --format json
  tenure status http://127.0.0.1:7180/
  tenure status --endpoints http://127.0.0.1:2379
  tenure status /etc/tenure/a.toml";

#[cfg(not(feature = "service"))]
const EXAMPLES: &str = "Examples:
  tenure status node-1.toml
  tenure status node-1.toml node-2.toml node-3.toml --format json
  tenure status http://127.0.0.1:7180/";

/// Show the current leader, and the state of each node or member of a lock service
///
/// Nodes: queries their status pages, and shows the leader and the time since its election, as each
/// node sees them. A configuration file names the page of its own node, and those of all nodes if
/// it has page.addresses. A page that is reachable from other machines requires a token. With a
/// configuration file, the command reads the token of its node, page.token in the directory of
/// [store], and sends it to all pages: give all nodes a copy of one page.token. Otherwise, use the
/// addresses that the nodes reported.
///
#[cfg_attr(
    feature = "service",
    doc = "Lock service: a client URL of one member, or its configuration file, is enough to query \
           all members. If no argument is given, --endpoints selects the service. Shows for each \
           member its role, term, applied index, lag and version, and the numbers of claims that \
           hold a lock or wait.\n\n"
)]
/// Exit status: 0 if all respond, 4 if one does not, or if the service has no quorum.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Configuration files of nodes or members, URLs of pages, or client URLs of members (also
    /// without http://)
    #[arg(value_name = "CONFIG|URL", value_parser = target)]
    #[cfg_attr(not(feature = "service"), arg(required = true))]
    targets: Vec<String>,
    #[cfg(feature = "service")]
    #[command(flatten)]
    endpoints: super::service::EndpointOptions,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// A node whose status is requested. `node` is the number of the node, or `None` if the user gave
/// only a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    node: Option<u32>,
    /// Address of the status page of the node, as `host:port`; `None` if the address is not known.
    page: Option<String>,
    /// Query part of the URL of the status page. It contains the token: `?token=…`. Empty if there
    /// is no token.
    query: String,
}

/// Status of one node, or the reason why the status is unknown. Exactly one of `status` and `error`
/// is present.
#[derive(Debug, Serialize)]
struct Response {
    node: Option<u32>,
    page: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<NodeStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct ClusterStatus {
    /// The leader on which all nodes that responded agree. `None` if they do not agree, if one of
    /// them knows no leader, or if no node responded.
    leader: Option<LeaderInfo>,
    nodes: Vec<Response>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    #[cfg(feature = "service")]
    if options.targets.is_empty() {
        return super::service::status::run(&options.endpoints, options.format);
    }
    #[cfg(feature = "service")]
    if let Some(urls) = service_members::client_urls(&options.targets)? {
        return super::service::status::run(
            &options.endpoints.with_endpoints(urls),
            options.format,
        );
    }
    let mut targets: Vec<Target> = Vec::new();
    for argument in &options.targets {
        for target in targets_of(argument)? {
            if !targets.iter().any(|known| known.is_same(&target)) {
                targets.push(target);
            }
        }
    }
    let nodes = deduplicate(client::query_all(&targets));
    let cluster = ClusterStatus { leader: agreed_leader(&nodes), nodes };
    options.format.print(&cluster, || table::table(&cluster))?;
    let silent =
        cluster.nodes.iter().any(|response| response.page.is_some() && response.error.is_some());
    Ok(if silent { Status::Environment } else { Status::Success })
}

/// Checks an argument of the command, and returns the argument. Rejects an `http` URL without a
/// host or a port. Adds `http://` to `HOST:PORT`, unless there is a file with this name.
fn target(argument: &str) -> Result<String, String> {
    let page = argument.strip_prefix("http://").map(|rest| address(rest).page.unwrap_or_default());
    match page {
        Some(page) if !is_host_and_port(&page) => Err("expected http://HOST:PORT".to_owned()),
        None if is_host_and_port(argument) && !Path::new(argument).exists() => {
            Ok(format!("http://{argument}"))
        }
        _ => Ok(argument.to_owned()),
    }
}

fn is_host_and_port(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or_default();
    !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
}

impl Target {
    /// Returns true if `other` adds nothing to `self`: both have the same page, or `other` has no
    /// page and both have the same node.
    fn is_same(&self, other: &Target) -> bool {
        let same = self.node.is_some() && self.node == other.node;
        if other.page.is_none() { same } else { self.page == other.page }
    }
}

/// Removes a response without the address of its status page if another response for the same node
/// has an address.
fn deduplicate(mut cluster: Vec<Response>) -> Vec<Response> {
    let responding = cluster.iter().filter(|response| response.page.is_some());
    let responding: BTreeSet<Option<u32>> = responding.map(|response| response.node).collect();
    cluster.retain(|response| response.page.is_some() || !responding.contains(&response.node));
    cluster
}

/// Returns the nodes that an argument of the command denotes. The argument is the URL of a status
/// page, or the path of the configuration file of a node. A configuration file denotes all nodes of
/// its cluster.
fn targets_of(argument: &str) -> Result<Vec<Target>, Failure> {
    match argument.strip_prefix("http://") {
        Some(rest) => Ok(vec![address(rest)]),
        None => configured(Path::new(argument)),
    }
}

/// Returns the node with the status page at `http://` plus `rest`.
fn address(rest: &str) -> Target {
    let (page, path) = rest.split_once('/').unwrap_or((rest, ""));
    let query = path.find('?').map_or(String::new(), |place| path[place..].to_owned());
    Target { node: None, page: Some(page.to_owned()), query }
}

fn configured(path: &Path) -> Result<Vec<Target>, Failure> {
    let config = Config::read(path).map_err(Failure::usage)?;
    let invalid = |message: &str| Failure::usage(format!("{}: {message}", path.display()));
    let page = config.page.as_ref().ok_or_else(|| {
        invalid("the node has no status page: add [page] with listen = \"127.0.0.1:7180\"")
    })?;
    let own = match &page.addresses[..] {
        [] if page.listen.port() == 0 => {
            let message = "page.listen has port 0: use the URL that the node reported instead";
            return Err(invalid(message));
        }
        [] => page.listen.to_string(),
        all => all[config.me().index()].clone(),
    };
    let query = match page.listen.ip().to_canonical().is_loopback() {
        true => String::new(),
        false => token_query(&access_token_file(&config.store))?,
    };
    let target = |number: u32| {
        let named = page.addresses.get(number as usize - 1).cloned();
        let page = if number == config.cluster.me { Some(own.clone()) } else { named };
        Target { node: Some(number), page, query: query.clone() }
    };
    Ok((1..=config.node_count()).map(target).collect())
}

/// Reads the token of the status page of a node, and returns the token as the query of a URL. A
/// node that has never started has no file with a token. In this case, returns an empty query.
fn token_query(file: &Path) -> Result<String, Failure> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => {
            return Err(Failure::environment(format!(
                "cannot read the token of the page in {}: {error}: run the command as the user of \
                 the node, or use the URL that the node reported",
                file.display()
            )));
        }
    };
    let token = text.trim_end();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let message = "contains no token: remove it, and restart the node to create a new one";
        return Err(Failure::environment(format!("{} {message}", file.display())));
    }
    Ok(format!("?token={token}"))
}

/// Returns the leader on which all nodes that responded agree. Returns `None` if they do not agree,
/// if one of them knows no leader, or if no node responded. If the leader itself responded, the
/// details about the leader come from its own response.
fn agreed_leader(cluster: &[Response]) -> Option<LeaderInfo> {
    let all = || cluster.iter().filter_map(|response| response.status.as_ref());
    let first = all().next()?.leader.clone()?;
    let agrees = |seen: &LeaderInfo| (seen.process, seen.term) == (first.process, first.term);
    if !all().all(|status| status.leader.as_ref().is_some_and(agrees)) {
        return None;
    }
    let itself = all().find(|status| status.process == first.process);
    itself.and_then(|status| status.leader.clone()).or(Some(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_of_several_files_is_listed_once() {
        let response = |node: u32, page: Option<&str>| {
            let page = page.map(str::to_owned);
            Response { node: Some(node), page, status: None, error: None }
        };
        // Two configuration files of a group of three, each without the addresses of the other
        // pages.
        let all = vec![
            response(1, Some("a")),
            response(2, None),
            response(3, None),
            response(2, Some("b")),
        ];
        let left = deduplicate(all);
        let left: Vec<_> = left.iter().map(|it| (it.node, it.page.as_deref())).collect();
        assert_eq!(left, [(Some(1), Some("a")), (Some(3), None), (Some(2), Some("b"))]);
    }

    #[test]
    fn host_and_port_without_a_file_are_a_url() {
        for (argument, expected) in [
            ("127.0.0.1:2379", Ok("http://127.0.0.1:2379")),
            ("[::1]:2379", Ok("http://[::1]:2379")),
            ("http://localhost:2379", Ok("http://localhost:2379")),
            ("https://localhost:2379", Ok("https://localhost:2379")),
            ("node-1.toml", Ok("node-1.toml")),
            ("folder/a:7", Ok("folder/a:7")),
            ("http://localhost", Err("expected http://HOST:PORT")),
        ] {
            assert_eq!(target(argument).as_deref().map_err(|error| &error[..]), expected);
        }
    }

    #[test]
    fn url_may_have_a_token() {
        let target = address("192.0.2.7:7180/?token=0123");
        assert_eq!(target.page.as_deref(), Some("192.0.2.7:7180"));
        assert_eq!(target.query, "?token=0123");
        assert_eq!(address("localhost:7180").query, "");
    }
}
