//! One server for all rows: the first part of an address is the number of the row.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use madang::model::remote::{Provider, RemoteModel, RemoteOptions};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
};

use super::row::Reply;
use crate::remote::{mock, speech};

/// The server, and what it was asked.
#[derive(Debug, Clone)]
pub(super) struct Server {
    url: Arc<str>,
    scripts: Arc<[Script]>,
}

/// What is left of the replies of a row, and the requests so far.
type Script = Mutex<(VecDeque<Reply>, Vec<String>)>;

impl Server {
    /// Answers by these replies, those of each row in order.
    pub(super) async fn start(rows: impl Iterator<Item = Vec<Reply>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap()).into();
        let scripts = rows.map(|replies| Mutex::new((replies.into(), Vec::new()))).collect();
        let server = Self { url, scripts };
        let answering = server.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(answering.clone().answer(connection));
            }
        });
        server
    }

    /// Makes a model that asks for the replies of this row.
    pub(super) fn model(&self, row: usize, provider: Provider) -> RemoteModel {
        let options = RemoteOptions::new(provider, "m").url(format!("{}/{row}", self.url));
        RemoteModel::new(options.key(mock::KEY)).unwrap()
    }

    /// Gives the bodies of the requests of this row.
    pub(super) fn asked(&self, row: usize) -> Vec<String> {
        self.scripts[row].lock().unwrap().1.clone()
    }

    async fn answer(self, mut connection: TcpStream) {
        let Some(asked) = mock::read(&mut connection).await else { return };
        let path = asked.head.split(' ').nth(1).unwrap();
        let row: usize = path.split('/').nth(1).unwrap().parse().unwrap();
        let reply = {
            let mut script = self.scripts[row].lock().unwrap();
            script.1.push(asked.body.to_string());
            script.0.pop_front()
        };
        let reply = reply.unwrap_or_else(|| last(path));
        // Without a length the end of the connection is the end of the body, and a cut one lacks
        // its last chunk.
        let head = format!("HTTP/1.1 {} Row\r\nconnection: close\r\n", reply.status);
        let headers: String = reply.headers.iter().map(|header| format!("{header}\r\n")).collect();
        let head = format!("{head}{headers}transfer-encoding: chunked\r\n\r\n");
        let size = if reply.is_in_bytes { 1 } else { reply.body.len().max(1) };
        let mut bytes = head.into_bytes();
        for chunk in reply.body.chunks(size) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        if !reply.is_cut {
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
        // The model may have heard enough.
        connection.write_all(&bytes).await.ok();
    }
}

/// Gives the reply behind the last of a row, in the format of what was asked.
fn last(path: &str) -> Reply {
    let provider = match path.rsplit('/').next() {
        Some("completions") => Provider::OpenAi,
        Some("messages") => Provider::Anthropic,
        Some("chat") => Provider::Ollama,
        _ => Provider::Gemini,
    };
    Reply {
        status: 200,
        headers: Vec::new(),
        body: speech::answer(provider, "Done.").into_bytes(),
        is_cut: false,
        is_in_bytes: false,
    }
}
