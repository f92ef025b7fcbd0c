//! Notifications to a service manager, by the protocol of `sd_notify`. Each notification is a text,
//! sent as a datagram to the socket that `NOTIFY_SOCKET` names.

use std::env;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct ServiceManager {
    socket: UnixDatagram,
    to: String,
}

impl ServiceManager {
    /// Returns the service manager whose socket `NOTIFY_SOCKET` names. `None` if the variable is
    /// not set, or no socket can be created.
    pub(crate) fn from_environment() -> Option<ServiceManager> {
        let to = env::var("NOTIFY_SOCKET").ok().filter(|to| !to.is_empty())?;
        let socket = UnixDatagram::unbound().ok()?;
        // A slow manager must not block this process.
        socket.set_nonblocking(true).ok()?;
        Some(ServiceManager { socket, to })
    }

    /// Sends a notification. Ignores errors, because the service also runs without a service
    /// manager.
    pub(crate) fn notify(&self, state: &str) {
        let _ = self.send(state.as_bytes());
    }

    #[cfg(target_os = "linux")]
    fn send(&self, state: &[u8]) -> io::Result<usize> {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::SocketAddr;
        match self.to.strip_prefix('@') {
            Some(name) => self.socket.send_to_addr(state, &SocketAddr::from_abstract_name(name)?),
            None => self.socket.send_to(state, Path::new(&self.to)),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn send(&self, state: &[u8]) -> io::Result<usize> {
        self.socket.send_to(state, Path::new(&self.to))
    }
}

pub(crate) fn notify_service_manager(manager: Option<&ServiceManager>, state: &str) {
    if let Some(manager) = manager {
        manager.notify(state);
    }
}

/// Returns the interval of watchdog notifications. It is a quarter of `WATCHDOG_USEC`, so that late
/// and missing notifications are tolerated. Returns `None` if the service manager expects no
/// notifications, or expects them from another process.
pub(crate) fn watchdog_interval() -> Option<Duration> {
    let own = |pid: String| pid.parse() == Ok(std::process::id());
    if !env::var("WATCHDOG_PID").ok().is_none_or(own) {
        return None;
    }
    let micros: u64 = env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    Some(Duration::from_micros(micros / 4)).filter(|pause| !pause.is_zero())
}
