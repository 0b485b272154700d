//! The catalogue of protocols, break protocols and diet patterns, from which all habits come.
//!
//! The bundled items, in Korean and English, are read once from a file that is part of the program.
//! Each [`Item`] is folded once. `search` compares the folded texts with the words of a [`Query`]:
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
//! - The kind of an item alone decides which column of a habit its id is in.
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
    /// Returns the catalogue that the toolkit ships with. The first call reads it.
    pub fn bundled() -> &'static Self {
        &BUNDLED
    }

    fn new(items: Vec<Item>) -> Self {
        Self { entries: items.into_iter().map(Entry::new).collect() }
    }

    /// Returns the item with this id, or `None` if there is none.
    pub fn get(&self, id: &str) -> Option<&Item> {
        self.iter().find(|item| item.id == id)
    }

    /// Finds items by category and keyword. Without either, finds everything.
    ///
    /// A keyword of several words finds the items that match all of them. If no item does, it finds
    /// those that match any. Words are compared in both languages without regard to case, and
    /// Korean words with and without their particle. Titles count more than keywords, keywords more
    /// than the name of the category, and that more than summaries.
    pub fn search(&self, query: &Query<'_>) -> Found<'_> {
        search::search(&self.entries, query)
    }

    /// Lists all items in the order of the catalogue.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        self.entries.iter().map(|entry| &entry.item)
    }
}

#[cfg(test)]
mod tests;
