//! The store behind lines of JSON, in the words of etcd's gateway: `{"call": "kv/put", "body":
//! {…}}` in, its answer out. `tests/etcd/differential.py` compares it with an etcd by this.

#[path = "speak/answers.rs"]
mod answers;
#[path = "speak/requests.rs"]
mod requests;

use std::io::{BufRead, Write};

use serde_json::{Value, json};
use tenure_store::{At, Command, Error, Limits, Store};

fn main() -> std::io::Result<()> {
    let limits =
        Limits { events: usize::MAX, bytes: usize::MAX, revisions: u64::MAX, ..Limits::default() };
    let (mut store, mut at) = (Store::new(limits), At { index: 0, term: 1 });
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let asked: Value = serde_json::from_str(&line?)?;
        let answer = match answer(&mut store, &mut at, &asked) {
            Ok(answer) => answer,
            Err(error) => json!({ "message": error.words() }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(store: &mut Store, at: &mut At, asked: &Value) -> Result<Value, Error> {
    let body = &asked["body"];
    let command = match asked["call"].as_str().unwrap_or_default() {
        "kv/range" => {
            let found = store.range(&requests::range(body))?;
            return Ok(answers::headed(store.revision(), answers::found(&found)));
        }
        "lease/timetolive" => return Ok(answers::lease(store, requests::number(body, "ID"))),
        "lease/leases" => return Ok(answers::leases(store)),
        "watch" => return Ok(answers::watched(store, &requests::watch(body))),
        "kv/put" => Command::Put(requests::put(body)),
        "kv/deleterange" => Command::Delete(requests::delete(body)),
        "kv/txn" => Command::Txn(requests::txn(body)),
        "kv/compaction" => Command::Compact { revision: requests::number(body, "revision") },
        "lease/grant" => Command::Grant {
            lease: requests::number(body, "ID"),
            ttl: requests::number(body, "TTL"),
        },
        "lease/revoke" => Command::Revoke { lease: requests::number(body, "ID") },
        other => panic!("`{other}` is no call"),
    };
    at.index += 1;
    let outcome = store.apply(*at, command);
    outcome.answer.map(|answer| answers::headed(outcome.revision, answers::of(&answer)))
}
