//! A UDP port of this machine.

use std::io::{Error, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};

use rustix::net::sockopt::set_socket_recv_buffer_size;

use crate::error::SocketError;

/// Receive buffer, in bytes: more than a window of packets, if the system allows that.
const RECEIVE_BYTES: usize = 4 << 20;

/// Binds a port of the loopback address, 0 for any free one. Reads do not block.
pub(crate) fn open(port: u16) -> Result<UdpSocket, SocketError> {
    let socket = bind(Ipv4Addr::LOCALHOST, port).map_err(|problem| SocketError::Port { port, problem })?;
    prepare(&socket)?;
    Ok(socket)
}

/// Binds a port of any loopback address. Reads do not block.
pub(crate) fn open_at(address: Ipv4Addr, port: u16) -> Result<UdpSocket, SocketError> {
    let socket = bind(address, port).map_err(|problem| SocketError::Address { address, port, problem })?;
    prepare(&socket)?;
    Ok(socket)
}

fn bind(address: Ipv4Addr, port: u16) -> Result<UdpSocket, String> {
    UdpSocket::bind((address, port)).map_err(|error| error.kind().to_string())
}

fn prepare(socket: &UdpSocket) -> Result<(), SocketError> {
    socket.set_nonblocking(true)?;
    // A smaller buffer loses more: a loss like any other.
    let _ = set_socket_recv_buffer_size(socket, RECEIVE_BYTES);
    Ok(())
}

/// No datagram has arrived, or the other end does not exist (yet): datagrams sent to it are lost.
pub(crate) fn is_nothing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused)
}
