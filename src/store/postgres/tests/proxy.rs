//! A way to the server that a test can break, while the server's side of it stays.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::support::{Database, server};

/// Passes bytes on between a store and the server.
pub(super) struct Proxy {
    port: u16,
    cut: watch::Sender<u32>,
    /// The sides of the server whose clients were cut off. They stay open until the test ends.
    kept: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(super) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = watch::Sender::new(0);
        let kept = Arc::<Mutex<Vec<TcpStream>>>::default();
        let to = server();
        let to = to.split('@').next_back().unwrap().split('/').next().unwrap().to_owned();
        let (watched, keeps) = (cut.clone(), kept.clone());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&to).await.unwrap();
                tokio::spawn(pass(client, server, watched.subscribe(), keeps.clone()));
            }
        });
        Self { port, cut, kept }
    }

    /// Returns the URL of a database by this way.
    pub(super) fn url(&self, database: &Database) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{}", self.port, database.name())
    }

    /// Cuts all connections off, so that the server does not notice. Later ones pass.
    pub(super) fn cut(&self) {
        self.cut.send_modify(|count| *count += 1);
    }

    /// Lets the server notice.
    pub(super) fn let_go(&self) {
        self.kept.lock().unwrap().clear();
    }
}

async fn pass(
    mut client: TcpStream,
    mut server: TcpStream,
    mut cut: watch::Receiver<u32>,
    kept: Arc<Mutex<Vec<TcpStream>>>,
) {
    let (mut from_client, mut from_server) = ([0; 8_192], [0; 8_192]);
    loop {
        tokio::select! {
            _ = cut.changed() => {
                drop(client);
                kept.lock().unwrap().push(server);
                return;
            }
            read = client.read(&mut from_client) => match read {
                Ok(length) if length > 0 => server.write_all(&from_client[..length]).await.unwrap(),
                _ => return,
            },
            read = server.read(&mut from_server) => match read {
                Ok(length) if length > 0 && client.write_all(&from_server[..length]).await.is_ok() => {}
                _ => return,
            },
        }
    }
}
