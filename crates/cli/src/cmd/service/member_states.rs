//! The states of the members of a service, as the members report them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};
use tenure_client::{AdminClient, ClientError, Member, MemberStatus, PeerConnectionStatus};
use tenure_daemon::format_rfc3339;
use tenure_trace::escape_invisible;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cmd::output::{format_columns, json_name};

/// Time within which a member must report its state.
const REPORT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Time within which a quorum must confirm the list of members.
const QUORUM_TIMEOUT: Duration = Duration::from_secs(3);

/// All members of a service with their states. Scripts depend on the keys of its JSON form.
#[derive(Debug, Serialize)]
pub(super) struct MembershipReport {
    /// True if a quorum has confirmed the list of members, or has just changed it.
    pub(super) quorum: bool,
    /// ID of the leader, which may be unreachable; `None` if no member reported a leader.
    #[serde(serialize_with = "hex_or_null")]
    leader: Option<u64>,
    members: Vec<MemberReport>,
}

#[derive(Debug, Serialize)]
struct MemberReport {
    #[serde(serialize_with = "hex")]
    id: u64,
    name: String,
    peer_urls: Vec<String>,
    client_urls: Vec<String>,
    learner: bool,
    leader: bool,
    state: State,
    /// Term that the member reported. If the member did not respond, this field and
    /// `applied_index`, `lag` and `version` are `None`.
    term: Option<u64>,
    applied_index: Option<u64>,
    /// Number of log entries that the leader has applied and this member has not. `None` if this
    /// member or the leader did not respond, or if no leader is known.
    lag: Option<u64>,
    version: Option<String>,
    errors: Vec<String>,
    /// Reason why the member did not respond; `None` if it responded.
    unreachable: Option<String>,
    /// Time since which no responding member has a connection to this member. `None` if this member
    /// responds, if a responding member is connected to it, or if no responding member has lost
    /// such a connection.
    #[serde(serialize_with = "time_or_null")]
    unreachable_since: Option<SystemTime>,
    /// Time of the last message that a responding member received from this member. `None` if this
    /// member responds, or if no such time is known.
    #[serde(serialize_with = "time_or_null")]
    last_contact: Option<SystemTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Leader,
    Follower,
    Learner,
    NoLeader,
    Unreachable,
}

impl State {
    fn name(self) -> String {
        json_name(&self).replace('-', " ")
    }
}

fn hex<S: Serializer>(id: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{id:x}"))
}

fn hex_or_null<S: Serializer>(id: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    id.map(|id| format!("{id:x}")).serialize(to)
}

fn time_or_null<S: Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    time.map(format_rfc3339).serialize(to)
}

/// Responses of the members to the query for their states.
#[derive(Debug, Default)]
struct Responses {
    /// States by member ID. Has no entry for a member that did not respond.
    reports: BTreeMap<u64, MemberStatus>,
    /// Reasons, by member ID, why the query at the client URLs of the member failed. The member may
    /// still have a report, because it can respond at another URL.
    failed: BTreeMap<u64, String>,
}

/// Queries the state of each member. `endpoints` are the URLs that the user gave. If the command
/// has just changed the list of members, `changed_members` is the new list. Otherwise, it is
/// `None`, and the function reads the list.
///
/// # Errors
///
/// Returns an error if the list of members cannot be read from any member, or if the service
/// rejects the request. A member that does not respond is no error.
pub(super) async fn query_members(
    admin: &AdminClient,
    endpoints: &[String],
    changed_members: Option<Vec<Member>>,
) -> Result<MembershipReport, ClientError> {
    let is_changed = changed_members.is_some();
    let mut members = match changed_members {
        Some(members) => members,
        // Reads the list without a quorum, so that any member can respond.
        None => match (admin.members(false).await, admin.without_user()) {
            // A member without a quorum verifies no password.
            (Err(error @ ClientError::Unavailable { .. }), Some(anonymous)) => {
                match timeout(REPORT_TIMEOUT, anonymous.members(false)).await {
                    // The service does not require authentication.
                    Ok(Ok(members)) => members,
                    _ => return query_endpoints(&anonymous, endpoints, error).await,
                }
            }
            (members, _) => members?,
        },
    };
    let (mut responses, mut quorum) = (Responses::default(), is_changed);
    if is_changed {
        responses.ask(admin, endpoints, &members).await;
    } else {
        let confirmed = timeout(QUORUM_TIMEOUT, admin.members(true));
        let (confirmed, ()) = tokio::join!(confirmed, responses.ask(admin, endpoints, &members));
        match confirmed {
            Ok(Ok(confirmed)) => {
                let is_new = |it: &&Member| members.iter().all(|known| known.id != it.id);
                let new: Vec<Member> = confirmed.iter().filter(is_new).cloned().collect();
                responses.ask(admin, &[], &new).await;
                (members, quorum) = (confirmed, true);
            }
            Ok(Err(error @ ClientError::Rejected { .. })) => return Err(error),
            Ok(Err(_)) | Err(_) => {}
        }
    }
    Ok(MembershipReport::new(&members, &responses, quorum))
}

/// Queries the states of the members at `endpoints`, for a service without a quorum that does not
/// return its list of members. The names and the URLs of the members are unknown then. Further
/// members are known by the connections that the others report.
///
/// # Errors
///
/// Returns `error`, with which the list could not be read, if no member responds, or if one of them
/// has a leader, so that the error has another cause than a missing quorum.
async fn query_endpoints(
    admin: &AdminClient,
    endpoints: &[String],
    error: ClientError,
) -> Result<MembershipReport, ClientError> {
    let mut asking = JoinSet::new();
    for endpoint in endpoints {
        let (url, at) = (endpoint.clone(), admin.with_endpoints([endpoint])?);
        asking.spawn(async move { (url, timeout(REPORT_TIMEOUT, at.status()).await) });
    }
    let (mut responses, mut urls) = (Responses::default(), BTreeMap::<u64, Vec<String>>::new());
    while let Some(asked) = asking.join_next().await {
        let Ok((url, Ok(Ok(status)))) = asked else { continue };
        urls.entry(status.id).or_default().push(url);
        for link in &status.links {
            urls.entry(link.id).or_default();
        }
        responses.reports.insert(status.id, status);
    }
    let has_leader = newest_leader(responses.reports.values()).is_some();
    if responses.reports.is_empty() || has_leader {
        return Err(error);
    }
    let member = |(id, client_urls): (u64, Vec<String>)| Member {
        id,
        name: String::new(),
        peer_urls: Vec::new(),
        client_urls,
        is_learner: responses.reports.get(&id).is_some_and(|it| it.is_learner),
    };
    let members: Vec<Member> = urls.into_iter().map(member).collect();
    for member in members.iter().filter(|member| member.client_urls.is_empty()) {
        let reason = "its URLs are unknown without the list of members".to_owned();
        responses.failed.insert(member.id, reason);
    }
    Ok(MembershipReport::new(&members, &responses, false))
}

/// Returns the state of the first member that responds. Asks without the user first, because a
/// member without a quorum verifies no password. Newer releases of etcd require a user.
async fn status_of(at: &AdminClient) -> Result<MemberStatus, ClientError> {
    if let Some(anonymous) = at.without_user() {
        let status = anonymous.status().await;
        if !matches!(status, Err(ClientError::Rejected { .. })) {
            return status;
        }
    }
    at.status().await
}

impl Responses {
    /// Queries members in parallel, at the client URLs that they advertise. Also queries
    /// `endpoints`, because an endpoint may reach a member by another route. Adds the responses to
    /// `self`. Returns when all `members` have responded or all queries have ended.
    async fn ask(&mut self, admin: &AdminClient, endpoints: &[String], members: &[Member]) {
        let mut asking = JoinSet::new();
        let mut ask = |of: Option<u64>, urls: Vec<String>| {
            let at = admin.with_endpoints(&urls);
            asking.spawn(async move {
                let status = async { status_of(&at?).await };
                let status = match timeout(REPORT_TIMEOUT, status).await {
                    Ok(status) => status.map_err(|error| error.to_string()),
                    Err(_) => Err(format!("no response from {}", urls.join(", "))),
                };
                (of, status)
            });
        };
        for endpoint in endpoints {
            ask(None, vec![endpoint.clone()]);
        }
        for member in members {
            match member.client_urls.is_empty() {
                true => {
                    let reason = "it has not published its client URLs".to_owned();
                    self.failed.insert(member.id, reason);
                }
                false => ask(Some(member.id), member.client_urls.clone()),
            }
        }
        // Does not wait for an endpoint if all members have responded.
        while !members.iter().all(|it| self.reports.contains_key(&it.id)) {
            let Some(answered) = asking.join_next().await else { return };
            let Ok((of, status)) = answered else { continue };
            match (of, status) {
                (Some(id), Err(reason)) => {
                    self.failed.insert(id, reason);
                }
                (None, Err(_)) => {}
                (of, Ok(status)) => {
                    if let Some(id) = of.filter(|id| *id != status.id) {
                        let reason = format!("member {:x} responds at its client URL", status.id);
                        self.failed.insert(id, reason);
                    }
                    self.reports.insert(status.id, status);
                }
            }
        }
    }
}

/// Summarizes the connections of the responding members to a member M that does not respond.
/// Returns two times:
///
/// - The time since which no responding member is connected to M. `None` if a responding member is
///   connected to M, or if no responding member has lost a connection to M.
/// - The time of the last message that a responding member received from M. `None` if there was no
///   message.
fn outage(links: &[PeerConnectionStatus]) -> (Option<SystemTime>, Option<SystemTime>) {
    let is_connected = links.iter().any(|it| it.is_connected);
    let since = links.iter().filter_map(|it| it.disconnected_at).max();
    (since.filter(|_| !is_connected), links.iter().filter_map(|it| it.last_contact_at).max())
}

/// Returns the ID of the leader that the members report. If they report different leaders, returns
/// the leader of the latest term. Returns `None` if they report no leader. The leader itself need
/// not be among `reports`.
fn newest_leader<'a>(reports: impl Iterator<Item = &'a MemberStatus>) -> Option<u64> {
    let newest = reports.filter(|it| it.leader != 0).max_by_key(|it| it.term);
    newest.map(|it| it.leader)
}

impl MembershipReport {
    fn new(members: &[Member], responses: &Responses, quorum: bool) -> MembershipReport {
        // A member of another cluster may respond at an endpoint or at a client URL.
        let of_members = members.iter().filter_map(|it| responses.reports.get(&it.id));
        let leader = newest_leader(of_members);
        let of_leader = leader.and_then(|leader| responses.reports.get(&leader));
        let applied = of_leader.map(|it| it.applied_index);
        let lines = members.iter().map(|it| MemberReport::new(it, responses, applied)).collect();
        MembershipReport { quorum, leader, members: lines }
    }

    /// Returns the report of the leader. Returns `None` if the leader is unknown or is not in the
    /// list of members.
    fn leader_report(&self) -> Option<&MemberReport> {
        self.members.iter().find(|it| Some(it.id) == self.leader)
    }

    /// Returns the name of the leader. Returns `None` if the leader is unknown or is not in the
    /// list of members.
    pub(super) fn leader_name(&self) -> Option<&str> {
        self.leader_report().map(|it| it.name.as_str())
    }

    /// Returns true if the leader is known and has not responded.
    pub(super) fn is_leader_unreachable(&self) -> bool {
        self.leader_report().is_some_and(|it| it.unreachable.is_some())
    }

    /// Returns the latest term that a member reported; `None` if no member responded.
    pub(super) fn term(&self) -> Option<u64> {
        self.members.iter().filter_map(|it| it.term).max()
    }

    /// Returns the number of members that responded, and the number of all members.
    pub(super) fn responding_and_total(&self) -> (usize, usize) {
        let there = self.members.iter().filter(|it| it.unreachable.is_none()).count();
        (there, self.members.len())
    }

    pub(super) fn text(&self) -> String {
        let head = ["id", "name", "state", "term", "applied", "lag", "version", "client URL"];
        let mut rows = vec![head.map(str::to_owned)];
        let number =
            |value: Option<u64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        rows.extend(self.members.iter().map(|it| {
            let urls =
                if it.client_urls.is_empty() { "-".into() } else { it.client_urls.join(",") };
            [
                format!("{:x}", it.id),
                it.name.clone(),
                it.state.name(),
                number(it.term),
                number(it.applied_index),
                number(it.lag),
                it.version.clone().unwrap_or_else(|| "-".to_owned()),
                urls,
            ]
        }));
        let mut text = format_columns(&rows, |_| false);
        for it in &self.members {
            let name = if it.name.is_empty() { format!("{:x}", it.id) } else { it.name.clone() };
            if let Some(reason) = &it.unreachable {
                let (peers, since) = (it.peer_urls.join(", "), it.since());
                text += &format!("{name} is unreachable{since}: {reason} (peer URL: {peers})\n");
            }
            for error in &it.errors {
                text += &format!("{name} reports: {error}\n");
            }
        }
        if !self.quorum {
            let voters = || self.members.iter().filter(|it| !it.learner);
            let there = voters().filter(|it| it.unreachable.is_none()).count();
            let all = voters().count();
            text += &format!("no quorum: {there} of {all} voting members responded, ");
            text += match self.leader {
                Some(_) if !self.is_leader_unreachable() => {
                    "and the leader could not confirm that it leads\n"
                }
                _ => "and none of them leads\n",
            };
        }
        text
    }
}

impl MemberReport {
    fn new(member: &Member, responses: &Responses, applied: Option<u64>) -> MemberReport {
        let report = responses.reports.get(&member.id);
        let clean =
            |texts: &[String]| texts.iter().map(|it| escape_invisible(it).into_owned()).collect();
        let state = match report {
            None => State::Unreachable,
            Some(it) if it.leader == it.id => State::Leader,
            Some(it) if it.leader == 0 => State::NoLeader,
            Some(it) if it.is_learner || member.is_learner => State::Learner,
            Some(_) => State::Follower,
        };
        let reason = responses.failed.get(&member.id).map(|it| escape_invisible(it).into_owned());
        let reason = || reason.unwrap_or_else(|| "it was not queried".to_owned());
        let links = responses.reports.values().flat_map(|it| &it.links);
        let links: Vec<_> = links.filter(|it| it.id == member.id).copied().collect();
        let (since, contact) = if report.is_none() { outage(&links) } else { (None, None) };
        MemberReport {
            id: member.id,
            name: escape_invisible(&member.name).into_owned(),
            peer_urls: clean(&member.peer_urls),
            client_urls: clean(&member.client_urls),
            learner: member.is_learner,
            leader: state == State::Leader,
            state,
            term: report.map(|it| it.term),
            applied_index: report.map(|it| it.applied_index),
            lag: report.and_then(|it| Some(applied?.saturating_sub(it.applied_index))),
            version: report.map(|it| escape_invisible(&it.version).into_owned()),
            errors: report.map_or_else(Vec::new, |it| clean(&it.errors)),
            unreachable: report.is_none().then(reason),
            unreachable_since: since,
            last_contact: contact,
        }
    }

    /// Returns text that says since when the member is unreachable. If this time is unknown, the
    /// text says when the last contact with the member was. If both times are unknown, returns an
    /// empty text.
    fn since(&self) -> String {
        match (self.unreachable_since, self.last_contact) {
            (Some(since), _) => format!(" since {}", format_rfc3339(since)),
            (None, Some(last)) => format!(" (last contact: {})", format_rfc3339(last)),
            (None, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn link(
        is_connected: bool,
        disconnected: Option<u64>,
        contact: Option<u64>,
    ) -> PeerConnectionStatus {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let (disconnected_at, last_contact_at) = (disconnected.map(at), contact.map(at));
        PeerConnectionStatus { id: 3, is_connected, disconnected_at, last_contact_at }
    }

    #[test]
    fn leader_of_the_latest_term_leads_even_if_it_does_not_respond() {
        let status = |id, leader, term| MemberStatus {
            id,
            leader,
            term,
            version: String::new(),
            applied_index: 0,
            is_learner: false,
            errors: Vec::new(),
            links: Vec::new(),
        };
        let leader = |reports: &[MemberStatus]| newest_leader(reports.iter());
        assert_eq!(leader(&[status(1, 2, 7)]), Some(2), "a follower names it");
        assert_eq!(leader(&[status(1, 1, 3), status(3, 2, 7)]), Some(2), "P1 was deposed");
        assert_eq!(leader(&[status(1, 0, 9), status(2, 2, 7)]), Some(2));
        assert_eq!(leader(&[status(1, 0, 9)]), None);
    }

    #[test]
    fn report_of_another_cluster_does_not_name_the_leader() {
        let status = |id, leader, term, applied_index| MemberStatus {
            id,
            leader,
            term,
            version: String::new(),
            applied_index,
            is_learner: false,
            errors: Vec::new(),
            links: Vec::new(),
        };
        let member = Member {
            id: 1,
            name: "a".to_owned(),
            peer_urls: Vec::new(),
            client_urls: Vec::new(),
            is_learner: false,
        };
        let mut responses = Responses::default();
        for it in [status(1, 1, 2, 12), status(9, 9, 7, 5_000)] {
            responses.reports.insert(it.id, it);
        }
        let report = MembershipReport::new(&[member], &responses, true);
        assert_eq!((report.leader, report.leader_name()), (Some(1), Some("a")));
        assert_eq!(report.members[0].lag, Some(0));
    }

    #[test]
    fn outage_begins_with_the_last_lost_connection() {
        let seconds = |links: &[PeerConnectionStatus]| {
            let since = |at: SystemTime| at.duration_since(UNIX_EPOCH).expect("later").as_secs();
            let (outage, contact) = outage(links);
            (outage.map(since), contact.map(since))
        };
        let lost = [link(false, Some(7), Some(5)), link(false, Some(9), Some(6))];
        assert_eq!(seconds(&lost), (Some(9), Some(6)));
        // One member is still connected, so there is no outage. The unreachable member is
        // suspended, or its client port is closed.
        let partial = [link(false, Some(7), Some(5)), link(true, None, Some(8))];
        assert_eq!(seconds(&partial), (None, Some(8)));
        // There are two cases without any time: no member was ever connected to the unreachable
        // member, or the members are those of etcd, which report no connections.
        assert_eq!(seconds(&[link(false, None, None)]), (None, None));
        assert_eq!(seconds(&[]), (None, None));
    }
}
