//! The state of each member of a service, by its own word.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};
use tenure_client::{Admin, ClientError, Member, MemberStatus};
use tenure_trace::plain;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::table::columns;

/// Time within which a member has to report its state.
const REPORT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Time within which a quorum has to confirm who the members are.
const QUORUM_TIMEOUT: Duration = Duration::from_secs(3);

/// All members and what they reported. Scripts depend on the names.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// True if a quorum has confirmed who the members are.
    pub(super) quorum: bool,
    /// Identifier of the leader, if one reports that it leads.
    #[serde(serialize_with = "hex_or_null")]
    leader: Option<u64>,
    members: Vec<Line>,
}

/// A member and what it reported.
#[derive(Debug, Serialize)]
struct Line {
    #[serde(serialize_with = "hex")]
    id: u64,
    name: String,
    peer_urls: Vec<String>,
    client_urls: Vec<String>,
    learner: bool,
    leader: bool,
    state: State,
    /// What the member reported; nothing if it is unreachable.
    term: Option<u64>,
    applied_index: Option<u64>,
    /// Number of entries that the leader has applied and this member has not.
    lag: Option<u64>,
    version: Option<String>,
    errors: Vec<String>,
    /// Why the member did not report.
    unreachable: Option<String>,
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
    const fn name(self) -> &'static str {
        match self {
            State::Leader => "leader",
            State::Follower => "follower",
            State::Learner => "learner",
            State::NoLeader => "no leader",
            State::Unreachable => "unreachable",
        }
    }
}

fn hex<S: Serializer>(id: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{id:x}"))
}

fn hex_or_null<S: Serializer>(id: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => hex(id, to),
        None => to.serialize_none(),
    }
}

/// Reports by the identifier of the member that made them, and reasons by that of the one that did
/// not.
#[derive(Debug, Default)]
struct Answers {
    reports: BTreeMap<u64, MemberStatus>,
    silent: BTreeMap<u64, String>,
}

/// Asks each member for its state. The members are those after a change that was just made, if
/// there was one.
pub(super) async fn survey(
    admin: &Admin,
    endpoints: &[String],
    changed: Option<Vec<Member>>,
) -> Result<Report, ClientError> {
    let is_changed = changed.is_some();
    let mut members = match changed {
        Some(members) => members,
        // Each member knows them, also without a quorum.
        None => admin.members(false).await?,
    };
    let (mut answers, mut quorum) = (Answers::default(), is_changed);
    if is_changed {
        answers.ask(admin, endpoints, &members).await;
    } else {
        let confirmed = timeout(QUORUM_TIMEOUT, admin.members(true));
        let (confirmed, ()) = tokio::join!(confirmed, answers.ask(admin, endpoints, &members));
        match confirmed {
            Ok(Ok(confirmed)) => {
                let is_new = |it: &&Member| members.iter().all(|known| known.id != it.id);
                let new: Vec<Member> = confirmed.iter().filter(is_new).cloned().collect();
                answers.ask(admin, &[], &new).await;
                (members, quorum) = (confirmed, true);
            }
            Ok(Err(error @ ClientError::Refused { .. })) => return Err(error),
            Ok(Err(_)) | Err(_) => {}
        }
    }
    Ok(Report::new(&members, &answers, quorum))
}

impl Answers {
    /// Asks these members at the client URLs that they advertise, and these endpoints, which may be
    /// other ways to them; all at the same time.
    async fn ask(&mut self, admin: &Admin, endpoints: &[String], members: &[Member]) {
        let mut asking = JoinSet::new();
        let mut ask = |of: Option<u64>, urls: Vec<String>| {
            let at = admin.at(&urls);
            asking.spawn(async move {
                let status = async { at?.status().await };
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
                    let why = "it has not told where clients reach it".to_owned();
                    self.silent.insert(member.id, why);
                }
                false => ask(Some(member.id), member.client_urls.clone()),
            }
        }
        // Not for an endpoint that does not respond, if all members have.
        while !members.iter().all(|it| self.reports.contains_key(&it.id)) {
            let Some(answered) = asking.join_next().await else { return };
            let Ok((of, status)) = answered else { continue };
            match (of, status) {
                (Some(id), Err(why)) => {
                    self.silent.insert(id, why);
                }
                (None, Err(_)) => {}
                (of, Ok(status)) => {
                    if let Some(id) = of.filter(|id| *id != status.id) {
                        let why = format!("member {:x} answers at its client URL", status.id);
                        self.silent.insert(id, why);
                    }
                    self.reports.insert(status.id, status);
                }
            }
        }
    }
}

impl Report {
    fn new(members: &[Member], answers: &Answers, quorum: bool) -> Report {
        // Of two that claim to lead the one of the later term does.
        let leads = |it: &&MemberStatus| it.leader == it.id && it.id != 0;
        let leader = answers.reports.values().filter(leads).max_by_key(|it| it.term);
        let applied = leader.map(|it| it.applied_index);
        let lines = members.iter().map(|it| Line::new(it, answers, applied)).collect();
        Report { quorum, leader: leader.map(|it| it.id), members: lines }
    }

    /// The report as a table, with a line for everything that is wrong.
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
                it.state.name().to_owned(),
                number(it.term),
                number(it.applied_index),
                number(it.lag),
                it.version.clone().unwrap_or_else(|| "-".to_owned()),
                urls,
            ]
        }));
        let mut text = columns(&rows);
        for it in &self.members {
            let who = if it.name.is_empty() { format!("{:x}", it.id) } else { it.name.clone() };
            if let Some(why) = &it.unreachable {
                let peers = it.peer_urls.join(", ");
                text += &format!("{who} is unreachable: {why} (its peer URL: {peers})\n");
            }
            for error in &it.errors {
                text += &format!("{who} reports: {error}\n");
            }
        }
        if !self.quorum {
            let voters = || self.members.iter().filter(|it| !it.learner);
            let there = voters().filter(|it| it.unreachable.is_none()).count();
            let all = voters().count();
            text += &format!("no quorum: {there} of {all} voting members answered, ");
            text += match self.leader {
                Some(_) => "and the leader could not confirm that it leads\n",
                None => "and none of them leads\n",
            };
        }
        text
    }
}

impl Line {
    fn new(member: &Member, answers: &Answers, applied: Option<u64>) -> Line {
        let report = answers.reports.get(&member.id);
        let clean = |texts: &[String]| texts.iter().map(|it| plain(it).into_owned()).collect();
        let state = match report {
            None => State::Unreachable,
            Some(it) if it.leader == it.id => State::Leader,
            Some(it) if it.leader == 0 => State::NoLeader,
            Some(it) if it.is_learner || member.is_learner => State::Learner,
            Some(_) => State::Follower,
        };
        let why = answers.silent.get(&member.id).map(|it| plain(it).into_owned());
        let why = || why.unwrap_or_else(|| "it was not asked".to_owned());
        Line {
            id: member.id,
            name: plain(&member.name).into_owned(),
            peer_urls: clean(&member.peer_urls),
            client_urls: clean(&member.client_urls),
            learner: member.is_learner,
            leader: state == State::Leader,
            state,
            term: report.map(|it| it.term),
            applied_index: report.map(|it| it.applied_index),
            lag: report.and_then(|it| Some(applied?.saturating_sub(it.applied_index))),
            version: report.map(|it| plain(&it.version).into_owned()),
            errors: report.map_or_else(Vec::new, |it| clean(&it.errors)),
            unreachable: report.is_none().then(why),
        }
    }
}
