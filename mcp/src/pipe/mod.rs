//! The transport over pipes, with a message on each line. The transport of the protocol's library
//! skips each line that it cannot read. If such a line answers a call, the call would wait for its
//! deadline. If it is a request, its client would wait too.

mod lines;
mod refusal;

use std::{collections::VecDeque, io, sync::Arc};

use rmcp::{
    service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
};
use tracing::warn;

use self::lines::{Line, LineCutter};
pub(crate) use self::refusal::RefusalOnItsWay;

/// A message, or the answer to a line that is not one.
pub(crate) type Read<Role> = Result<RxJsonRpcMessage<Role>, Box<TxJsonRpcMessage<Role>>>;

/// Reads the lines of one side.
pub(crate) trait LineReader<Role: ServiceRole>: Send {
    /// Names the other side in the log.
    fn peer(&self) -> &str;

    /// Reads a line, which may have no message, or several.
    fn read(&mut self, line: &[u8]) -> Vec<Read<Role>>;

    /// Reads the beginning of a line that has more bytes than are allowed. An error ends the
    /// connection.
    fn too_long(&mut self, begin: &[u8]) -> io::Result<Vec<Read<Role>>>;
}

/// Writes each message on a line, and reads what the other side writes.
pub(crate) struct Pipe<Role: ServiceRole, L, R, W> {
    input: BufReader<R>,
    /// The output, which the other side reads. `None` after it was closed.
    output: Arc<Mutex<Option<W>>>,
    // The library drops `receive` at every turn of its loop, so what was read is kept here.
    lines: LineCutter,
    reader: L,
    read: VecDeque<Read<Role>>,
    refusal: RefusalOnItsWay,
    has_ended: bool,
}

impl<Role: ServiceRole, L, R: AsyncRead, W> Pipe<Role, L, R, W> {
    /// Reads lines of at most this many bytes.
    pub(crate) fn new(input: R, output: W, reader: L, max_bytes: usize) -> Self {
        Self {
            input: BufReader::new(input),
            output: Arc::new(Mutex::new(Some(output))),
            lines: LineCutter::new(max_bytes),
            reader,
            read: VecDeque::new(),
            refusal: RefusalOnItsWay::default(),
            has_ended: false,
        }
    }
}

impl<Role, L, R, W> Pipe<Role, L, R, W>
where
    Role: ServiceRole,
    L: LineReader<Role>,
    R: AsyncRead + Send + Unpin,
{
    /// Waits for bytes, and reads the line that they end.
    async fn fill(&mut self) -> io::Result<()> {
        let (taken, line) = match self.input.fill_buf().await? {
            // The last line may have no break.
            [] => {
                self.has_ended = true;
                (0, Some(self.lines.end()))
            }
            bytes => self.lines.take(bytes),
        };
        self.input.consume(taken);
        match line {
            Some(Line::Whole(line)) => self.read.extend(self.reader.read(&line)),
            Some(Line::TooLong(begin)) => self.read.extend(self.reader.too_long(&begin)?),
            None => {}
        }
        Ok(())
    }
}

impl<Role, L, R, W> Transport<Role> for Pipe<Role, L, R, W>
where
    Role: ServiceRole,
    L: LineReader<Role>,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        let line = serde_json::to_vec(&message);
        async move {
            let mut line = line?;
            line.push(b'\n');
            let mut output = output.lock().await;
            let output = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            self.refusal.taken().await;
            match self.read.pop_front() {
                Some(Ok(message)) => return Some(message),
                Some(Err(answer)) => {
                    let sent = self.send(*answer);
                    self.refusal.send(sent);
                }
                None if self.has_ended => return None,
                None => {
                    if let Err(error) = self.fill().await {
                        let peer = self.reader.peer();
                        warn!(peer, %error, "failed to read what the other side of MCP writes");
                        return None;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}
