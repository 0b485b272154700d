//! An item of the catalogue: what it says in each language, its kind and its category.
use madang::tool::Locale;
use serde::{Deserialize, Serialize};

use super::super::{
    habit::{HabitType, Origin},
    words::words,
};

/// One item of the catalogue, in all languages.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// A short ASCII slug that never changes.
    pub id: String,
    /// Its kind, which decides the column of a habit.
    pub kind: Kind,
    /// The part of life it is about.
    pub category: Category,
    /// A short noun phrase.
    pub title: Localized<String>,
    /// One short sentence.
    pub summary: Localized<String>,
    /// The reason to do it.
    pub why: Localized<String>,
    /// Two to four steps.
    pub steps: Localized<Vec<String>>,
    /// The usual and the least amount.
    pub dose: Dose,
    /// A moment of the day to tie it to.
    pub anchor: Localized<String>,
    /// Words by which it is found, in addition to title and summary.
    pub keywords: Localized<Vec<String>>,
}

impl Item {
    /// Returns the origin of a habit of this item. The kind decides the column.
    pub fn origin(&self) -> Origin {
        let id = self.id.clone();
        match self.kind {
            Kind::Protocol => Origin::Protocol(id),
            Kind::Break => Origin::BreakProtocol(id),
            Kind::Diet => Origin::DietPattern(id),
        }
    }

    /// Returns the full record in one language.
    pub fn record(&self, locale: Locale) -> Record<'_> {
        Record {
            id: &self.id,
            kind: self.kind,
            habit_type: self.origin().habit_type(),
            category: self.category,
            title: self.title.get(locale),
            summary: self.summary.get(locale),
            why: self.why.get(locale),
            steps: self.steps.get(locale),
            dose: RecordDose {
                standard: self.dose.standard.get(locale),
                minimum: self.dose.minimum.get(locale),
            },
            anchor: self.anchor.get(locale),
            keywords: self.keywords.get(locale),
        }
    }
}

/// A normal day's amount and the least that still counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dose {
    /// The amount of a normal day.
    pub standard: Localized<String>,
    /// The amount of a bad day.
    pub minimum: Localized<String>,
}

/// A text in each language.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Localized<T> {
    /// Korean.
    pub ko: T,
    /// English.
    pub en: T,
}

impl<T> Localized<T> {
    /// Returns the content in the language of `locale`.
    pub fn get(&self, locale: Locale) -> &T {
        locale.pick(&self.ko, &self.en)
    }
}

/// An item in one language.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    id: &'a str,
    kind: Kind,
    #[serde(rename = "type")]
    habit_type: HabitType,
    category: Category,
    title: &'a str,
    summary: &'a str,
    why: &'a str,
    steps: &'a [String],
    dose: RecordDose<'a>,
    anchor: &'a str,
    keywords: &'a [String],
}

#[derive(Debug, Serialize)]
struct RecordDose<'a> {
    standard: &'a str,
    minimum: &'a str,
}

/// The kind of an item, which decides the column of a habit that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Something to take up.
    Protocol,
    /// Something to loosen the hold of.
    Break,
    /// A way of eating.
    Diet,
}

words! {
    /// The part of life that an item is about.
    pub enum Category {
        /// Light and the body clock.
        LightCircadian = "lightCircadian",
        /// Sleep.
        Sleep = "sleep",
        /// Movement.
        Movement = "movement",
        /// Nutrition.
        Nutrition = "nutrition",
        /// Focus and thinking.
        FocusCognition = "focusCognition",
        /// Recovery and stress.
        RecoveryStress = "recoveryStress",
        /// Emotions and relationships.
        EmotionRelationship = "emotionRelationship",
        /// Habits to break.
        BreakHabit = "breakHabit",
    }
}

impl Category {
    /// Returns the names that people use, folded, in both languages.
    pub(super) fn names(self) -> &'static str {
        match self {
            Self::LightCircadian => "빛 생체리듬 light circadian",
            Self::Sleep => "수면 잠 sleep",
            Self::Movement => "운동 움직임 movement exercise",
            Self::Nutrition => "영양 식단 nutrition diet",
            Self::FocusCognition => "집중 인지 focus cognition",
            Self::RecoveryStress => "회복 스트레스 recovery stress",
            Self::EmotionRelationship => "감정 관계 emotion relationship",
            Self::BreakHabit => "나쁜 습관 break habit",
        }
    }
}
