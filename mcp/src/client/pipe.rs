//! The transport over the pipes of a process. The library's own skips each line that it cannot read, so that the call which the
//! line answers would wait for its deadline.

use std::{collections::VecDeque, io, sync::Arc};

use rmcp::{RoleClient, service::TxJsonRpcMessage, transport::Transport};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
};
use tracing::warn;

use super::{limits::MAX_MESSAGE_BYTES, lines::OutputLines, message::Message, pending::Pending};

/// Writes a message a line, and reads what a server writes.
pub(super) struct Pipe<R, W> {
    output: BufReader<R>,
    /// The server's input, until it is closed.
    input: Arc<Mutex<Option<W>>>,
    // The library drops `receive` at every turn of its loop, so what was read is kept here.
    lines: OutputLines,
    read: VecDeque<Message>,
    has_ended: bool,
    pending: Pending,
    server: String,
}

impl<R: AsyncRead, W> Pipe<R, W> {
    pub(super) fn new(server: &str, output: R, input: W, pending: &Pending) -> Self {
        Self {
            output: BufReader::new(output),
            input: Arc::new(Mutex::new(Some(input))),
            lines: OutputLines::new(MAX_MESSAGE_BYTES),
            read: VecDeque::new(),
            has_ended: false,
            pending: pending.clone(),
            server: server.to_owned(),
        }
    }
}

impl<R, W> Transport<RoleClient> for Pipe<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (input, line) = (Arc::clone(&self.input), serde_json::to_vec(&message));
        async move {
            let mut line = line?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            input.write_all(&line).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.read.pop_front() {
                return Some(message);
            }
            if self.has_ended {
                return None;
            }
            let read = match self.output.fill_buf().await {
                // The last line may have no break.
                Ok([]) => {
                    self.has_ended = true;
                    Ok((0, self.lines.end(&self.pending)))
                }
                Ok(bytes) => self.lines.take(bytes, &self.pending),
                Err(error) => Err(error),
            };
            match read {
                Ok((taken, messages)) => {
                    self.output.consume(taken);
                    self.read.extend(messages);
                }
                Err(error) => {
                    warn!(server = %self.server, %error, "failed to read what an MCP server writes");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.input.lock().await.take());
        Ok(())
    }
}
