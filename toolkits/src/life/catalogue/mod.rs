//! The catalogue of protocols, break protocols and diet patterns, from which all habits come.
//!
//! The bundled items are read once from a file in the program, in Korean and English. Each [`Item`] is folded once, and
//! `search` compares the folded texts with the words of a [`Query`]:
//!
//! ```
//! use madang_toolkits::life::catalogue::{Catalogue, Query};
//!
//! let query = Query { category: None, keyword: Some("sleep"), limit: 3 };
//! let found = Catalogue::bundled().search(&query);
//! assert_eq!(found.items.len(), 3);
//! ```
//!
//! Invariants:
//! - The id of an item never changes, because habits in databases name it.
//! - An item's kind alone decides in which column of a habit its id stands.
//! - Items of equal rank stay in the order of the file.

mod item;
mod search;

use std::sync::LazyLock;

pub use item::{Category, Dose, Item, Kind, Localized, Record};
use search::Entry;
pub use search::{Found, Query};

/// The catalogue that the toolkit ships with: 47 items in Korean and English.
static BUNDLED: LazyLock<Catalogue> = LazyLock::new(|| {
    let items = serde_json::from_str(include_str!("../catalogue.json"))
        .expect("the bundled catalogue is read by every test of this module");
    Catalogue::new(items)
});

/// Items in a fixed order, ready to be searched.
#[derive(Debug)]
pub struct Catalogue {
    entries: Vec<Entry>,
}

impl Catalogue {
    /// Returns the catalogue that the toolkit ships with.
    pub fn bundled() -> &'static Self {
        &BUNDLED
    }

    fn new(items: Vec<Item>) -> Self {
        Self { entries: items.into_iter().map(Entry::new).collect() }
    }

    /// Finds an item by its id.
    pub fn get(&self, id: &str) -> Option<&Item> {
        self.iter().find(|item| item.id == id)
    }

    /// Finds items by category and keyword; without either, everything.
    ///
    /// A keyword of several words asks for items that match all of them. If there is none, it asks for items that match
    /// any. Words are compared in both languages without regard to case, Korean words with and without their particle.
    /// Titles count more than keywords, keywords more than the category's name, and that more than summaries.
    pub fn search(&self, query: &Query<'_>) -> Found<'_> {
        search::search(&self.entries, query)
    }

    /// Walks through all items in catalogue order.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.entries.iter().map(|entry| &entry.item)
    }
}

#[cfg(test)]
mod tests;
