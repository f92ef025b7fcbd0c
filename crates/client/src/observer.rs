//! Who sees who leads.

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb::KeyValue;
use tokio::time::{Instant, sleep};

use crate::client::{Client, PATIENCE};
use crate::error::ClientError;
use crate::line::Pauses;
use crate::txn;
use crate::watching::{News, Watching};

/// How an office stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Office {
    /// Nobody leads.
    Vacant,
    /// Somebody does.
    Led {
        /// The key by which the service knows them.
        key: Vec<u8>,
        /// What they have said last.
        value: Vec<u8>,
        /// The number of their term of office.
        fence: u64,
    },
}

/// Who sees who leads an election, from now on.
pub struct Observer {
    client: Client,
    name: String,
    watching: Option<Watching>,
    seen: Option<Office>,
    pauses: Pauses,
}

impl Observer {
    pub(crate) fn new(client: Client, name: &str) -> Self {
        let name = name.to_owned();
        Observer { client, name, watching: None, seen: None, pauses: Pauses::default() }
    }

    /// Waits for the next change; the first is what there is now. What has changed again
    /// meanwhile may be left out, and nothing is said twice.
    ///
    /// While nobody answers it waits.
    ///
    /// # Errors
    ///
    /// [`ClientError::Refused`] if the service will not have it.
    pub async fn next(&mut self) -> Result<Office, ClientError> {
        loop {
            let Some(watching) = &mut self.watching else {
                match self.look().await {
                    Ok(office) if self.seen.as_ref() == Some(&office) => continue,
                    Ok(office) => {
                        self.seen = Some(office.clone());
                        return Ok(office);
                    }
                    Err(ClientError::Silence { .. }) => continue,
                    Err(error) => return Err(error),
                }
            };
            let news = watching.next().await;
            let leader = match &self.seen {
                Some(Office::Led { key, .. }) => Some(key),
                _ => None,
            };
            match news {
                News::Put(kv) if Some(&kv.key) == leader => {
                    self.pauses = Pauses::default();
                    let office = led(kv);
                    if self.seen.as_ref() != Some(&office) {
                        self.seen = Some(office.clone());
                        return Ok(office);
                    }
                }
                // Whoever stands behind the leader changes nothing.
                News::Put(_) if leader.is_some() => {}
                News::Put(kv) if !txn::is_direct(&self.name, &kv.key) => {}
                News::Released => {}
                News::Deleted(gone) if Some(&gone.key) != leader => {}
                News::Put(_) | News::Deleted(_) => self.watching = None,
                News::Forgotten | News::Refused | News::Broken => {
                    self.watching = None;
                    sleep(self.pauses.next()).await;
                }
            }
        }
    }

    /// Who leads now; watches from there on.
    async fn look(&mut self) -> Result<Office, ClientError> {
        let line = self.client.line.clone();
        let deadline = Instant::now() + PATIENCE;
        let (mut from, mut limit) = (0, 1);
        loop {
            let oldest = txn::oldest(&self.name, from, limit);
            let range: rpc::RangeResponse =
                line.ask("/etcdserverpb.KV/Range", oldest, deadline).await?;
            let newest = range.kvs.iter().map(|kv| txn::unsigned(kv.create_revision)).max();
            let is_full = i64::try_from(range.kvs.len()).is_ok_and(|count| count >= limit);
            let leader = range.kvs.into_iter().find(|kv| txn::is_direct(&self.name, &kv.key));
            // Keys come behind all others: what was seen so far stays of other elections.
            if let Some(newest) = newest.filter(|_| leader.is_none() && is_full) {
                limit = if newest == from { limit * 2 } else { limit.max(8) };
                from = newest;
                continue;
            }
            let revision = range.header.map_or(0, |header| txn::unsigned(header.revision));
            self.watching = Some(Watching::span(line, txn::span(&self.name), revision + 1));
            return Ok(leader.map_or(Office::Vacant, led));
        }
    }
}

fn led(kv: KeyValue) -> Office {
    Office::Led { fence: txn::unsigned(kv.create_revision), key: kv.key, value: kv.value }
}
