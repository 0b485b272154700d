//! The shell of a SessionActor: what others ask of it.

use std::{collections::HashMap, sync::Arc};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::{sync::oneshot, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::debug;
use uuid::Uuid;

use super::{
    awake::{AtDoor, Awake, Running, Waking},
    chat::Chat,
    msg::{
        ClearError, DismissError, Outgoing, SessionMsg, SessionState, TurnEnd, TurnOptions,
        TurnRefused,
    },
    turn::{Turn, TurnInput},
    wiring::History,
};
use crate::{
    dispatcher::Dismissal,
    failpoint::failpoint,
    llm::LlmEvent,
    mailbox::answer,
    port::Write,
    protocol::{Content, OnDismiss, TurnId, visible},
};

/// One awake chat. It alone appends to its transcript.
#[derive(Debug)]
pub struct SessionActor;

impl Actor for SessionActor {
    type Msg = SessionMsg;
    type State = Awake;
    type Arguments = Waking;

    async fn pre_start(
        &self,
        me: ActorRef<SessionMsg>,
        waking: Waking,
    ) -> Result<Awake, ActorProcessingErr> {
        let Waking { door, wiring, messages, last_seq } = waking;
        me.send_after(wiring.around.limits.session_idle, || SessionMsg::Idle);
        Ok(Awake {
            place: AtDoor { door, actor: me.get_id() },
            wiring,
            chat: Chat::load(messages, last_seq),
            handled: 0,
            turn: None,
            is_clearing: false,
            closing: None,
            error: None,
            active_at: Instant::now(),
        })
    }

    async fn handle(
        &self,
        me: ActorRef<SessionMsg>,
        msg: SessionMsg,
        session: &mut Awake,
    ) -> Result<(), ActorProcessingErr> {
        match msg {
            SessionMsg::Ask { text, options, began, ended } => {
                failpoint("session.ask").await?;
                session.handled += 1;
                session.ask(&me, text, options, began, ended);
            }
            SessionMsg::Dismiss { reply } => {
                failpoint("session.dismiss").await?;
                session.handled += 1;
                answer(reply, session.dismiss(&me));
            }
            SessionMsg::Clear { reply } => {
                failpoint("session.clear").await?;
                session.handled += 1;
                session.clear(&me, reply);
            }
            SessionMsg::State { reply } => {
                failpoint("session.state").await?;
                session.handled += 1;
                answer(reply, session.state());
            }
            SessionMsg::Close { reply } => {
                failpoint("session.close").await?;
                session.close(&me, reply);
            }
            SessionMsg::Stored { written, result } => {
                failpoint("session.stored").await?;
                session.stored(&me, written, result);
            }
            SessionMsg::Llm(LlmEvent::Ended { completion, result }) => {
                failpoint("session.completed").await?;
                session.completed(&me, completion, result)
            }
            SessionMsg::Dispatcher(event) => {
                failpoint("session.dispatcher").await?;
                session.on_dispatcher(&me, event);
            }
            SessionMsg::Idle => {
                failpoint("session.idle").await?;
                session.idle(&me);
            }
        }
        Ok(())
    }
}

impl Awake {
    pub(super) fn ask(
        &mut self,
        me: &ActorRef<SessionMsg>,
        text: Arc<str>,
        options: TurnOptions,
        began: oneshot::Sender<Result<TurnId, TurnRefused>>,
        ended: oneshot::Sender<TurnEnd>,
    ) {
        let max_bytes = self.wiring.around.limits.max_user_text_bytes;
        if text.trim().is_empty() {
            return answer(began, Err(TurnRefused::Empty));
        }
        if self.closing.is_some() || self.wiring.closing.is_cancelled() {
            return answer(began, Err(TurnRefused::Closed));
        }
        if self.turn.is_some() || self.is_clearing {
            return answer(began, Err(TurnRefused::Busy));
        }
        if text.len() > max_bytes {
            return answer(began, Err(TurnRefused::TooLong { bytes: text.len(), max_bytes }));
        }
        let id = TurnId::new(Uuid::now_v7());
        let message = self.message(id, Content::User { text });
        let started = Write::TurnStarted {
            session: self.place.door.session().clone(),
            turn: id,
            at: message.at,
        };
        self.error = None;
        self.turn = Some(Running {
            id,
            core: Turn::new(self.wiring.around.limits.max_rounds, options.on_dismiss),
            dismissal: Dismissal { token: CancellationToken::new(), mode: options.on_dismiss },
            options,
            began: Some(began),
            ended,
            completion: None,
            calls: HashMap::new(),
            questions: Vec::new(),
        });
        self.store(me, vec![started], Outgoing { messages: vec![message], ..Outgoing::default() });
    }

    pub(super) fn dismiss(&mut self, me: &ActorRef<SessionMsg>) -> Result<(), DismissError> {
        let Some(turn) = self.turn.as_ref().filter(|turn| !turn.core.is_over()) else {
            return Err(DismissError::NoTurn);
        };
        turn.dismissal.token.cancel();
        if turn.dismissal.mode == OnDismiss::Finish {
            self.place.door.feed().close_subscriptions();
        }
        let spoken = self.place.door.feed().spoken();
        self.on(me, TurnInput::Dismissed { spoken });
        Ok(())
    }

    pub(super) fn close(&mut self, me: &ActorRef<SessionMsg>, reply: oneshot::Sender<()>) {
        self.closing = Some(reply);
        if let Some(turn) = self.turn.as_mut() {
            turn.core.stop_on_dismiss();
            if self.dismiss(me).is_err() {
                debug!("the turn's end is on the way to the store already");
            }
        }
        self.end_if_closing(me);
    }

    pub(super) fn end_if_closing(&mut self, me: &ActorRef<SessionMsg>) {
        if self.turn.is_none()
            && !self.is_clearing
            && let Some(reply) = self.closing.take()
        {
            answer(reply, ());
            me.stop(None);
        }
    }

    pub(super) fn clear(
        &mut self,
        me: &ActorRef<SessionMsg>,
        reply: oneshot::Sender<Result<(), ClearError>>,
    ) {
        if self.turn.is_some() || self.is_clearing {
            return answer(reply, Err(ClearError::Busy));
        }
        // The mark belongs to the turn that it follows; in an empty chat there is nothing to clear.
        let Some(turn) = self.chat.last_turn() else { return answer(reply, Ok(())) };
        self.is_clearing = true;
        let mark = self.message(turn, Content::Cleared);
        // Beginning anew, the user is asked anew.
        let door = &self.place.door;
        let revoke = Write::Revoke {
            session: door.session().clone(),
            tool: None,
            by: door.user().clone(),
            at: mark.at,
        };
        self.store(
            me,
            vec![revoke],
            Outgoing { messages: vec![mark], clear: Some(reply), ..Outgoing::default() },
        );
    }

    pub(super) fn state(&self) -> SessionState {
        let is_streaming = self.turn.as_ref().is_some_and(|turn| turn.core.is_streaming());
        SessionState {
            messages: visible(self.chat.messages()).to_vec(),
            is_streaming,
            streaming_text: is_streaming.then(|| self.place.door.feed().spoken()),
            error: self.error.clone(),
            question: self.turn.as_ref().and_then(|turn| turn.questions.first().cloned()),
        }
    }

    /// Sleeps, if nothing has happened for long enough and all that was ever sent is handled.
    pub(super) fn idle(&mut self, me: &ActorRef<SessionMsg>) {
        let rest = self.wiring.around.limits.session_idle;
        let is_busy = self.turn.is_some() || self.is_clearing;
        let may_sleep =
            self.wiring.history == History::Stored && !is_busy && self.active_at.elapsed() >= rest;
        if may_sleep && self.place.door.try_sleep(me.get_id(), self.handled) {
            me.stop(None);
        } else {
            me.send_after(rest, || SessionMsg::Idle);
        }
    }
}
