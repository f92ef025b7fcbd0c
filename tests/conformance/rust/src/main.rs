//! Calls a server through the Rust client `etcd-client`, and prints the responses. The output must
//! be the same for etcd and `tenure serve`.

use std::time::Duration;

use etcd_client::{
    Client, Compare, CompareOp, DeleteOptions, Error, EventType, GetOptions, LeaderKey,
    LockOptions, PutOptions, ResignOptions, Txn, TxnOp,
};
use tokio::time::timeout;

const TIME_LIMIT: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::args().nth(1).expect("HOST:PORT");
    let mut client = Client::connect([address], None).await?;
    keys(&mut client).await?;
    leases(&mut client).await?;
    watches(&mut client).await?;
    locks(&mut client).await?;
    elections(&mut client).await?;
    println!("{} members", client.member_list().await?.members().len());
    println!("version {}", client.status().await?.version());
    Ok(())
}

async fn keys(client: &mut Client) -> Result<(), Error> {
    let put = client.put("r/a", "1", None).await?;
    println!("put: revision {}", put.header().expect("a header").revision());
    let options = PutOptions::new().with_prev_key();
    let put = client.put("r/a", "2", Some(options)).await?;
    println!("before: {:?}", put.prev_key().map(|it| it.value_str().expect("text").to_owned()));
    client.put("r/b", "3", None).await?;
    let got = client.get("r/", Some(GetOptions::new().with_prefix())).await?;
    for kv in got.kvs() {
        let (key, value) = (kv.key_str()?, kv.value_str()?);
        let (created, changed) = (kv.create_revision(), kv.mod_revision());
        println!("{key}={value} created {created} changed {changed} version {}", kv.version());
    }
    let is_two = [Compare::value("r/a", CompareOp::Equal, "2")];
    let txn = || {
        Txn::new()
            .when(is_two.clone())
            .and_then([TxnOp::put("r/a", "4", None)])
            .or_else([TxnOp::get("r/a", None)])
    };
    println!("swapped: {}, {}", client.txn(txn()).await?.succeeded(), {
        let again = client.txn(txn()).await?;
        again.succeeded()
    });
    match client.get("r/a", Some(GetOptions::new().with_revision(99))).await {
        Ok(_) => println!("future revision accepted"),
        Err(error) => println!("{error}"),
    }
    let gone = client.delete("r/", Some(DeleteOptions::new().with_prefix())).await?;
    println!("deleted: {}", gone.deleted());
    Ok(())
}

async fn leases(client: &mut Client) -> Result<(), Error> {
    let lease = client.lease_grant(60, None).await?;
    println!("granted: {}", lease.ttl());
    client.put("r/leased", "1", Some(PutOptions::new().with_lease(lease.id()))).await?;
    let (mut keeper, mut kept) = client.lease_keep_alive(lease.id()).await?;
    keeper.keep_alive().await?;
    println!("kept: {:?}", kept.message().await?.map(|it| it.ttl()));
    client.lease_revoke(lease.id()).await?;
    println!("left: {}", client.get("r/leased", None).await?.count());
    match client.lease_revoke(lease.id()).await {
        Ok(_) => println!("revoked twice"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}

async fn watches(client: &mut Client) -> Result<(), Error> {
    let (_watcher, mut stream) = client.watch("r/w", None).await?;
    client.put("r/w", "1", None).await?;
    client.delete("r/w", None).await?;
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        let message = timeout(TIME_LIMIT, stream.message()).await.expect("soon")?;
        for event in message.expect("a message").events() {
            kinds.push(match event.event_type() {
                EventType::Put => "put",
                EventType::Delete => "delete",
            });
        }
    }
    println!("kinds: {kinds:?}");
    Ok(())
}

async fn locks(client: &mut Client) -> Result<(), Error> {
    let lease = client.lease_grant(60, None).await?.id();
    let with = || Some(LockOptions::new().with_lease(lease));
    let held = client.lock("r/lock", with()).await?;
    println!("acquired: {}", held.key().starts_with(b"r/lock/"));
    let mut other = client.clone();
    let waits = tokio::spawn(async move { other.lock("r/lock", None).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    println!("next client waits: {}", !waits.is_finished());
    client.unlock(held.key().to_vec()).await?;
    let next = timeout(TIME_LIMIT, waits).await.expect("soon").expect("a task")?;
    println!("next client acquired: {}", next.key() != held.key());
    client.unlock(next.key().to_vec()).await?;
    client.lease_revoke(lease).await?;
    Ok(())
}

async fn elections(client: &mut Client) -> Result<(), Error> {
    let lease = client.lease_grant(60, None).await?.id();
    let campaigned = client.campaign("r/office", "me", lease).await?;
    let key: LeaderKey = campaigned.leader().expect("a leader").clone();
    println!("leader: {:?}", key.name_str()?);
    let leader = client.leader("r/office").await?;
    println!("value: {:?}", leader.kv().expect("a key").value_str()?);
    client.resign(Some(ResignOptions::new().with_leader(key))).await?;
    match client.leader("r/office").await {
        Ok(_) => println!("still leader"),
        Err(error) => println!("{error}"),
    }
    client.lease_revoke(lease).await?;
    Ok(())
}
