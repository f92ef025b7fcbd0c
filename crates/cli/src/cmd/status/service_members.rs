//! Recognizes arguments of `tenure status` that are members of a lock service.

use std::path::Path;
use std::thread;

use super::client::is_responding_service;
use crate::cmd::failure::Failure;

/// Returns the client URLs of the members if all targets are members of a lock service. Returns
/// `None` if no target is a member.
///
/// # Errors
///
/// Returns a usage failure if only some of the targets are members.
pub(super) fn client_urls(targets: &[String]) -> Result<Option<Vec<String>>, Failure> {
    let found: Vec<Option<Vec<String>>> = thread::scope(|scope| {
        let looks: Vec<_> = targets.iter().map(|target| scope.spawn(|| urls_of(target))).collect();
        let joined = looks.into_iter().map(|look| look.join());
        joined.map(|found| found.expect("a look-up does not panic")).collect()
    });
    if found.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut urls = Vec::new();
    for (target, found) in targets.iter().zip(found) {
        let found = found.ok_or_else(|| {
            let message = "is not a member of a lock service that responds, unlike another target";
            Failure::usage(format!("{target} {message}"))
        })?;
        urls.extend(found);
    }
    Ok(Some(urls))
}

/// Returns the client URLs that `target` denotes. The target must be an `https` URL, the URL of a
/// member that responds, or the configuration file of a member. Otherwise, returns `None`.
fn urls_of(target: &str) -> Option<Vec<String>> {
    // Status pages of nodes have no TLS, so an `https` URL belongs to a member.
    if target.starts_with("https://") {
        return Some(vec![target.to_owned()]);
    }
    if let Some(rest) = target.strip_prefix("http://") {
        let address = rest.trim_end_matches('/');
        let has_path = address.contains(['/', '?']);
        return (!has_path && is_responding_service(address))
            .then(|| vec![format!("http://{address}")]);
    }
    // The configuration file of a node has other keys than that of a member, so that it cannot be
    // read as the configuration of a member.
    let config = tenure_server::Config::read(Path::new(target)).ok()?;
    let urls = config.advertise_client_urls.unwrap_or(config.listen_client_urls);
    Some(urls.split(',').map(|url| url.trim().to_owned()).collect())
}
