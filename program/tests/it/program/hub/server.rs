//! A hub on loopback. axum answers listings; a second address serves the bytes over plain sockets,
//! which break off, pause and lie at chosen bytes.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, mpsc::Receiver},
    thread,
};

use axum::{
    Router,
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(super) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// The treatment of a request for bytes.
pub(super) enum Plan {
    /// The connection ends after this many bytes.
    Break(usize),
    /// This many bytes are sent; the rest follows when the test says so or has left.
    Hold(usize, Receiver<()>),
    /// All bytes are sent, from the beginning.
    FromTheBeginning,
    /// The head promises more or fewer bytes than exist.
    Promise(i64),
    /// The head promises no length, and more or fewer bytes are sent than exist.
    Unpromised(i64),
    /// Other bytes than promised are sent.
    Other,
    /// This status and header are sent, and no bytes.
    Status(u16, &'static str),
}

/// A request for bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) file: String,
    pub(super) from: usize,
    pub(super) sent: usize,
}

/// Names and bytes.
type Files = Vec<(String, Arc<[u8]>)>;

/// The next answers of the hub.
#[derive(Default)]
struct HubState {
    commit: String,
    files: Files,
    /// The files of older commits.
    before: Vec<(String, Files)>,
    /// Replaces the listing.
    answers: VecDeque<(u16, &'static str, String)>,
    plans: VecDeque<Plan>,
    listings: usize,
    asked: Vec<Asked>,
    /// The received tokens with their receivers, `hub` or `bytes`.
    tokens: Vec<(&'static str, Option<String>)>,
}

impl HubState {
    /// Finds the file with this name, in the newest commit that has one.
    fn bytes(&self, file: &str) -> Arc<[u8]> {
        let older = self.before.iter().rev().flat_map(|(_, files)| files);
        let mut all = self.files.iter().chain(older);
        all.find(|(name, _)| name == file).unwrap().1.clone()
    }
}

/// A hub that serves until it is dropped.
pub(super) struct Hub {
    state: Arc<Mutex<HubState>>,
    address: SocketAddr,
    _serving: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Serving {
    state: Arc<Mutex<HubState>>,
    bytes_at: SocketAddr,
}

impl Hub {
    /// Starts a hub whose only repository has these files, under any name.
    pub(super) fn with(files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), Arc::from(*bytes)));
        let state = Arc::new(Mutex::new(HubState {
            commit: COMMIT.to_owned(),
            files: files.collect(),
            ..HubState::default()
        }));
        let bytes = TcpListener::bind("127.0.0.1:0").unwrap();
        let serving = Serving { state: state.clone(), bytes_at: bytes.local_addr().unwrap() };
        let to_send = state.clone();
        thread::spawn(move || {
            for connection in bytes.incoming() {
                let state = to_send.clone();
                let connection = connection.unwrap();
                thread::spawn(move || send(&state, &connection));
            }
        });
        let routes = Router::new()
            .route("/api/models/{owner}/{name}/revision/{revision}", get(listing))
            .route("/{owner}/{name}/resolve/{commit}/{*file}", get(resolve))
            .route("/api/resolve-cache/{*file}", get(resolved))
            .with_state(serving);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Self { state, address, _serving: runtime }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the treatment of the next requests for bytes; later ones are served well.
    pub(super) fn plan(&self, plans: impl IntoIterator<Item = Plan>) {
        self.state.lock().unwrap().plans.extend(plans);
    }

    /// Sets the answer to the next request for a listing: status, header and text.
    pub(super) fn answers(&self, status: u16, header: &'static str, text: &str) {
        self.state.lock().unwrap().answers.push_back((status, header, text.to_owned()));
    }

    /// Replaces the files.
    pub(super) fn has(&self, files: &[(&str, &[u8])]) {
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), Arc::from(*bytes)));
        self.state.lock().unwrap().files = files.collect();
    }

    /// Moves its main branch to another commit with other files.
    pub(super) fn moves_to(&self, commit: &str, files: &[(&str, &[u8])]) {
        {
            let mut state = self.state.lock().unwrap();
            let older =
                (std::mem::replace(&mut state.commit, commit.to_owned()), state.files.clone());
            state.before.push(older);
        }
        self.has(files);
    }

    pub(super) fn listings(&self) -> usize {
        self.state.lock().unwrap().listings
    }

    /// Lists the requests for bytes so far: the offset, and the number of bytes sent.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.state.lock().unwrap().asked.clone()
    }

    pub(super) fn sent_bytes(&self) -> usize {
        self.asked().iter().map(|asked| asked.sent).sum()
    }

    pub(super) fn tokens(&self) -> Vec<(&'static str, Option<String>)> {
        self.state.lock().unwrap().tokens.clone()
    }
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes the listing of these files, as the hub writes it.
fn listed(commit: &str, files: &[(String, Arc<[u8]>)]) -> Value {
    let files = files.iter().map(|(name, bytes)| {
        let sha256 = sha256(bytes);
        let size = bytes.len();
        json!({ "rfilename": name, "size": size, "lfs": { "sha256": sha256, "size": size, "pointerSize": 134 } })
    });
    let readme = json!({ "rfilename": "README.md", "size": 5, "blobId": "a", "lfs": null });
    let siblings: Vec<Value> = [readme].into_iter().chain(files).collect();
    json!({ "id": "a/b", "sha": commit, "siblings": siblings })
}

fn token(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(header::AUTHORIZATION)?.to_str().unwrap().to_owned())
}

async fn listing(
    State(serving): State<Serving>,
    Path((_, _, revision)): Path<(String, String, String)>,
    request: Request,
) -> Response {
    let mut state = serving.state.lock().unwrap();
    state.listings += 1;
    state.tokens.push(("hub", token(request.headers())));
    assert_eq!(request.uri().query(), Some("blobs=true"));
    let Some((status, header, text)) = state.answers.pop_front() else {
        let older = state.before.iter().find(|(commit, _)| *commit == revision);
        let (commit, files) =
            older.map_or((&state.commit, &state.files), |(commit, files)| (commit, files));
        if revision != "main" && revision != *commit {
            return StatusCode::NOT_FOUND.into_response();
        }
        return listed(commit, files).to_string().into_response();
    };
    let status = StatusCode::from_u16(status).unwrap();
    let (name, value) = header.split_once(": ").unwrap_or(("X-None", "none"));
    (status, [(name, value.to_owned())], text).into_response()
}

/// The hub redirects to a cached address of its own first, and from there to the storage.
async fn resolve(
    State(serving): State<Serving>,
    Path((_, _, commit, file)): Path<(String, String, String, String)>,
    headers: HeaderMap,
) -> Redirect {
    serving.state.lock().unwrap().tokens.push(("hub", token(&headers)));
    let state = serving.state.lock().unwrap();
    let is_known = state.before.iter().any(|(older, _)| *older == commit);
    assert!(commit == state.commit || is_known, "{commit}");
    drop(state);
    Redirect::temporary(&format!("/api/resolve-cache/{file}"))
}

async fn resolved(State(serving): State<Serving>, Path(file): Path<String>) -> Response {
    let state = serving.state.lock().unwrap();
    let bytes = state.bytes(&file);
    let to = format!("http://{}/{file}?Signature=for-a-while", serving.bytes_at);
    let headers = [
        ("Location", to),
        ("X-Repo-Commit", COMMIT.to_owned()),
        ("X-Linked-Etag", format!("\"{}\"", sha256(&bytes))),
        ("X-Linked-Size", bytes.len().to_string()),
    ];
    (StatusCode::FOUND, headers).into_response()
}

/// Answers one request for bytes as planned, and closes the connection.
fn send(state: &Mutex<HubState>, mut connection: &TcpStream) {
    let mut lines = BufReader::new(connection).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap();
    let file = path.split('?').next().unwrap().trim_start_matches('/').to_owned();
    let mut from = 0;
    let mut token = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        match name.to_ascii_lowercase().as_str() {
            "range" => from = value["bytes=".len()..].trim_end_matches('-').parse().unwrap(),
            "authorization" => token = Some(value.to_owned()),
            _ => {}
        }
    }
    let (plan, bytes, number) = {
        let mut state = state.lock().unwrap();
        state.tokens.push(("bytes", token));
        state.asked.push(Asked { file: file.clone(), from, sent: 0 });
        let bytes = state.bytes(&file);
        (state.plans.pop_front(), bytes, state.asked.len() - 1)
    };
    let mut bytes = bytes.to_vec();
    let all = bytes.len();
    let mut promised = 0;
    let mut until = usize::MAX;
    let mut held = None;
    let mut has_length = true;
    match plan {
        None => {}
        Some(Plan::Break(at)) => until = at,
        Some(Plan::Hold(at, released)) => held = Some((at, released)),
        Some(Plan::FromTheBeginning) => from = 0,
        Some(Plan::Promise(more)) => promised = more,
        Some(Plan::Unpromised(more)) => {
            let length = bytes.len().checked_add_signed(isize::try_from(more).unwrap()).unwrap();
            bytes.resize(length, 7);
            has_length = false;
        }
        Some(Plan::Other) => bytes.reverse(),
        Some(Plan::Status(status, header)) => {
            let head = format!("HTTP/1.1 {status} So\r\n{header}\r\nContent-Length: 0\r\n\r\n");
            let _ = connection.write_all(head.as_bytes());
            return;
        }
    }
    let mut head = match from {
        0 => "HTTP/1.1 200 OK\r\n".to_owned(),
        _ => format!("HTTP/1.1 206 Partial\r\nContent-Range: bytes {from}-{}/{all}\r\n", all - 1),
    };
    if has_length {
        let length = (all - from).checked_add_signed(isize::try_from(promised).unwrap()).unwrap();
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    let _ = connection.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes());
    let bytes = &bytes[from..];
    let mut put = |bytes: &[u8]| {
        let is_sent = connection.write_all(bytes).is_ok();
        state.lock().unwrap().asked[number].sent += if is_sent { bytes.len() } else { 0 };
    };
    if let Some((at, released)) = held {
        put(&bytes[..at]);
        // An error means that the test has left.
        released.recv().unwrap_or_default();
        put(&bytes[at..]);
    } else {
        put(&bytes[..until.min(bytes.len())]);
    }
}
