//! `madang mcp serve`: offers the tools to the MCP client that started this program.

use std::{
    io::{self, Read as _},
    thread,
};

use madang::Runtime;
use madang_mcp::ToolServer;
use tokio::{
    io::{AsyncWriteExt as _, DuplexStream},
    runtime::Handle,
};

use crate::{args::McpServe, failure::Failure, notes, setup, signals::Signals};

/// Bytes of the input that are read ahead.
const READ_AHEAD: usize = 64 * 1024;

/// Serves until the client closes the input, or a signal asks the program to end.
pub(crate) async fn run(wanted: McpServe) -> Result<(), Failure> {
    // From here on a signal must end the program in order.
    let mut signals = Signals::new()?;
    let store = setup::store(&wanted.tools.database, &wanted.tools.toolkits).await?;
    let mirror = notes::mirror(&store, &wanted.tools, wanted.language.first())?;
    let builder = setup::builder(store, &wanted.tools.toolkits, wanted.language.tag());
    let runtime = builder.start().await.map_err(Failure::of)?;
    let served = tokio::select! {
        served = serve(&runtime, &wanted) => served,
        _ = signals.next() => Ok(()),
    };
    if let Some(mirror) = mirror {
        mirror.stop().await;
    }
    let is_down = runtime.shutdown().await;
    served?;
    is_down.map_err(Failure::of)
}

async fn serve(runtime: &Runtime, wanted: &McpServe) -> Result<(), Failure> {
    let server =
        ToolServer::new(runtime.clone(), wanted.tools.person.user.clone()).map_err(Failure::of)?;
    let server = wanted.tools.time_zone.iter().cloned().fold(server, ToolServer::time_zone);
    let served = server.serve(input()?, tokio::io::stdout()).await;
    served.map_err(Failure::of)
}

/// Reads standard input in a thread of its own: a read that waits must not hold up the end of the
/// program.
fn input() -> Result<DuplexStream, Failure> {
    let (mut pipe, input) = tokio::io::duplex(READ_AHEAD);
    let tasks = Handle::current();
    let read = move || {
        let mut stdin = io::stdin().lock();
        let mut bytes = vec![0; READ_AHEAD];
        loop {
            let read = match stdin.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => tasks.block_on(pipe.write_all(&bytes[..count])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            if read.is_err() {
                break;
            }
        }
    };
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(read)
        .map_err(|cause| Failure::because("failed to start the program's threads", cause))?;
    Ok(input)
}
