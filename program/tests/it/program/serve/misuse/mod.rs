//! Tests SIGTERM and `kill -9` while clients do wrong. The process ends as it promises, and the
//! next one has lost nothing and repeats nothing. A refused request is refused again.
//!
//! Each test is a row of a table: the requests that are refused, and what else a client holds open.
//! At the end of the server all of them are on their way but for their last bytes, and beside them
//! requests that are right ([`stage`]). [`readers`] has many readers that come back at once.

mod readers;
mod request;
mod stage;

use std::{collections::HashSet, fs, thread, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use self::{
    request::{Begun, Request},
    stage::{KEY, Right, Stage},
};
use super::{Answer, PATIENCE, until_line};
use crate::program::signal;

/// The longest end that the program promises: a tool that runs has thirty seconds of it.
const PROMISED: Duration = Duration::from_secs(35);
/// The longest end where no tool runs: goodbyes have five seconds, and a busy machine takes some
/// more. Without them slow bodies would hold up the end for twenty seconds, and readers that do not
/// read for thirty.
const WITHOUT_TOOLS: Duration = Duration::from_secs(15);

/// What clients do wrong.
struct Misuse {
    /// The requests that are refused, at each moment and by each server.
    wrong: fn(&Stage) -> Vec<Wrong>,
    /// Begins what is held open while the server ends.
    holds: fn(&Stage) -> Vec<Begun>,
    /// Looks at what became of it at the next server.
    then: fn(&Stage),
}

/// A request that is refused.
struct Wrong {
    request: Request,
    told: ExpectedRefusal,
}

/// The answer to a wrong request.
#[derive(Debug, Clone, Copy)]
enum ExpectedRefusal {
    /// A status and the name of a problem.
    Problem(u16, &'static str),
    /// A status alone: what is no request at all has no more.
    Status(u16),
    /// An answer that repeats the one before.
    Already,
}

/// How a server ends, and where its clients are by then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ending {
    signal: &'static str,
    moment: Moment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Each request lacks its last byte.
    Half,
    /// The last bytes were sent a moment ago.
    Sent,
    /// The first answer comes.
    Answered,
}

const ENDINGS: [Ending; 5] = [
    Ending { signal: "TERM", moment: Moment::Half },
    Ending { signal: "TERM", moment: Moment::Sent },
    Ending { signal: "KILL", moment: Moment::Half },
    Ending { signal: "KILL", moment: Moment::Sent },
    Ending { signal: "KILL", moment: Moment::Answered },
];

impl Misuse {
    /// Lets servers end in each way while clients do this.
    fn at_each_end(&self) {
        thread::scope(|scope| {
            let tries = ENDINGS.map(|ending| (ending, scope.spawn(move || self.at(ending))));
            for (ending, tried) in tries {
                assert!(tried.join().is_ok(), "{ending:?}");
            }
        });
    }

    fn at(&self, Ending { signal: name, moment }: Ending) {
        let mut stage = Stage::new();
        self.is_refused(&stage);
        let mut right = stage.begins_right(&stage.leaving);
        let begin = |wrong: Wrong| (wrong.request.begin(stage.address, 1), wrong.told);
        let mut begun: Vec<_> = (self.wrong)(&stage).into_iter().map(begin).collect();
        let held = (self.holds)(&stage);
        let finish = |right: &mut Right, wrong: &mut [(Begun, ExpectedRefusal)]| {
            right.finish();
            wrong.iter_mut().for_each(|(begun, _)| begun.finish());
        };
        if moment != Moment::Half {
            finish(&mut right, &mut begun);
        }
        if moment == Moment::Answered {
            right.until_answered();
        }
        let begin = Instant::now();
        signal(name, stage.id());
        if (name, moment) == ("TERM", Moment::Half) {
            stage.until_it_ends();
            finish(&mut right, &mut begun);
        }
        let ended = stage.ended();
        let took = begin.elapsed();
        let code = (name == "TERM").then_some(0);
        assert_eq!(ended.code, code, "{ended:?}");
        assert!(took < WITHOUT_TOOLS, "{took:?}");
        for (begun, refusal) in begun {
            if let Some(answer) = begun.answer() {
                let is_draining = name == "TERM" && answer.status == 503;
                assert!(is_draining || refusal.is(&answer), "{refusal:?}: {answer:?}");
            }
        }
        let told = right.told();
        if (name, moment) == ("KILL", Moment::Half) {
            assert!(told.is_nothing(), "{told:?}");
        }
        // Nothing is left open.
        held.into_iter().for_each(|held| drop(held.answer()));
        stage.start_again();
        self.is_refused(&stage);
        (self.then)(&stage);
        stage.holds(&told);
    }

    /// Requires that each wrong request is refused in its way.
    fn is_refused(&self, stage: &Stage) {
        for Wrong { request, told } in (self.wrong)(stage) {
            let answer = request.answer(stage.address);
            assert!(told.is(&answer), "{told:?}: {request:?}: {answer:?}");
        }
    }
}

impl ExpectedRefusal {
    fn is(self, answer: &Answer) -> bool {
        match self {
            Self::Problem(status, name) => {
                let kind = format!("/problems/{name}");
                answer.status == status && answer.json()["type"] == kind
            }
            Self::Status(status) => answer.status == status,
            Self::Already => answer.status == 200 && answer.json()["already"] == true,
        }
    }
}

const TURNS: &str = "/v1/sessions/kept/turns";
/// The most bytes of a body.
const MAX_BODY: usize = 256 * 1024;

/// A request that is refused with this status and name.
fn refused(status: u16, name: &'static str, request: Request) -> Wrong {
    Wrong { request, told: ExpectedRefusal::Problem(status, name) }
}

/// A turn of Kim's with this body.
fn turn(stage: &Stage, body: &Value) -> Request {
    Request::post(TURNS, &stage.kim, body)
}

#[test]
fn heads_without_end_and_bodies_that_are_too_long_or_come_by_half() {
    let wrong = |stage: &Stage| {
        let turn = || {
            let turn = Request::new(&format!("POST {TURNS}"), &stage.kim);
            turn.field("content-type", "application/json")
        };
        let long = "x".repeat(MAX_BODY);
        let chunk = format!("{:x}\r\n{long}x", MAX_BODY + 1);
        let head = Request::get("/v1/me", &stage.kim).field("x-long", &long[..17 * 1024]);
        let announced = turn().field("content-length", "300000");
        let unannounced = turn().field("transfer-encoding", "chunked");
        vec![
            Wrong { request: head, told: ExpectedRefusal::Status(431) },
            refused(413, "too-long", announced.raw(&long.as_bytes()[..MAX_BODY / 2])),
            // It turns out at the last byte.
            refused(413, "too-long", unannounced.raw(chunk.as_bytes())),
        ]
    };
    let holds = |stage: &Stage| {
        let body = turn(stage, &json!({ "text": "x".repeat(60_000) }));
        let head = Request::get("/v1/me", &stage.kim).field("x-half", &"x".repeat(8_000));
        let half = |request: &Request, left| request.begin(stage.address, left);
        vec![half(&body, 30_000), half(&body, 60_011), half(&head, 100)]
    };
    Misuse { wrong, holds, then: |_| () }.at_each_end();
}

#[test]
fn bodies_of_other_types_and_forms() {
    let wrong = |stage: &Stage| {
        let typed = |kind: &str, body: &str| {
            Request::new(&format!("POST {TURNS}"), &stage.kim).typed(kind, body)
        };
        let right = r#"{"text":"hi"}"#;
        let mut wrong = vec![
            refused(415, "unsupported-media-type", typed("text/plain", right)),
            refused(
                415,
                "unsupported-media-type",
                typed("application/x-www-form-urlencoded", right),
            ),
        ];
        for body in ["{", "[]", "{}", r#"{"text":1}"#, r#"{"text":"hi","more":1}"#] {
            wrong.push(refused(400, "malformed", typed("application/json", body)));
        }
        wrong.push(refused(422, "empty", turn(stage, &json!({ "text": " " }))));
        wrong
    };
    Misuse { wrong, holds: |_| Vec::new(), then: |_| () }.at_each_end();
}

#[test]
fn cursors_that_are_none_or_of_another_database() {
    let wrong = |stage: &Stage| {
        let events = |chat: &str, cursor: &str| {
            let path = format!("/v1/sessions/{chat}/events");
            Request::get(&path, &stage.kim).field("last-event-id", cursor)
        };
        let query = Request::get("/v1/sessions/kept/events?after=x", &stage.kim);
        let ledger = Request::get("/v1/ledger?after=x", &stage.kim);
        vec![
            refused(400, "malformed", events("kept", "no cursor")),
            refused(400, "malformed", events("kept", "1@feed")),
            refused(400, "malformed", query),
            refused(422, "unknown-value", ledger),
            refused(409, "cursor-ahead", events("kept", "900.2@5f1c.341")),
            refused(409, "cursor-ahead", events("kept", "3")),
        ]
    };
    Misuse { wrong, holds: |_| Vec::new(), then: |_| () }.at_each_end();
}

#[test]
fn a_key_again_with_another_text() {
    let wrong = |stage: &Stage| {
        let again =
            |text: &str| turn(stage, &json!({ "text": text })).field("idempotency-key", KEY);
        vec![
            refused(422, "key-reused", again("keep that")),
            refused(422, "key-reused", again("keep this ")),
            refused(
                400,
                "malformed",
                turn(stage, &json!({ "text": "a" })).field("idempotency-key", "\""),
            ),
        ]
    };
    Misuse { wrong, holds: |_| Vec::new(), then: |_| () }.at_each_end();
}

#[test]
fn answers_twice_late_by_another_user_and_with_another_digest() {
    let wrong = |stage: &Stage| {
        let Stage { approved, denied, open, kim, lee, .. } = stage;
        let other = json!({ "call": open["call"], "digest": "0".repeat(64) });
        let foreign = json!({ "call": open["call"], "digest": approved["digest"] });
        let again = |request| Wrong { request, told: ExpectedRefusal::Already };
        vec![
            again(stage.decision(approved, kim, "approve")),
            again(stage.decision(denied, kim, "deny")),
            refused(409, "not-open", stage.decision(approved, kim, "deny")),
            refused(409, "not-open", stage.decision(denied, kim, "approve")),
            refused(409, "not-open", stage.decision(&other, kim, "approve")),
            refused(409, "not-open", stage.decision(&foreign, kim, "approve")),
            refused(400, "malformed", stage.decision(open, kim, "perhaps")),
            refused(404, "not-found", stage.decision(open, lee, "approve")),
            refused(404, "not-found", stage.decision(approved, lee, "approve")),
        ]
    };
    Misuse { wrong, holds: |_| Vec::new(), then: |_| () }.at_each_end();
}

#[test]
fn tokens_that_were_removed_and_one_that_is_removed_while_its_stream_and_turn_run() {
    let wrong = |stage: &Stage| {
        let me = |token| refused(401, "unauthorized", Request::get("/v1/me", token));
        let decision = stage.decision(&stage.open, &stage.gone, "approve");
        let mut wrong = vec![me(&stage.gone), refused(401, "unauthorized", decision)];
        if stage.is_next {
            let events = Request::get("/v1/sessions/kept/events", &stage.leaving);
            wrong.extend([me(&stage.leaving), refused(401, "unauthorized", events)]);
        }
        wrong
    };
    let holds = |stage: &Stage| {
        let events = Request::get("/v1/sessions/kept/events", &stage.leaving);
        let held = events.begin(stage.address, 0);
        held.until_answered();
        stage.removes("leaving");
        vec![held]
    };
    Misuse { wrong, holds, then: |_| () }.at_each_end();
}

/// The readers that do not read, and the turns that would fill their sockets.
const UNREAD: (usize, usize) = (20, 6);

#[test]
fn readers_that_do_not_read() {
    let wrong = |stage: &Stage| {
        let cursor = Request::get("/v1/sessions/kept/events?after=9", &stage.kim);
        vec![refused(409, "cursor-ahead", cursor)]
    };
    let holds = |stage: &Stage| {
        let (readers, turns) = UNREAD;
        for turn in 0..turns {
            stage.says("loud", &"x".repeat(60_000), &format!("\"{turn}\""));
        }
        let reader = |_| loud(stage).begin(stage.address, 0);
        let unread: Vec<_> = (0..readers).map(reader).collect();
        until_full(&unread);
        unread
    };
    let then = |stage: &Stage| {
        let mut events = loud(stage).begin(stage.address, 0).reads();
        let mut heard = Vec::new();
        while heard.len() < 3 * UNREAD.1 {
            let line = until_line(&mut events, "id: ");
            heard.push(line.trim_end().split('@').next().unwrap().to_owned());
        }
        let cursors =
            |turn: usize| [2 * turn + 1, 2 * turn + 2].map(|entry| format!("id: {entry}"));
        let each = (0..UNREAD.1).flat_map(|turn| {
            let [text, answer] = cursors(turn);
            let end = format!("{answer}.2");
            [text, answer, end]
        });
        assert_eq!(heard, each.collect::<Vec<_>>(), "each event is told once");
    };
    Misuse { wrong, holds, then }.at_each_end();
}

fn loud(stage: &Stage) -> Request {
    Request::get("/v1/sessions/loud/events", &stage.kim)
}

/// Waits until the server has bytes for each of these connections that no client takes.
fn until_full(unread: &[Begun]) {
    let begin = Instant::now();
    let mut waits: HashSet<_> = unread.iter().map(Begun::ports).collect();
    while !waits.is_empty() {
        assert!(begin.elapsed() < PATIENCE, "a reader has all that there is");
        thread::park_timeout(Duration::from_millis(20));
        waits = waits.difference(&unsent()).copied().collect();
    }
}

/// Finds the connections with bytes that the kernel keeps for a client: the ports of the client and
/// of the server.
fn unsent() -> HashSet<(u16, u16)> {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let number = |part: &str| u16::from_str_radix(part, 16).ok();
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, server, client, _, queues, ..] = words[..] else { return None };
        let port = |address: &str| number(address.split_once(':')?.1);
        let has_some = !queues.starts_with("00000000:");
        has_some.then_some((port(client)?, port(server)?))
    };
    table.lines().skip(1).filter_map(of_line).collect()
}
