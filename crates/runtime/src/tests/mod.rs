//! Tests of nodes whose disk is slow or stuck, or whose process is stopped. Only this crate can
//! simulate these faults.

mod handover;
mod late_error;
mod lease_expiry;
mod overdue_claim;
mod stop_with_timer;
mod stuck_disk;

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use tenure_core::ProcessId;

use crate::store::{StableStorage, StateOwner};
use crate::transport::{Listen, MeshSettings};

const EVENT_TIMEOUT: Duration = Duration::from_secs(120);

fn open(directory: &Path, me: ProcessId, group_size: u32) -> StableStorage {
    let owner = StateOwner { cluster: "test".into(), process: me, group_size };
    StableStorage::open(directory.join(me.to_string()), &owner, "test").expect("a store")
}

fn listeners<const N: usize>() -> ([TcpListener; N], Vec<String>) {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let address = |it: &TcpListener| it.local_addr().expect("an address").to_string();
    let addresses = listeners.iter().map(address).collect();
    (listeners, addresses)
}

fn settings(
    me: ProcessId,
    store: &StableStorage,
    listener: TcpListener,
    addresses: &[String],
) -> MeshSettings {
    let (session, listen) = (store.session(), Listen::Listener(listener));
    MeshSettings::on_loopback("test", me, session, addresses.to_vec(), listen)
}
