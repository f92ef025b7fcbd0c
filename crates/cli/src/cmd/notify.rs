//! What a service manager is told, as `sd_notify` tells it: words in a datagram to the socket that
//! the environment names.

use std::env;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

/// Whoever started this process as a service and wants to know how it is.
#[derive(Debug)]
pub(crate) struct Manager {
    socket: UnixDatagram,
    to: String,
}

impl Manager {
    /// Who is named by `NOTIFY_SOCKET`; nothing where nobody is, or cannot be told anything.
    pub(crate) fn of_environment() -> Option<Manager> {
        let to = env::var("NOTIFY_SOCKET").ok().filter(|to| !to.is_empty())?;
        let socket = UnixDatagram::unbound().ok()?;
        // It is never worth waiting for.
        socket.set_nonblocking(true).ok()?;
        Some(Manager { socket, to })
    }

    /// Says it. A manager that does not listen is no reason not to go on.
    pub(crate) fn tell(&self, state: &str) {
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

/// How often a manager wants to hear that this process goes on: twice as often as it says, lest one
/// word come late. Nothing where it does not want to, or means another process.
pub(crate) fn watchdog() -> Option<Duration> {
    let own = |pid: String| pid.parse() == Ok(std::process::id());
    if !env::var("WATCHDOG_PID").ok().is_none_or(own) {
        return None;
    }
    let micros: u64 = env::var("WATCHDOG_USEC").ok()?.parse().ok()?;
    Some(Duration::from_micros(micros / 2)).filter(|pause| !pause.is_zero())
}
