//! Reservation of loopback ports for processes that are started later.

use std::collections::HashSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

const ATTEMPTS: usize = 16;

/// Loopback ports, each reserved by a socket that is bound but does not listen.
///
/// On Linux, a process can listen on a reserved port, even after a restart, because the sockets
/// permit other sockets to use the same address. When a process asks for a free port, Linux does
/// not choose a reserved port.
///
/// On other systems, the ports are chosen but not reserved.
#[derive(Debug)]
pub struct ReservedPorts {
    addresses: Vec<SocketAddr>,
    _held: Vec<Socket>,
}

impl ReservedPorts {
    /// Reserves `port_count` ports until the value is dropped. On systems other than Linux, only
    /// chooses ports that are free at present.
    ///
    /// # Errors
    ///
    /// The error of the operating system if it provides no socket or no port. No port is reserved
    /// then.
    pub fn reserve(port_count: u32) -> io::Result<ReservedPorts> {
        let (mut addresses, mut held, mut taken) = (Vec::new(), Vec::new(), HashSet::new());
        for _ in 0..port_count {
            let (address, socket) = reserve_except(&taken)?;
            taken.insert(address.port());
            addresses.push(address);
            held.push(socket);
        }
        if !cfg!(target_os = "linux") {
            held.clear();
        }
        Ok(ReservedPorts { addresses, _held: held })
    }

    /// Returns the addresses of the reserved ports.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

/// Reserves a port until this process ends, and returns its loopback address. For tests.
///
/// # Panics
///
/// If the operating system provides no port.
pub fn reserve_address() -> SocketAddr {
    static HELD: Mutex<Vec<ReservedPorts>> = Mutex::new(Vec::new());
    let ports = ReservedPorts::reserve(1).expect("a port");
    let address = ports.addresses[0];
    HELD.lock().expect("not poisoned").push(ports);
    address
}

fn reserve_except(taken: &HashSet<u16>) -> io::Result<(SocketAddr, Socket)> {
    for _ in 0..ATTEMPTS {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&SockAddr::from(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))?;
        let address = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        if !taken.contains(&address.port()) {
            return Ok((address, socket));
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn held_port_can_be_listened_on_repeatedly() {
        let ports = ReservedPorts::reserve(20).unwrap();
        for address in ports.addresses() {
            for _ in 0..2 {
                let listener = TcpListener::bind(address).unwrap();
                let _dialed = TcpStream::connect(address).unwrap();
                let _accepted = listener.accept().unwrap();
            }
            assert!(TcpStream::connect(address).is_err());
        }
    }

    #[test]
    fn reserved_port_is_given_only_on_request() {
        let reserved: Vec<SocketAddr> = (0..50).map(|_| reserve_address()).collect();
        for _ in 0..20_000 {
            let other = TcpListener::bind("127.0.0.1:0").unwrap();
            assert!(!reserved.contains(&other.local_addr().unwrap()));
        }
        for address in reserved {
            TcpListener::bind(address).unwrap();
        }
    }

    #[test]
    fn second_listener_on_a_held_port_fails() {
        let ports = ReservedPorts::reserve(1).unwrap();
        let _first = TcpListener::bind(ports.addresses()[0]).unwrap();
        let error = TcpListener::bind(ports.addresses()[0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
