//! The status of a lock service: the states of its members, and the numbers of its locks.

use serde_json::{Value, json};

use super::endpoint::EndpointOptions;
use super::locks::{self, LockTotals};
use super::member_states::{MembershipReport, query_members};
use crate::cmd::failure::{Failure, Status};
use crate::cmd::output::Format;

pub(crate) fn run(endpoints: &EndpointOptions, format: Format) -> Result<Status, Failure> {
    let service = endpoints.blocking_client()?;
    let report = service.call(query_members(&service.admin, service.endpoints(), None))?;
    let totals = match report.quorum {
        true => locks::fetch_totals(&service).map_err(|error| error.to_string()),
        // Without a quorum, a read of the locks would wait until its time limit.
        false => Err("there is no quorum".to_owned()),
    };
    let data = to_json(&report, &totals)?;
    format.print(&data, || summary(&report, &totals) + &report.text())?;
    let (responding, all) = report.responding_and_total();
    let is_complete = report.quorum && responding == all;
    Ok(if is_complete { Status::Success } else { Status::Environment })
}

fn to_json(
    report: &MembershipReport,
    totals: &Result<LockTotals, String>,
) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(report).map_err(Failure::environment)?;
    value["leader_name"] = json!(report.leader_name());
    value["locks"] = match totals {
        Ok(totals) => json!(totals),
        Err(reason) => json!({ "error": reason }),
    };
    Ok(value)
}

fn summary(report: &MembershipReport, totals: &Result<LockTotals, String>) -> String {
    let leader = match (report.leader_name(), report.term()) {
        (Some(leader), Some(term)) => {
            let silent = if report.is_leader_unreachable() { " (it does not respond)" } else { "" };
            format!("{leader} leads in term {term}{silent}")
        }
        _ => "no leader".to_owned(),
    };
    let (responding, all) = report.responding_and_total();
    let locks = match totals {
        Ok(LockTotals { locks, held, waiting }) => {
            format!("{locks} locks and elections, {held} claims hold, {waiting} wait")
        }
        Err(reason) => format!("the locks are not counted: {reason}"),
    };
    format!("{leader}; {responding} of {all} members respond\n{locks}\n")
}
