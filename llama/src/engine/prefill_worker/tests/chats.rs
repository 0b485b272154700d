//! Tests chats that come and go.

use super::*;

/// Chats come and go, are cancelled and go on, in contexts of many sizes.
#[test]
fn in_split_contexts_each_chat_says_what_it_says_alone() {
    let mut splits = 0;
    for (file, cells, room) in [
        (with_unnamed_window(), 4 * CHAT, CHAT),
        (with_unnamed_window(), CHAT, CHAT),
        (with_unnamed_window(), 4 * CHAT, 900),
        (windowed(), 2 * CHAT, CHAT),
        (recurrent(), 2 * CHAT, CHAT),
    ] {
        let model = Model::new(file);
        splits += model.with_prefill_worker((cells, room), usize::MAX, |engine| {
            Chats::new(&model).go_on(engine, 40);
            engine.stats.splits
        });
    }
    assert!(splits > 5, "{splits}");
}

/// Some chats with at most one completion each at a time.
struct Chats<'m> {
    model: &'m Model,
    chats: Vec<Vec<PromptMessage>>,
    running: Vec<(usize, CompletionRequest, Asked)>,
    random: u64,
}

impl<'m> Chats<'m> {
    fn new(model: &'m Model) -> Self {
        Self { model, chats: vec![Vec::new(); 10], running: Vec::new(), random: 5 }
    }

    fn random(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.random >> 33).unwrap() % below
    }

    /// Completes this many, one after another or side by side.
    fn go_on(&mut self, engine: &mut Engine<'_>, count: usize) {
        for _ in 0..count {
            let at = self.random(self.chats.len());
            if self.running.iter().all(|(of, ..)| *of != at) {
                self.ask(engine, at);
            }
            if self.random(6) == 0
                && let Some((.., asked)) = self.running.last()
            {
                asked.cancel.cancel();
            }
            for _ in 0..self.random(30) {
                engine.step();
            }
            self.receive();
        }
        finish(engine);
        self.receive();
        assert!(self.running.is_empty());
    }

    fn ask(&mut self, engine: &mut Engine<'_>, at: usize) {
        let words = if self.random(2) == 0 { 2 } else { 40 + self.random(60) };
        let chat = &mut self.chats[at];
        let text = "and then? ".repeat(words);
        if chat.len() > 3 {
            chat.clear();
        }
        chat.push(asks(&text));
        let request = request(&at.to_string(), chat.clone(), 120);
        let asked = Asked::begin(engine, request.clone());
        self.running.push((at, request, asked));
    }

    fn receive(&mut self) {
        for (at, request, mut asked) in std::mem::take(&mut self.running) {
            match asked.answer.try_recv() {
                Ok(Ok(ended)) => {
                    self.model.check(&request, &ended.text);
                    self.chats[at].push(PromptMessage::Model { text: ended.text.into() });
                }
                Ok(Err(ModelError::Cancelled { .. })) => drop(self.chats[at].pop()),
                Ok(Err(error)) => panic!("{error:?}"),
                Err(_) => self.running.push((at, request, asked)),
            }
        }
    }
}
