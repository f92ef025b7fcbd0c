//! Serves a store over its standard input and output, in the JSON of etcd's gateway. The program
//! reads a line such as `{"call": "kv/put", "body": {…}}` and prints the response.
//! `tests/etcd/differential.py` compares its responses with those of an etcd.

#[path = "speak/answers.rs"]
mod answers;
#[path = "speak/requests.rs"]
mod requests;

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use tenure_store::{Command, Error, LogPosition, Store, StoreLimits};

fn main() -> std::io::Result<()> {
    let limits = StoreLimits {
        max_events: usize::MAX,
        max_bytes: usize::MAX,
        max_revisions: u64::MAX,
        ..StoreLimits::default()
    };
    let (mut store, mut at) = (Store::new(limits), LogPosition { index: 0, term: 1 });
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let answer = match answer(&mut store, &mut at, &request) {
            Ok(answer) => answer,
            Err(error) => json!({ "message": error.message() }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(store: &mut Store, at: &mut LogPosition, request: &Value) -> Result<Value, Error> {
    let body = &request["body"];
    let command = match request["call"].as_str().unwrap_or_default() {
        "kv/range" => {
            let found = store.range(&requests::range(body))?;
            return Ok(answers::with_header(store.revision(), answers::found(&found)));
        }
        "lease/timetolive" => return Ok(answers::lease(store, requests::number(body, "ID"))),
        "lease/leases" => return Ok(answers::leases(store)),
        "watch" => return Ok(answers::past_events(store, &requests::watch(body))),
        "kv/put" => Command::Put(requests::put(body)),
        "kv/deleterange" => Command::Delete(requests::delete(body)),
        "kv/txn" => Command::Txn(requests::txn(body)),
        "kv/compaction" => Command::Compact { revision: requests::number(body, "revision") },
        "lease/grant" => Command::Grant {
            lease: requests::number(body, "ID"),
            ttl: requests::number(body, "TTL"),
        },
        "lease/revoke" => Command::Revoke { lease: requests::number(body, "ID") },
        other => panic!("unknown call `{other}`"),
    };
    at.index += 1;
    let outcome = store.apply(*at, command);
    outcome.result.map(|answer| {
        answers::with_header(outcome.revision, answers::result_without_header(&answer))
    })
}
