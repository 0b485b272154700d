//! Sets the options of an accepted socket.

use std::{io, time::Duration};

use socket2::SockRef;
use tokio::net::TcpStream;

use crate::ServerLimits;

/// Sends small frames at once, keeps little unsent in the kernel, and ends a connection whose peer
/// is dead or does not read. Without the second, a reader that does not read would have megabytes
/// of stale frames in the kernel.
pub(crate) fn tune(stream: &TcpStream, limits: &ServerLimits) -> io::Result<()> {
    stream.set_nodelay(true)?;
    tune_further(&SockRef::from(stream), limits.max_unsent_bytes, limits.stall_timeout)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn tune_further(socket: &SockRef<'_>, max_unsent_bytes: u32, patience: Duration) -> io::Result<()> {
    socket.set_tcp_notsent_lowat(max_unsent_bytes)?;
    socket.set_tcp_user_timeout(Some(patience))
}

/// Does nothing. On other systems only the connection's own timer ends it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn tune_further(_: &SockRef<'_>, _: u32, _: Duration) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_accepted_socket_keeps_little_unsent_and_knows_dead_peers() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let limits = ServerLimits::default();
        tune(&stream, &limits).unwrap();
        let socket = SockRef::from(&stream);
        assert!(stream.nodelay().unwrap());
        assert_eq!(socket.tcp_notsent_lowat().unwrap(), limits.max_unsent_bytes);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(limits.stall_timeout));
    }
}
