//! Tests of what is pure: requests and readers. The streams are written by hand, after each
//! provider's documentation.

mod bodies;
mod broken;
mod refusals;
mod streams;

use std::sync::{Arc, Mutex};

use madang_actors::{
    port::Deltas,
    protocol::{Completion, CompletionDelta},
};

use super::{answer::Answer, broken::Broken, provider::Provider, quirks::Quirks, stream::Stream};

/// Reads a stream in pieces of these lengths, and gives what was streamed and how it ended; `None`
/// without an end.
fn read(provider: Provider, pieces: &[&[u8]]) -> (Vec<String>, Result<Option<Completion>, Broken>) {
    let heard = Arc::new(Mutex::new(Vec::<String>::new()));
    let hears = heard.clone();
    let deltas = Deltas::new(move |delta| {
        let mut heard = hears.lock().unwrap();
        let (kind, text) = match delta {
            CompletionDelta::Began => return heard.push("began".to_owned()),
            CompletionDelta::Text(text) => ("says ", text),
            CompletionDelta::Thinking(text) => ("thinks ", text),
        };
        // Pieces of a text are one text, however they are cut.
        match heard.last_mut().filter(|last| last.starts_with(kind)) {
            Some(last) => last.push_str(text),
            None => heard.push([kind, text].concat()),
        }
    });
    let mut answer = Answer::new(deltas, Arc::new([]));
    let mut stream = Stream::new(provider, Quirks::default());
    let ended = pieces.iter().try_for_each(|piece| stream.push(piece, &mut answer));
    let ended = match ended.and_then(|()| stream.end(&mut answer)) {
        Ok(()) => Ok(Some(answer.finish(&format!("{}:m", provider.name()), 0).unwrap())),
        Err(Broken::Unended) => Ok(None),
        Err(broken) => Err(broken),
    };
    let heard = heard.lock().unwrap().clone();
    (heard, ended)
}
