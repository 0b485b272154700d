//! A client: submits texts under keys one to three times, until each has its turn and the end of
//! that was heard.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use madang::{
    OnDismiss, TurnId,
    event::{EventCursor, TurnEnding},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    notes::ReaderNotes,
    site::{AGAIN, Site, now},
    surface::{Surface, Text},
};
use crate::{
    audit::Counter,
    dice::Dice,
    http::{HttpAnswer, HttpRequest},
    oracle::{Asked, Began, Line},
    workload::{Act, TurnPlan},
};

/// A client with the session of one number. `reading`, `deciding` and `probing` have its other
/// acts.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) number: usize,
    pub(super) site: Arc<Site>,
    pub(super) notes: Mutex<ReaderNotes>,
    /// The ends of turns that were heard.
    pub(super) ended: watch::Sender<HashMap<TurnId, TurnEnding>>,
    dice: Mutex<Dice>,
}

/// A text that is submitted.
#[derive(Debug)]
struct Submitted {
    text: Text,
    index: usize,
}

impl Client {
    pub(super) fn new(site: Arc<Site>, number: usize, seed: u64) -> Self {
        let dice = Dice::new(seed ^ ((number as u64 + 1) << 40));
        Self {
            number,
            site,
            notes: Mutex::default(),
            ended: watch::Sender::default(),
            dice: Mutex::new(dice),
        }
    }

    /// Lives until it is told to stop, and then until it has heard everything.
    pub(super) async fn live(self: Arc<Self>, stop: CancellationToken) {
        let over = CancellationToken::new();
        let tasks = TaskTracker::new();
        // A client that is dropped reads no more.
        let _gone = over.clone().drop_guard();
        self.opens().await;
        tasks.spawn(self.clone().read(over.clone(), tasks.clone()));
        let mut turn = 0;
        while !stop.is_cancelled() {
            turn += 1;
            self.probes(turn).await;
            // While servers die, how long a turn takes is up to the machine. The last server has to
            // end it.
            let last_chance = async {
                stop.cancelled().await;
                sleep(self.site.patience).await;
            };
            tokio::select! {
                () = self.clone().visit(format!("{}.{turn}", self.number)) => {}
                () = last_chance => {
                    let what = format!("turn {turn} of client {} has no end", self.number);
                    self.site.finds(Counter::Stuck, what);
                }
            }
        }
        if timeout(self.site.patience, self.reads_to_the_end()).await.is_err() {
            let what = format!("client {} does not hear all", self.number);
            self.site.finds(Counter::Stuck, what);
        }
        over.cancel();
        tasks.close();
        if timeout(self.site.patience, tasks.wait()).await.is_err() {
            let what = format!("a decision of client {} has no answer", self.number);
            self.site.finds(Counter::Stuck, what);
        }
    }

    /// Locks the notes of the session's reader.
    pub(super) fn notes(&self) -> MutexGuard<'_, ReaderNotes> {
        self.notes.lock().expect("no code under this lock panics")
    }

    /// Draws a number below this one.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.dice.lock().expect("no code under this lock panics").below(bound)
    }

    /// Returns the path of the session with this behind it.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/v1/sessions/{}{rest}", self.site.sessions[self.number].0.name)
    }

    /// Sends a request until it is answered, and returns the answer that it got.
    pub(super) async fn insists(&self, request: &HttpRequest) -> (u16, Value) {
        loop {
            if let Ok(answer) = self.site.send(self.number, request.clone()).await {
                let status = answer.status;
                if let Ok(body) = answer.body.whole().await
                    && !matches!(status, 429 | 503)
                {
                    return (status, serde_json::from_slice(&body).unwrap_or_default());
                }
            }
            sleep(AGAIN).await;
        }
    }

    /// Sends a request whose answer is a stream until it is answered, and returns the status. The
    /// stream is not read.
    pub(super) async fn insists_on_head(&self, request: &HttpRequest) -> u16 {
        loop {
            if let Ok(answer) = self.site.send(self.number, request.clone()).await
                && !matches!(answer.status, 429 | 503)
            {
                return answer.status;
            }
            sleep(AGAIN).await;
        }
    }

    async fn opens(&self) {
        let name = &self.site.sessions[self.number].0.name;
        let request = HttpRequest::new("POST", "/v1/sessions").json(&json!({ "id": name }));
        let (status, body) = self.insists(&request).await;
        if !matches!(status, 200 | 201) {
            self.site.finds(Counter::Lost, format!("{name} does not open: {status} {body}"));
        }
    }

    /// Waits until the reader is where the session is.
    async fn reads_to_the_end(&self) {
        loop {
            let (_, view) = self.insists(&HttpRequest::new("GET", &self.path(""))).await;
            let end = view["cursor"].as_str().and_then(|cursor| cursor.split('@').next());
            let end = end.and_then(|end| end.parse::<EventCursor>().ok());
            if view["turn"].is_null() && end.is_some_and(|end| end <= self.notes().at()) {
                return;
            }
            sleep(AGAIN).await;
        }
    }

    /// Submits a text, and waits until its end was heard.
    async fn visit(self: Arc<Self>, name: String) {
        let plan = {
            let mut dice = self.dice.lock().expect("no code under this lock panics");
            TurnPlan::draw(&mut dice, &name, &Act::DRAWN)
        };
        let on_dismiss = if self.below(3) == 0 { OnDismiss::Finish } else { OnDismiss::Stop };
        let text = plan.to_string();
        let asked = Asked {
            session: self.number,
            text: text.clone(),
            at: now(),
            on_dismiss,
            is_keyed: true,
            began: None,
        };
        let index = self.site.witness.asks(asked);
        let session = self.site.sessions[self.number].0.name.clone();
        let text = Text { session, text, key: name, on_dismiss };
        let submitted = Arc::new(Submitted { text, index });
        let Some(turn) = self.clone().submits(&submitted).await else { return };
        if self.below(8) == 0 {
            sleep(Duration::from_millis(self.below(30))).await;
            self.dismisses(turn, on_dismiss == OnDismiss::Stop).await;
        }
        let mut ended = self.ended.subscribe();
        let ended = ended.wait_for(|ended| ended.contains_key(&turn)).await;
        let ending = ended.expect("the client itself has the sender")[&turn];
        self.site.note(Line::Ended { session: self.number, turn, ending });
    }

    /// Submits a text one to three times, at once or one after the other.
    async fn submits(self: Arc<Self>, submitted: &Arc<Submitted>) -> Option<TurnId> {
        let times = 1 + self.below(3);
        let at_once = self.below(2) == 0;
        let mut turn = None;
        let mut tries = JoinSet::new();
        for number in 0..times {
            tries.spawn(self.clone().submit(submitted.clone()));
            if at_once && number + 1 < times {
                continue;
            }
            while let Some(told) = tries.join_next().await {
                turn = turn.or(told.ok().flatten());
            }
        }
        turn
    }

    /// Submits a text on a surface as drawn until it is answered, and returns the turn that the
    /// answer names.
    async fn submit(self: Arc<Self>, submitted: Arc<Submitted>) -> Option<TurnId> {
        let Submitted { text, index } = &*submitted;
        let drawn = Surface::ALL[self.below(Surface::ALL.len() as u64) as usize];
        let foreign = drawn.submits(text).filter(|_| drawn != Surface::Native);
        match foreign {
            Some(request) => self.submit_abroad(text, *index, request).await,
            None => self.submit_natively(text, *index).await,
        }
    }

    async fn submit_natively(&self, text: &Text, index: usize) -> Option<TurnId> {
        let mut request = Surface::Native.submits(text)?;
        // The answer is wanted at the end of the turn, as a stream of its events, or at once.
        let wanted = self.below(8);
        let is_stream = wanted == 1;
        if is_stream {
            request = request.field("accept", "text/event-stream");
        } else if wanted == 0 {
            request = request.field("prefer", "wait=30");
        }
        loop {
            let Some(answer) = self.posts(&request).await else { continue };
            let turn = turn_of(&answer);
            if answer.status == 200 && is_stream {
                return self.follows(turn?, answer, index).await;
            }
            let status = answer.status;
            let Ok(body) = answer.body.whole().await else { continue };
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            match status {
                200 | 202 => {
                    let turn: Option<TurnId> = read(body["turn"].clone());
                    let Some(turn) = turn else {
                        let what = format!("no turn in the answer to {}: {body}", text.key);
                        self.site.finds(Counter::Misreported, what);
                        return None;
                    };
                    self.is_told(index, turn);
                    if let Some(ending) = read::<TurnEnding>(body["ending"].clone()) {
                        self.site.note(Line::Ended { session: self.number, turn, ending });
                    }
                    return Some(turn);
                }
                // The end of the turn before was heard, and the session is about to hear it.
                409 | 429 | 503 => sleep(AGAIN).await,
                _ => {
                    self.is_refused(text, status, &body.to_string());
                    return None;
                }
            }
        }
    }

    /// Submits a text by a request of another protocol, whose answer names the turn in its head.
    async fn submit_abroad(
        &self,
        text: &Text,
        index: usize,
        request: HttpRequest,
    ) -> Option<TurnId> {
        loop {
            let Some(answer) = self.posts(&request).await else { continue };
            let status = answer.status;
            let turn = turn_of(&answer);
            // The turn that keeps the session busy is another one.
            if let Some(turn) = turn.filter(|_| status != 409) {
                self.site.figures().abroad += 1;
                self.is_told(index, turn);
                if self.below(2) == 0 {
                    let _ = answer.body.whole().await;
                }
                return Some(turn);
            }
            let Ok(body) = answer.body.whole().await else { continue };
            let body = String::from_utf8_lossy(&body);
            let is_busy = status == 200 && body.contains("\"code\":\"busy\"");
            if is_busy || matches!(status, 409 | 429 | 503) {
                sleep(AGAIN).await;
                continue;
            }
            self.is_refused(text, status, &body);
            return None;
        }
    }

    /// Sends a request that submits a text; `None`, after a while, where no server answers.
    async fn posts(&self, request: &HttpRequest) -> Option<HttpAnswer> {
        let sent = self.site.send(self.number, request.clone()).await;
        if !sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            self.site.figures().posts += 1;
        }
        if sent.is_err() {
            sleep(AGAIN).await;
        }
        sent.ok()
    }

    fn is_refused(&self, text: &Text, status: u16, body: &str) {
        self.site.finds(Counter::Lost, format!("{} is refused: {status} {body}", text.key));
    }

    /// Reads the stream of a turn to its end, or leaves before.
    async fn follows(&self, turn: TurnId, mut answer: HttpAnswer, index: usize) -> Option<TurnId> {
        self.is_told(index, turn);
        let notes = Mutex::new(ReaderNotes::of_turn(turn));
        self.hears_stream(&notes, &mut answer, |_| ()).await;
        Some(turn)
    }

    /// Records the turn of a text. Each answer must name the same.
    fn is_told(&self, index: usize, turn: TurnId) {
        let first = self.site.witness.oracle().asks[index].began;
        match first {
            Some(Began::Yes(first)) if first != turn => {
                let what = format!("one key began the turns {first} and {turn}");
                self.site.finds(Counter::Doubled, what);
            }
            Some(Began::Yes(_)) => {}
            Some(Began::No | Began::Perhaps) | None => {
                self.site.figures().keys += 1;
                self.site.note(Line::Asked { index, began: Began::Yes(turn) });
            }
        }
    }

    /// Dismisses a turn. No more of it may begin if it stops then.
    async fn dismisses(&self, turn: TurnId, stops: bool) {
        self.site.note(Line::Leaves { session: self.number });
        let path = self.path(&format!("/turns/{turn}/dismiss"));
        let (status, body) = self.insists(&HttpRequest::new("POST", &path).json(&json!({}))).await;
        if status != 200 {
            let what = format!("turn {turn} is not dismissed: {status} {body}");
            self.site.finds(Counter::Misreported, what);
        } else if stops && body["dismissed"] == true {
            self.site.note(Line::Dismissed { turn, at: now() });
        }
    }
}

/// Reads the turn that an answer names in its head.
fn turn_of(answer: &HttpAnswer) -> Option<TurnId> {
    read(answer.field("madang-turn")?.into())
}

/// Reads a part of an answer; `None` where it is another.
fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}
