//! Accepts connections from a listener, and serves each of them.

use std::{convert::Infallible, io, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
    response::{IntoResponse as _, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_service::Service as _;
use tracing::{debug, warn};

use super::{
    drain::Drain,
    listener::{Listener, Listens},
    open_connections::{AdmittedConnection, OpenConnection, OpenConnections},
    peer::Peer,
    socket,
    stall::StallGuard,
};
use crate::{
    ServerLimits, metrics,
    problem::{Form, Problem, ProblemName},
};

/// What the connections of a server share.
#[derive(Debug, Clone)]
pub(crate) struct Acceptor {
    pub(crate) app: Router,
    pub(crate) limits: Arc<ServerLimits>,
    pub(crate) drain: Drain,
    /// The permits of connections.
    pub(crate) permits: Arc<Semaphore>,
    /// The connections that have a permit.
    pub(crate) open: Arc<OpenConnections>,
    /// The permits of connections that receive the answer "too many".
    pub(crate) refusals: Arc<Semaphore>,
    pub(crate) tasks: TaskTracker,
    /// Ends the loops but not the listeners, so the kernel keeps the connections that arrive in the
    /// meantime.
    pub(crate) stop: CancellationToken,
    /// Breaks off the connections.
    pub(crate) abort: CancellationToken,
}

/// The pause after an error that would come again at once, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How many connections at once receive the answer "too many". Others are closed without an answer.
pub(crate) const MAX_REFUSALS: usize = 128;
/// How long to wait until a connection that gives way has ended.
const ROOM_PATIENCE: Duration = Duration::from_secs(1);
/// How long the answer "too many" may take.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);

/// Room for a connection, perhaps once another has given way.
struct Room {
    admitted: AdmittedConnection,
    permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Waits for the permit. Returns `None` if it does not come.
    async fn wait(
        self,
        permits: &Arc<Semaphore>,
    ) -> Option<(AdmittedConnection, OwnedSemaphorePermit)> {
        let permit = match self.permit {
            Some(permit) => permit,
            None => timeout(ROOM_PATIENCE, permits.clone().acquire_owned()).await.ok()?.ok()?,
        };
        Some((self.admitted, permit))
    }
}

impl Acceptor {
    /// Accepts connections until it is stopped.
    pub(crate) async fn accept(&self, listener: &Listener) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                accepted = self.accept_one(listener) => accepted,
            };
            if let Err(error) = accepted {
                // Some errors are about one connection, which is gone. Others pass with time.
                warn!(%error, "failed to accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }

    async fn accept_one(&self, listener: &Listener) -> io::Result<()> {
        match &listener.socket {
            Listens::Tcp(socket) => {
                let (stream, address) = socket.accept().await?;
                if let Err(error) = socket::tune(&stream, &self.limits) {
                    debug!(%error, "a connection was gone before it was tuned");
                    return Ok(());
                }
                let peer = Peer::of(address.ip());
                #[cfg(feature = "tls")]
                if let Some(tls) = &listener.tls {
                    self.begin_with(stream, peer, tls.clone());
                    return Ok(());
                }
                self.begin(stream, peer);
            }
            #[cfg(unix)]
            Listens::Unix { listener, .. } => {
                let (stream, _) = listener.accept().await?;
                self.begin(stream, Peer::Local);
            }
        }
        Ok(())
    }

    /// Serves a connection in a task of its own, or answers "too many". Over clear text the
    /// client's address is meaningless, because it is that of this machine or of a proxy with TLS.
    fn begin<S>(&self, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let this = self.clone();
        if let Some(room) = self.find_room(None) {
            self.tasks.spawn(async move {
                let connection = room.admitted.connection.clone();
                match room.wait(&this.permits).await {
                    Some(_held) => this.serve_to_its_end(&connection, stream, peer).await,
                    None => this.refuse(stream).await,
                }
            });
        } else {
            self.tasks.spawn(async move { this.refuse(stream).await });
        }
    }

    /// Serves a connection after its handshake. One without a permit is closed, because an answer
    /// would cost a handshake.
    #[cfg(feature = "tls")]
    fn begin_with(&self, stream: tokio::net::TcpStream, peer: Peer, tls: super::tls::Tls) {
        let Some(room) = self.find_room(Some(peer)) else {
            metrics::refused(ProblemName::Overloaded.name());
            return;
        };
        let this = self.clone();
        self.tasks.spawn(async move {
            let connection = room.admitted.connection.clone();
            let Some(_held) = room.wait(&this.permits).await else {
                metrics::refused(ProblemName::Overloaded.name());
                return;
            };
            let shaken = {
                let shakes = std::pin::pin!(tls.shake_hands(stream, this.limits.head_timeout));
                connection.ends.run_until_cancelled(shakes).await
            };
            match shaken {
                Some(Ok(stream)) => this.serve_to_its_end(&connection, stream, peer).await,
                Some(Err(error)) => debug!(%error, "a connection ended in its handshake"),
                None => {}
            }
        });
    }

    /// Finds room for a connection: a permit that is free, or that of the oldest idle connection,
    /// which ends for it. Returns `None` if there is none.
    fn find_room(&self, address: Option<Peer>) -> Option<Room> {
        let free = self.permits.clone().try_acquire_owned().ok();
        if free.is_none() && !self.open.give_way() {
            return None;
        }
        let admitted = self.open.admit(address)?;
        Some(Room { admitted, permit: free })
    }

    /// Serves a connection until it ends, gives way, or is broken off.
    async fn serve_to_its_end<S>(&self, connection: &Arc<OpenConnection>, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let _counted = metrics::Counted::connection();
        // Both are pinned here: as an argument of `run_until_cancelled` a future is kept twice, as
        // long as the connection is open.
        let serves = std::pin::pin!(self.serve(connection, stream, peer));
        let serves = std::pin::pin!(connection.ends.run_until_cancelled(serves));
        self.abort.run_until_cancelled(serves).await;
    }

    /// Answers a client "too many", unless too many receive that answer already.
    async fn refuse<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Ok(_permit) = self.refusals.try_acquire() else { return };
        metrics::refused(ProblemName::Overloaded.name());
        let answer = too_many(self.limits.max_connections);
        let _ = timeout(REFUSAL_PATIENCE, refuse(stream, answer)).await;
    }

    async fn serve<S>(&self, connection: &Arc<OpenConnection>, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { app, limits, drain, .. } = self;
        let io = TokioIo::new(StallGuard::new(stream, limits.stall_timeout));
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(connection.clone());
            let answer = app.clone().call(request.map(Body::new));
            async move { Ok::<Response, Infallible>(answer.await.into_response()) }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_timeout)
            .max_buf_size(limits.max_head_bytes)
            .max_headers(limits.max_head_fields)
            .serve_connection(io, service);
        let mut served = std::pin::pin!(served);
        let ended = tokio::select! {
            biased;
            ended = served.as_mut() => ended,
            () = drain.leaving.cancelled() => {
                // What is being answered comes to its end. Streams receive the end of the server on
                // their own.
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection broke off");
        }
    }
}

/// Writes the answer "too many" for a connection without a permit.
fn too_many(max: usize) -> Vec<u8> {
    let problem = Problem::new(
        ProblemName::Overloaded,
        format!("Too many connections are open. At most {max} are allowed."),
    );
    let problem = problem.reached("connections", "all", max).retry_after(Duration::from_secs(5));
    let body = problem.body().to_string();
    let head = problem.answer(Form::Rfc9457);
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let mut answer =
        format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in head.headers() {
        answer.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap_or_default()));
    }
    answer.push_str("\r\n");
    answer.push_str(&body);
    answer.into_bytes()
}

async fn refuse<S>(mut stream: S, answer: Vec<u8>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    use tokio::io::AsyncReadExt as _;

    let sent = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        // The request is read to its end. If it were not, the answer would be lost on its way.
        let mut buffer = [0; 1_024];
        while stream.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    drop(sent.await); // the client may be gone
}
