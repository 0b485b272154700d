//! Tests the content of the bundled catalogue, and its search.
use std::collections::{BTreeMap, BTreeSet};

use madang::tool::Locale;

use super::*;
use crate::life::rules::detect_avoidance;

const BOTH: [Locale; 2] = [Locale::KO, Locale::EN];

fn ids(category: Option<Category>, keyword: &str) -> Vec<&'static str> {
    let query = Query { category, keyword: Some(keyword), limit: 47 };
    let found = Catalogue::bundled().search(&query);
    assert_eq!(found.count, found.items.len());
    found.items.into_iter().map(|item| item.id.as_str()).collect()
}

#[test]
fn there_are_34_protocols_8_break_protocols_and_5_diet_patterns() {
    let mut kinds = BTreeMap::new();
    for item in Catalogue::bundled().iter() {
        *kinds.entry(format!("{:?}", item.kind)).or_insert(0) += 1;
        assert_eq!(item.kind == Kind::Break, item.category == Category::BreakHabit, "{}", item.id);
        assert!(item.kind != Kind::Diet || item.category == Category::Nutrition, "{}", item.id);
    }
    let expected = [("Break", 8), ("Diet", 5), ("Protocol", 34)];
    assert_eq!(kinds, expected.map(|(kind, count)| (kind.to_owned(), count)).into());
}

#[test]
fn ids_are_short_slugs_and_titles_are_distinct() {
    let items: Vec<&Item> = Catalogue::bundled().iter().collect();
    let slug = |id: &str| id.split('-').all(|part| part.bytes().all(|b| b.is_ascii_lowercase()));
    assert!(items.iter().all(|item| slug(&item.id) && item.id.split('-').count() <= 3));
    assert_eq!(items.iter().map(|item| &item.id).collect::<BTreeSet<_>>().len(), 47);
    for locale in BOTH {
        assert_eq!(
            items.iter().map(|item| item.title.get(locale)).collect::<BTreeSet<_>>().len(),
            47
        );
    }
}

#[test]
fn texts_are_short_enough_to_be_repeated_and_complete_in_both_languages() {
    for item in Catalogue::bundled().iter() {
        assert!(item.summary.ko.chars().count() <= 30, "{}", item.id);
        assert!(item.summary.en.chars().count() <= 60, "{}", item.id);
        assert!(item.title.ko.chars().filter(|c| !c.is_whitespace()).count() <= 12, "{}", item.id);
        for locale in BOTH {
            assert!((2..=4).contains(&item.steps.get(locale).len()), "{}", item.id);
            assert!((2..=5).contains(&item.keywords.get(locale).len()), "{}", item.id);
        }
        let english = serde_json::to_string(&item.record(Locale::EN)).unwrap();
        assert!(english.is_ascii(), "{}", item.id);
        let korean = serde_json::to_value(item.record(Locale::KO)).unwrap();
        for text in ["title", "summary", "why", "anchor"] {
            let text = korean[text].as_str().unwrap();
            assert!(text.chars().any(|c| ('가'..='힣').contains(&c)), "{text}");
        }
    }
}

#[test]
fn every_record_fits_the_envelope_in_either_language() {
    for item in Catalogue::bundled().iter() {
        for locale in BOTH {
            let data = serde_json::to_string(&item.record(locale)).unwrap();
            assert!(r#"{"status":"ok","data":}"#.len() + data.len() <= 2_048, "{}", item.id);
        }
    }
}

#[test]
fn no_title_or_summary_of_ours_reads_as_avoidance() {
    for item in Catalogue::bundled().iter() {
        for locale in BOTH {
            assert_eq!(detect_avoidance(item.title.get(locale)), Ok(()), "{}", item.id);
            assert_eq!(detect_avoidance(item.summary.get(locale)), Ok(()), "{}", item.id);
        }
    }
}

#[test]
fn a_query_without_category_and_keyword_finds_everything_up_to_the_limit() {
    let found = Catalogue::bundled().search(&Query { category: None, keyword: None, limit: 10 });
    assert_eq!((found.count, found.items.len()), (47, 10));
    let blank = Query { category: None, keyword: Some(" \t"), limit: 1 };
    assert_eq!(Catalogue::bundled().search(&blank).count, 47);
}

#[test]
fn a_keyword_without_a_letter_or_digit_finds_nothing() {
    for keyword in ["???", "!", " - ", "…", "🙂"] {
        for category in [None, Some(Category::Sleep)] {
            assert_eq!(ids(category, keyword), <[&str; 0]>::default(), "{keyword}");
        }
    }
    assert_eq!(ids(None, "??? 카페인 !"), ids(None, "카페인"));
}

#[test]
fn a_keyword_is_found_in_both_languages_and_any_case() {
    assert_eq!(ids(None, "카페인"), ["caffeine-cutoff", "late-coffee"]);
    assert_eq!(ids(None, "CaFFeine"), ["caffeine-cutoff", "late-coffee"]);
    assert!(ids(None, "수면").len() >= 7 && ids(None, "sleep").len() >= 7);
}

#[test]
fn a_category_narrows_a_keyword() {
    assert_eq!(ids(Some(Category::Sleep), "카페인"), ["caffeine-cutoff"]);
    assert_eq!(ids(Some(Category::BreakHabit), "카페인"), ["late-coffee"]);
    assert_eq!(ids(Some(Category::Movement), "카페인"), [""; 0]);
    assert_eq!(ids(Some(Category::Sleep), "").len(), 7);
}

#[test]
fn titles_rank_before_keywords_and_keywords_before_summaries() {
    let found = ids(None, "산책");
    let of = |id| found.iter().position(|found| *found == id).unwrap();
    assert!(of("sunset-walk") < of("daily-walk"), "{found:?}");
    let found = ids(None, "물");
    let of = |id| found.iter().position(|found| *found == id).unwrap();
    assert_eq!(of("morning-water"), 0, "{found:?}");
    assert!(of("morning-water") < of("warm-bath"), "{found:?}");
}

#[test]
fn items_of_the_category_come_first_when_its_name_is_asked_for() {
    let found = ids(None, "수면");
    let sleep = |id: &&str| Catalogue::bundled().get(id).unwrap().category == Category::Sleep;
    assert!(found[..7].iter().all(sleep), "{found:?}");
}

#[test]
fn a_korean_particle_does_not_hide_an_item() {
    assert_eq!(ids(None, "카페인을"), ids(None, "카페인"));
    assert_eq!(ids(None, "수면에"), ids(None, "수면"));
}

#[test]
fn all_words_are_wanted_before_any_word_is_enough() {
    assert_eq!(ids(None, "아침 햇빛")[0], "morning-light");
    assert!(ids(None, "아침 햇빛").len() < ids(None, "아침").len());
    assert_eq!(ids(None, "수면에 좋은 프로토콜"), ids(None, "수면"));
}

#[test]
fn what_nothing_matches_finds_nothing() {
    assert_eq!(ids(None, "쿠버네티스"), [""; 0]);
    assert_eq!(ids(None, "오이"), [""; 0], "a short word keeps its last syllable");
}

#[test]
fn an_unknown_id_is_no_item() {
    assert!(Catalogue::bundled().get("morning-light").is_some());
    assert!(Catalogue::bundled().get("Morning-Light").is_none());
}
