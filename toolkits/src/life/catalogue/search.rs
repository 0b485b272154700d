//! Searches the catalogue by category and by words in either language, the best matches first.
use super::{
    super::fold::fold,
    item::{Category, Item},
};

/// Finds items as [`Catalogue::search`](super::Catalogue::search) describes it.
pub(super) fn search<'a>(entries: &'a [Entry], query: &Query<'_>) -> Found<'a> {
    let candidates = || {
        entries
            .iter()
            .filter(|entry| query.category.is_none_or(|category| entry.item.category == category))
    };
    let words = query.words();
    // The keyword is not blank, but contains no word.
    if words.is_empty() && query.keyword.is_some_and(|keyword| !keyword.trim().is_empty()) {
        return Found { count: 0, items: Vec::new() };
    }
    let mut hits: Vec<(Rank, &Item)> =
        candidates().filter_map(|entry| Some((entry.rank_by_all(&words)?, &entry.item))).collect();
    if hits.is_empty() {
        hits = candidates()
            .filter_map(|entry| Some((entry.rank_by_any(&words)?, &entry.item)))
            .collect();
    }
    // The sort is stable, so items of equal rank stay in the order of the catalogue.
    hits.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    let count = hits.len();
    Found { count, items: hits.into_iter().take(query.limit).map(|(_, item)| item).collect() }
}

/// A search of the catalogue.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// Limits the search to this category.
    pub category: Option<Category>,
    /// Words to find in an item. A blank keyword matches any item. One without a letter or digit
    /// matches none.
    pub keyword: Option<&'a str>,
    /// The most items to return.
    pub limit: usize,
}

impl Query<'_> {
    fn words(&self) -> Vec<String> {
        let folded = fold(self.keyword.unwrap_or_default());
        let words = folded.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}

/// The best matches, and the number of all.
#[derive(Debug)]
pub struct Found<'a> {
    /// The number of all matches, beyond the limit too.
    pub count: usize,
    /// The best matches, best first.
    pub items: Vec<&'a Item>,
}

/// The numbers of words found in title, keywords, category and summary. Ranks are compared in this
/// order.
type Rank = [usize; 4];

/// An item with its texts folded once for comparing.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) item: Item,
    places: [String; 4],
}

impl Entry {
    pub(super) fn new(item: Item) -> Self {
        let title = fold(&format!("{} {}", item.title.ko, item.title.en));
        let keywords =
            fold(&format!("{} {}", item.keywords.ko.join(" "), item.keywords.en.join(" ")));
        let summary = fold(&format!("{} {}", item.summary.ko, item.summary.en));
        let places = [title, keywords, item.category.names().to_owned(), summary];
        Self { item, places }
    }

    fn rank_by_all(&self, words: &[String]) -> Option<Rank> {
        let mut rank = Rank::default();
        for word in words {
            rank = add(rank, self.rank_of(word)?);
        }
        Some(rank)
    }

    fn rank_by_any(&self, words: &[String]) -> Option<Rank> {
        words.iter().filter_map(|word| self.rank_of(word)).reduce(add)
    }

    fn rank_of(&self, word: &str) -> Option<Rank> {
        let stem = without_particle(word).unwrap_or(word);
        let found = |place: &String| place.contains(word) || place.contains(stem);
        let rank = self.places.each_ref().map(|place| usize::from(found(place)));
        (rank != Rank::default()).then_some(rank)
    }
}

fn add(left: Rank, right: Rank) -> Rank {
    std::array::from_fn(|place| left[place] + right[place])
}

/// Korean particles, longer ones first.
const PARTICLES: [&str; 16] = [
    "에서", "으로", "에게", "한테", "까지", "부터", "을", "를", "이", "가", "은", "는", "에", "로",
    "의", "도",
];

/// Removes a Korean particle from the end of a word. What remains must have two syllables, because
/// shorter words often end in such a syllable themselves. Returns `None` if no particle can be
/// removed.
fn without_particle(word: &str) -> Option<&str> {
    let stem = PARTICLES.iter().find_map(|particle| word.strip_suffix(particle))?;
    let is_hangul = |c: char| ('가'..='힣').contains(&c);
    (stem.chars().count() >= 2 && stem.chars().all(is_hangul)).then_some(stem)
}
