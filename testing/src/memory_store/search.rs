//! Searches the texts of a user's chats.

use super::layer::{Entry, Layer};
use madang_actors::{
    port::{SearchPage, SearchQuery, UnfinishedSearch, stored_bytes},
    protocol::{Content, UserId},
};

impl Layer {
    /// Searches the texts of a user, the newest chat first.
    pub(super) fn search(&self, user: &UserId, query: &SearchQuery) -> SearchPage {
        let mut found = UnfinishedSearch::of(query);
        let listed = self.all_listed(user);
        'chats: for summary in &listed {
            let chat = summary.position();
            let after = query.after.as_ref();
            if after.is_some_and(|after| chat > *after.chat()) {
                continue;
            }
            let from = after.filter(|after| *after.chat() == chat).map_or(0, |after| after.seq());
            if !found.reads_on(&chat, from) {
                break;
            }
            let table = &self.sessions[&summary.session];
            let messages = || {
                table.shown().filter_map(|(_, entry)| match entry {
                    Entry::Message(message) => Some(message),
                    Entry::Call(..) => None,
                })
            };
            let cleared = messages().filter(|message| message.content == Content::Cleared).last();
            let from = from.max(cleared.map_or(0, |mark| mark.seq));
            for message in messages().filter(|message| message.seq > from) {
                let is_text =
                    matches!(message.content, Content::User { .. } | Content::Model { .. });
                let bytes = usize::try_from(stored_bytes(&message.content)).unwrap_or(usize::MAX);
                if is_text && !found.take(&chat, message, bytes) {
                    break 'chats;
                }
            }
        }
        let mut page = found.done();
        for hit in &mut page.hits {
            let its = listed.iter().find(|summary| summary.session == hit.session);
            hit.title = its.map_or_else(String::new, |summary| summary.title.clone());
        }
        page
    }
}
