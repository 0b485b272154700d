//! Remembers the requests that ended child processes, by content and not by user.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
};

use madang_actors::protocol::CompletionRequest;

/// The requests that ran when a child died. A request that later ends well is forgiven.
#[derive(Debug, Default)]
pub(super) struct Blame {
    /// The content of each request and the children that died over it; the latest last.
    deaths: VecDeque<(Content, u32)>,
    hashes: RandomState,
}

/// A hash of a request's content, without its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Content(u64);

/// The requests that are remembered; a new one replaces the oldest.
const REMEMBERED: usize = 256;

impl Blame {
    /// Hashes the content of a request.
    pub(super) fn content(&self, request: &CompletionRequest) -> Content {
        let CompletionRequest { system, instructions, messages, tools, max_tokens, .. } = request;
        let json = serde_json::to_vec(&(system, instructions, messages, tools, max_tokens));
        Content(self.hashes.hash_one(json.expect("a request is plain data")))
    }

    /// Counts the children that died while such a request ran.
    pub(super) fn deaths_by(&self, request: &CompletionRequest) -> u32 {
        // Nearly always no request is blamed, and long chats need no hash.
        if self.deaths.is_empty() {
            return 0;
        }
        let content = self.content(request);
        self.deaths.iter().find(|(known, _)| *known == content).map_or(0, |(_, deaths)| *deaths)
    }

    /// Blames the requests that ran when a child died; equal requests count once.
    pub(super) fn died<'a>(&mut self, running: impl Iterator<Item = &'a CompletionRequest>) {
        let mut contents: Vec<Content> = Vec::new();
        for request in running {
            let content = self.content(request);
            if !contents.contains(&content) {
                contents.push(content);
            }
        }
        for content in contents {
            let known = self.deaths.iter().position(|(known, _)| *known == content);
            let before =
                known.and_then(|at| self.deaths.remove(at)).map_or(0, |(_, deaths)| deaths);
            self.deaths.push_back((content, before + 1));
        }
        let too_many = self.deaths.len().saturating_sub(REMEMBERED);
        self.deaths.drain(..too_many);
    }

    /// Forgives a request that ended while its child lives on.
    pub(super) fn forgive(&mut self, request: &CompletionRequest) {
        if !self.deaths.is_empty() {
            let content = self.content(request);
            self.deaths.retain(|(known, _)| *known != content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::request, *};

    #[test]
    fn deaths_are_counted_by_content_and_not_by_user() {
        let mut blame = Blame::default();
        let killer = request("boom");
        let again = request("boom");
        let other = request("hello");
        assert_eq!(blame.deaths_by(&killer), 0);
        blame.died([&killer, &again].into_iter());
        assert_eq!(
            (blame.deaths_by(&again), blame.deaths_by(&other)),
            (1, 0),
            "one death, not two"
        );
        blame.died([&again].into_iter());
        assert_eq!(blame.deaths_by(&killer), 2);
        let instructed =
            CompletionRequest { instructions: Some("Be brief.".into()), ..request("boom") };
        assert_eq!(blame.deaths_by(&instructed), 0, "another prompt");
    }

    #[test]
    fn a_request_that_ends_well_is_forgiven() {
        let mut blame = Blame::default();
        blame.died([&request("boom"), &request("hello")].into_iter());
        blame.forgive(&request("hello"));
        assert_eq!(blame.deaths_by(&request("hello")), 0);
        assert_eq!(blame.deaths_by(&request("boom")), 1);
    }

    #[test]
    fn the_oldest_is_forgotten_when_there_are_too_many() {
        let mut blame = Blame::default();
        for number in 0..=REMEMBERED {
            blame.died([&request(&number.to_string())].into_iter());
        }
        assert_eq!(blame.deaths_by(&request("0")), 0);
        assert_eq!(blame.deaths_by(&request("1")), 1);
        assert_eq!(blame.deaths.len(), REMEMBERED);
    }
}
