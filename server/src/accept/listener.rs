//! Listens on an address, on a Unix socket, or on a socket that the process was given.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::net::{TcpListener, TcpSocket};

/// Names an address to listen on: `127.0.0.1:8137`, `unix:/run/madang.sock`, or `fd:3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// An address and a port. Port 0 takes any port that is free.
    Tcp(SocketAddr),
    /// A Unix socket at this path, which only its owner can use.
    #[cfg(unix)]
    Unix(PathBuf),
    /// A socket that the process received under this number, and that outlives it. Connections wait
    /// there while one process replaces another.
    #[cfg(unix)]
    Fd(i32),
}

/// A text that is not an address to listen on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an address to listen on: give one such as 127.0.0.1:8137, unix:PATH or fd:N with N from 3"
)]
pub struct InvalidAddress(String);

impl FromStr for ListenAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let invalid = || InvalidAddress(text.to_owned());
        #[cfg(unix)]
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() { Err(invalid()) } else { Ok(Self::Unix(path.into())) };
        }
        #[cfg(unix)]
        if let Some(number) = text.strip_prefix("fd:") {
            let number = number.parse().map_err(|_| invalid())?;
            return if number >= 3 { Ok(Self::Fd(number)) } else { Err(invalid()) };
        }
        if let Some(port) = text.strip_prefix("localhost:") {
            let port = port.parse().map_err(|_| invalid())?;
            return Ok(Self::Tcp((Ipv4Addr::LOCALHOST, port).into()));
        }
        text.parse().map(Self::Tcp).map_err(|_| invalid())
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            #[cfg(unix)]
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            #[cfg(unix)]
            Self::Fd(number) => write!(f, "fd:{number}"),
        }
    }
}

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    pub(super) socket: Listens,
    /// How its connections are encrypted. `None` for clear text, and always for Unix sockets.
    #[cfg(feature = "tls")]
    pub(super) tls: Option<super::tls::Tls>,
}

#[derive(Debug)]
pub(super) enum Listens {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix {
        /// This is dropped before the listener, so the next process finds no file, and not one that
        /// is about to be removed.
        #[expect(dead_code, reason = "it is kept for its drop")]
        file: Option<SocketFile>,
        listener: UnixListener,
    },
}

/// The file of a Unix socket. It is removed with its listener.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

#[cfg(unix)]
impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // another process may have removed it
    }
}

/// Listening on an address failed. The error names the address.
#[derive(Debug, thiserror::Error)]
#[error("failed to listen on {address}")]
pub struct ListenError {
    address: ListenAddress,
    #[source]
    cause: io::Error,
}

impl ListenError {
    /// Returns whether another process, or another listener of this one, has the address.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.cause.kind() == io::ErrorKind::AddrInUse
    }
}

/// How many connections the kernel keeps while a process is busy, or while one replaces another.
const BACKLOG: u32 = 4_096;

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// Returns [`ListenError`], which names the address.
    pub async fn bind(address: &ListenAddress) -> Result<Self, ListenError> {
        let listens = match address {
            ListenAddress::Tcp(address) => tcp(*address),
            #[cfg(unix)]
            ListenAddress::Unix(path) => unix(path).await,
            #[cfg(unix)]
            ListenAddress::Fd(number) => inherited(*number),
        };
        let failed = |cause| ListenError { address: address.clone(), cause };
        listens.map(Self::of).map_err(failed)
    }

    fn of(socket: Listens) -> Self {
        Self {
            socket,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Enables TLS. A Unix socket is not changed, because its bytes do not leave the machine.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: super::tls::Tls) -> Self {
        self.tls = matches!(self.socket, Listens::Tcp(_)).then_some(tls);
        self
    }

    /// Returns the address at which the listener is reached: `http://127.0.0.1:8137`, `https://..`
    /// with TLS of its own, or `unix:PATH`. If a proxy terminates TLS for it, clients use another
    /// scheme.
    #[must_use]
    pub fn address(&self) -> String {
        match &self.socket {
            Listens::Tcp(listener) => {
                let scheme = if self.is_https() { "https" } else { "http" };
                match listener.local_addr() {
                    Ok(address) => format!("{scheme}://{address}"),
                    Err(_) => format!("{scheme}://unknown"),
                }
            }
            #[cfg(unix)]
            Listens::Unix { listener, .. } => {
                let address = listener.local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                path.map_or_else(
                    || "unix:unnamed".to_owned(),
                    |path| format!("unix:{}", path.display()),
                )
            }
        }
    }

    /// Returns whether only this machine can reach it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match &self.socket {
            Listens::Tcp(listener) => {
                listener.local_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback())
            }
            #[cfg(unix)]
            Listens::Unix { .. } => true,
        }
    }

    /// Returns whether it speaks TLS itself.
    #[cfg(feature = "tls")]
    pub(crate) const fn is_https(&self) -> bool {
        self.tls.is_some()
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_self, reason = "with the feature, it is used")]
    pub(crate) const fn is_https(&self) -> bool {
        false
    }

    /// Returns the port with which clients name it on loopback. Over a Unix socket they name none.
    pub(crate) fn port(&self) -> u16 {
        match &self.socket {
            Listens::Tcp(listener) => listener.local_addr().map_or(0, |address| address.port()),
            #[cfg(unix)]
            Listens::Unix { .. } => 80,
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::of(Listens::Tcp(listener))
    }
}

fn tcp(address: SocketAddr) -> io::Result<Listens> {
    let socket = match address.ip() {
        IpAddr::V4(_) => TcpSocket::new_v4(),
        IpAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    #[cfg(unix)]
    socket.set_reuseaddr(true)?; // connections of a process before this one may still be closing
    socket.bind(address)?;
    socket.listen(BACKLOG).map(Listens::Tcp)
}

#[cfg(unix)]
async fn unix(path: &std::path::Path) -> io::Result<Listens> {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};

    // A process that was killed leaves the file of its socket. It is removed if no process answers
    // there.
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
    if is_socket && tokio::net::UnixStream::connect(path).await.is_err() {
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    let file = SocketFile(path.to_owned());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(Listens::Unix { file: Some(file), listener })
}

#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "a number that a parent hands down becomes a socket in no other way"
)]
fn inherited(number: i32) -> io::Result<Listens> {
    use std::{
        collections::BTreeSet,
        os::fd::{BorrowedFd, FromRawFd as _, OwnedFd},
        sync::Mutex,
    };

    static TAKEN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

    // SAFETY: the number is not -1, and the file is only asked what it is; a number of no file is
    // an error.
    let looked_at = unsafe { BorrowedFd::borrow_raw(number) };
    // A file of this process that has this number by chance stays open, because it is not a socket
    // that listens.
    must_listen(&socket2::SockRef::from(&looked_at))?;
    let is_fresh = TAKEN.lock().expect("no code under this lock panics").insert(number);
    if !is_fresh {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "this socket is taken already"));
    }
    // SAFETY: the parent gave the socket to this process under the number that the caller names, so
    // no part of the process has it. It is taken once.
    let fd = unsafe { OwnedFd::from_raw_fd(number) };
    listening(fd)
}

#[cfg(unix)]
fn must_listen(socket: &socket2::Socket) -> io::Result<()> {
    if socket.is_listener()? {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "this socket does not listen"))
}

#[cfg(unix)]
fn listening(fd: std::os::fd::OwnedFd) -> io::Result<Listens> {
    let socket = socket2::Socket::from(fd);
    must_listen(&socket)?;
    socket.set_nonblocking(true)?;
    // A model in a process of its own must not inherit the socket.
    socket.set_cloexec(true)?;
    let is_unix = socket.local_addr()?.is_unix();
    if is_unix {
        let listener = UnixListener::from_std(std::os::fd::OwnedFd::from(socket).into())?;
        Ok(Listens::Unix { file: None, listener })
    } else {
        TcpListener::from_std(socket.into()).map(Listens::Tcp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_socket_a_path_or_a_number() {
        for text in ["127.0.0.1:8137", "[::1]:0", "0.0.0.0:80", "unix:/run/m.sock", "fd:3"] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        let localhost = "localhost:8137".parse::<ListenAddress>().unwrap();
        assert_eq!(localhost.to_string(), "127.0.0.1:8137");
        for text in ["", "8137", "localhost", "example.org:80", "unix:", "fd:2", "fd:", "fd:-1"] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_socket_that_a_killed_process_left_is_taken_over_and_a_living_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.sock");
        let address = ListenAddress::Unix(path.clone());
        let _ = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(path.exists(), "it was left behind");
        let listener = Listener::bind(&address).await.unwrap();
        assert!(listener.is_local() && listener.address().ends_with("m.sock"));
        assert!(Listener::bind(&address).await.unwrap_err().is_in_use());
        drop(listener);
        assert!(!path.exists());
        std::fs::write(&path, "no socket").unwrap();
        assert!(Listener::bind(&address).await.is_err());
        assert!(path.exists(), "a file of another kind is left alone");
    }

    #[tokio::test]
    async fn a_socket_that_was_given_is_taken_where_it_listens() {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        let taken = Listener::of(listening(tcp.into()).unwrap());
        assert_eq!(taken.address(), format!("http://{address}"));
        let folder = tempfile::tempdir().unwrap();
        let unix = std::os::unix::net::UnixListener::bind(folder.path().join("s")).unwrap();
        assert!(matches!(listening(unix.into()), Ok(Listens::Unix { .. })));
        let stream = std::net::TcpStream::connect(address).unwrap();
        assert!(listening(stream.into()).is_err());
    }

    #[tokio::test]
    async fn a_number_of_another_file_is_refused_and_the_file_stays_open() {
        use std::{io::Write as _, os::fd::AsRawFd as _};

        let mut file = tempfile::tempfile().unwrap();
        let address = ListenAddress::Fd(file.as_raw_fd());
        for _ in 0..2 {
            let refused = Listener::bind(&address).await.unwrap_err();
            assert!(!refused.is_in_use(), "{refused:?}");
        }
        file.write_all(b"still open").unwrap();
        assert!(Listener::bind(&ListenAddress::Fd(i32::MAX)).await.is_err());
    }
}
