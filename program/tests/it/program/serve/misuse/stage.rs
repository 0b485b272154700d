//! A server with chats in each state. Also the requests of a client that does right, and what must
//! be there at the next start.

use std::{
    io::BufReader,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicU16, Ordering::Relaxed},
};

use serde_json::{Value, json};

use super::request::{Begun, Request};
use crate::program::{
    Ended, Home,
    serve::{Answer, RunningServer, until_line},
    signal,
};

/// A server whose clients do wrong.
pub(super) struct Stage {
    pub(super) home: Home,
    pub(super) address: SocketAddr,
    pub(super) kim: String,
    pub(super) lee: String,
    /// A token of Kim's that was removed before the server started.
    pub(super) gone: String,
    /// A token of Kim's that counts until a test removes it.
    pub(super) leaving: String,
    /// The approval request that was answered yes, and the one that was answered no.
    pub(super) approved: Value,
    pub(super) denied: Value,
    /// The approval request that waits.
    pub(super) open: Value,
    /// Whether this is the second server.
    pub(super) is_next: bool,
    before: Before,
    server: Option<RunningServer>,
}

/// What the first server has stored.
#[derive(Debug, Default, PartialEq)]
struct Before {
    chats: Vec<Value>,
    calls: Vec<Value>,
}

/// What a client that does right has sent, but for the last byte of each.
#[derive(Debug)]
pub(super) struct Right {
    /// A turn under a key.
    turn: Begun,
    /// The answers of two devices.
    yes: Begun,
    no: Begun,
}

/// What a client that does right was told, as far as its connections were not cut.
#[derive(Debug)]
pub(super) struct Answers {
    turn: Option<Answer>,
    yes: Option<Answer>,
    no: Option<Answer>,
}

/// The name of the file of tokens.
const TOKENS: &str = "tokens";
/// The chats whose turns have ended.
const ENDED: [&str; 3] = ["kept", "approved", "denied"];
/// The key of the turn in the chat `kept`.
pub(super) const KEY: &str = "\"kept\"";
/// The key of the turn that is on its way, in the chat `half`.
const HALF: &str = "\"half\"";

impl Stage {
    /// Starts a server and brings its chats into their states. One has ended under a key, one had a
    /// call approved, one had a call denied. One has a call that waits, and one is empty.
    pub(super) fn new() -> Self {
        let home = Home::new();
        let [kim, lee, gone, leaving] =
            [("kim", "kim"), ("lee", "lee"), ("gone", "kim"), ("leaving", "kim")].map(
                |(name, user)| {
                    home.added(&[
                        user,
                        "--name",
                        name,
                        "--tokens",
                        home.path(TOKENS).to_str().unwrap(),
                    ])
                },
            );
        let address = ([127, 0, 0, 1], free_port()).into();
        let mut stage = Self {
            home,
            address,
            kim,
            lee,
            gone,
            leaving,
            approved: Value::Null,
            denied: Value::Null,
            open: Value::Null,
            is_next: false,
            before: Before::default(),
            server: None,
        };
        stage.removes("gone");
        let says = |text: &str| json!({ "text": text });
        let mut script = vec![says("Kept."), adds("morning-light"), says("It is added.")];
        script.extend([adds("daily-walk"), says("Then not."), adds("daily-walk")]);
        script.extend(std::iter::repeat_n(says("Done."), 20));
        stage.start(&script);
        stage.says("kept", "keep this", KEY);
        stage.approved = stage.asks("approved");
        stage.decides(&stage.approved, "approve", 200);
        stage.until_ended("approved");
        stage.denied = stage.asks("denied");
        stage.decides(&stage.denied, "deny", 200);
        stage.until_ended("denied");
        stage.opens("half");
        stage.open = stage.asks("open");
        stage.before = stage.stored();
        stage
    }

    fn start(&mut self, script: &[Value]) {
        let tokens = self.home.path(TOKENS);
        let options = ["--listen", &self.address.to_string(), "--tokens", tokens.to_str().unwrap()];
        self.server = Some(RunningServer::of(self.home.serve(script, &options), "open "));
    }

    pub(super) fn id(&self) -> u32 {
        self.server.as_ref().unwrap().id()
    }

    /// Waits until the server says that it ends.
    pub(super) fn until_it_ends(&mut self) {
        let child = &mut self.server.as_mut().unwrap().program.child;
        until_line(&mut BufReader::new(child.stderr.take().unwrap()), "the server ends");
    }

    /// Waits for the end of the server.
    pub(super) fn ended(&mut self) -> Ended {
        self.server.take().unwrap().program.ended()
    }

    /// Starts the next server on the same database and address.
    pub(super) fn start_again(&mut self) {
        self.is_next = true;
        self.start(&vec![json!({ "text": "Done." }); 20]);
    }

    /// Removes a token from the file.
    pub(super) fn removes(&self, name: &str) {
        let tokens = self.home.path(TOKENS);
        let ended = self.home.token(&["remove", name, "--tokens", tokens.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }

    /// Sends a request that must succeed.
    pub(super) fn sends(&self, request: &Request) -> Value {
        let answer = request.answer(self.address);
        assert!((200..300).contains(&answer.status), "{request:?}: {answer:?}");
        answer.json()
    }

    pub(super) fn opens(&self, chat: &str) {
        self.sends(&Request::post("/v1/sessions", &self.kim, &json!({ "id": chat })));
    }

    /// Opens a chat and takes a turn in it.
    pub(super) fn says(&self, chat: &str, text: &str, key: &str) -> Value {
        self.opens(chat);
        let path = format!("/v1/sessions/{chat}/turns");
        let turn = Request::post(&path, &self.kim, &json!({ "text": text }));
        self.sends(&turn.field("prefer", "wait=30").field("idempotency-key", key))
    }

    /// Opens a chat in which the model asks, and gives the request.
    fn asks(&self, chat: &str) -> Value {
        self.opens(chat);
        let path = format!("/v1/sessions/{chat}/turns");
        self.sends(&Request::post(&path, &self.kim, &json!({ "text": "add it" })));
        let mut events = self.events(chat);
        let asked = until_line(&mut events, r#""type":"approval_requested""#);
        serde_json::from_str(asked.trim_start_matches("data: ")).unwrap()
    }

    fn events(&self, chat: &str) -> BufReader<TcpStream> {
        Request::get(&format!("/v1/sessions/{chat}/events"), &self.kim)
            .begin(self.address, 0)
            .reads()
    }

    /// Gives the types of the events of a chat's only turn.
    fn told(&self, chat: &str) -> Vec<String> {
        let mut events = self.events(chat);
        let mut told = Vec::new();
        while told.last().is_none_or(|last| last != "turn_ended") {
            let line = until_line(&mut events, "event: ");
            told.push(line.trim_end()["event: ".len()..].to_owned());
        }
        told
    }

    fn until_ended(&self, chat: &str) {
        until_line(&mut self.events(chat), r#""type":"turn_ended""#);
    }

    /// Makes the decision about a request.
    pub(super) fn decision(&self, about: &Value, token: &str, decision: &str) -> Request {
        let path = format!("/v1/approvals/{}/decision", about["call"].as_str().unwrap());
        let body = json!({ "digest": about["digest"], "decision": decision });
        Request::post(&path, token, &body)
    }

    fn decides(&self, about: &Value, decision: &str, status: u16) -> Answer {
        let answer = self.decision(about, &self.kim, decision).answer(self.address);
        assert_eq!(answer.status, status, "{answer:?}");
        answer
    }

    /// Begins what is right: a turn, and the answers of two devices to the request that waits.
    pub(super) fn begins_right(&self, token: &str) -> Right {
        let [yes, no] = ["approve", "deny"]
            .map(|decision| self.decision(&self.open, &self.kim, decision).begin(self.address, 1));
        Right { turn: self.half(token).begin(self.address, 1), yes, no }
    }

    fn half(&self, token: &str) -> Request {
        let turn = Request::post("/v1/sessions/half/turns", token, &json!({ "text": "half" }));
        turn.field("idempotency-key", HALF)
    }

    fn view(&self, chat: &str) -> Value {
        self.sends(&Request::get(&format!("/v1/sessions/{chat}"), &self.kim))
    }

    /// Reads the chats that have ended, and their calls.
    fn stored(&self) -> Before {
        let chat = |chat| {
            let mut view = self.view(chat);
            // What is behind the mark is of one feed.
            let cursor = view["cursor"].as_str().unwrap().split('@').next().unwrap().to_owned();
            view["cursor"] = json!(cursor);
            view["epoch"].take();
            view
        };
        let calls = ["approved", "denied"].iter().flat_map(|chat| self.calls(chat));
        Before { chats: ENDED.into_iter().map(chat).collect(), calls: calls.collect() }
    }

    /// Reads the ledger of a chat beside the server.
    fn calls(&self, chat: &str) -> Vec<Value> {
        let ended = self.home.run(&["ledger", "--session", chat], "");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.events()
    }

    /// Checks that the next server has lost nothing and repeats nothing, and that all it has
    /// promised holds. Ends it.
    pub(super) fn holds(&mut self, told: &Answers) {
        assert_eq!(self.stored(), self.before);
        let first = self.before.chats[0]["messages"][0]["turn"].clone();
        assert_eq!(self.says("kept", "keep this", KEY)["turn"], first, "the key has its turn");
        self.half_came_once(told);
        let was_approved = self.one_device_counts(told);
        self.until_ended("open");
        for chat in ["approved", "denied", "open"] {
            let told = self.told(chat);
            for name in ["user_message", "tool_call_ended", "turn_ended"] {
                assert_eq!(told.iter().filter(|told| *told == name).count(), 1, "{chat}: {told:?}");
            }
            let [call] = &self.calls(chat)[..] else { panic!("{chat} has one call") };
            let effect = if chat == "approved" || chat == "open" && was_approved {
                "committed"
            } else {
                "none"
            };
            assert_eq!(
                (&call["state"], &call["effect"]),
                (&json!("ended"), &json!(effect)),
                "{call}"
            );
        }
        assert_eq!(self.calls("open")[0]["call"], self.open["call"]);
        signal("TERM", self.id());
        assert_eq!(self.ended().code, Some(0));
        let verified = self.home.run(&["ledger", "--verify"], "");
        assert_eq!(verified.code, Some(0), "{verified:?}");
        assert_eq!(self.home.habits(), 1 + u64::from(was_approved));
    }

    /// Checks that a turn whose body was cut off has not begun, and that one that was accepted has
    /// begun once.
    fn half_came_once(&self, told: &Answers) {
        let messages = |view: Value| view["messages"].as_array().unwrap().clone();
        let of_users =
            |messages: &[Value]| messages.iter().filter(|one| one["role"] == "user").count();
        let found = of_users(&messages(self.view("half")));
        assert!(found <= 1);
        if let Some(turn) = &told.turn {
            assert_eq!(found, usize::from(turn.status == 202), "{turn:?}");
        }
        let again = self.sends(&self.half(&self.kim).field("prefer", "wait=30"));
        let messages = messages(self.view("half"));
        assert_eq!(of_users(&messages), 1);
        assert_eq!(messages[0]["turn"], again["turn"]);
        if let Some(turn) = told.turn.as_ref().filter(|turn| turn.status == 202) {
            assert_eq!(turn.json()["turn"], again["turn"]);
        }
    }

    /// Checks that one of two answers counts, and if one was acknowledged, that one. True for the
    /// yes.
    fn one_device_counts(&self, told: &Answers) -> bool {
        let counted =
            |answer: &Option<Answer>| answer.as_ref().is_some_and(|told| told.status == 200);
        assert!(!(counted(&told.yes) && counted(&told.no)), "{told:?}");
        let yes = self.decision(&self.open, &self.kim, "approve").answer(self.address);
        let was_approved = yes.status == 200;
        if !was_approved {
            assert_eq!((yes.status, &yes.json()["decided"]["decision"]), (409, &json!("deny")));
        }
        assert!(!counted(&told.yes) || was_approved, "{told:?}");
        assert!(!counted(&told.no) || !was_approved, "{told:?}");
        let [same, other] = if was_approved { ["approve", "deny"] } else { ["deny", "approve"] };
        assert_eq!(self.decides(&self.open, same, 200).json()["already"], true);
        self.decides(&self.open, other, 409);
        was_approved
    }
}

impl Answers {
    pub(super) const fn is_nothing(&self) -> bool {
        self.turn.is_none() && self.yes.is_none() && self.no.is_none()
    }
}

impl Right {
    /// Sends the last bytes, those of the two answers one after the other.
    pub(super) fn finish(&mut self) {
        for begun in [&mut self.turn, &mut self.yes, &mut self.no] {
            begun.finish();
        }
    }

    /// Waits until the server begins to answer the yes.
    pub(super) fn until_answered(&self) {
        self.yes.until_answered();
    }

    /// Reads what the server has answered.
    pub(super) fn told(self) -> Answers {
        Answers { turn: self.turn.answer(), yes: self.yes.answer(), no: self.no.answer() }
    }
}

/// Gives a completion that adds this habit.
fn adds(protocol: &str) -> Value {
    let arguments =
        json!({ "protocol_id": protocol, "frame_level": "L2", "framed_text": "I do it each day." });
    json!({ "tool_calls": [{ "name": "add_habit", "arguments": arguments }] })
}

/// Finds a port below those from which systems take one for a connection. Another client could have
/// one of those when the next server comes. A client that comes back while no server listens would
/// meet itself at last.
pub(super) fn free_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let first = u16::try_from(std::process::id() % 1_000).unwrap();
    loop {
        let port = 30_000 + (first + TAKEN.fetch_add(1, Relaxed)) % 2_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
