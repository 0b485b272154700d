//! Every sentence of the toolkit that a person may see, in Korean and English. The English reasons
//! are with the rules.
use madang::{event::quoted, language::Particle, tool::Locale};

use super::{
    habit::{HabitId, HabitType, TrackerValue},
    rules::{LifeViolation, quota_of},
    today::parse_day,
};

impl LifeViolation {
    /// Returns the reason in the person's language.
    pub fn reason(&self, locale: Locale) -> String {
        match locale.language() {
            "ko" => korean(self),
            _ => self.to_string(),
        }
    }
}

/// Says what adding a habit will do.
pub(super) fn will_add(title: &str, framed_text: &str, locale: Locale) -> String {
    let adds = locale.pick("새 습관을 추가합니다", "Adds a new habit");
    if framed_text == title {
        format!("{adds}: {}", quoted(title))
    } else {
        format!("{adds}: {} ({})", quoted(title), quoted(framed_text))
    }
}

/// Says what recording a day will do. Without a date the day is today.
pub(super) fn will_log(
    habit: HabitId,
    value: TrackerValue,
    date: Option<&str>,
    locale: Locale,
) -> String {
    will_record(&numbered(habit, locale), value, date, locale)
}

/// Names a habit by its number.
pub(super) fn numbered(habit: HabitId, locale: Locale) -> String {
    match locale.language() {
        "ko" => format!("{habit}번"),
        _ => format!("habit {habit}"),
    }
}

/// Says what recording a day will do, with the name of the habit.
pub(super) fn will_log_of(
    title: &str,
    value: TrackerValue,
    date: Option<&str>,
    locale: Locale,
) -> String {
    will_record(&quoted(title), value, date, locale)
}

/// Names the day of a call. An invalid day is quoted, and recording it reports the error.
fn day(date: Option<&str>, locale: Locale) -> String {
    match date {
        Some(given) if parse_day(given).is_err() => quoted(given),
        given => given.unwrap_or(locale.pick("오늘", "today")).to_owned(),
    }
}

fn will_record(name: &str, value: TrackerValue, date: Option<&str>, locale: Locale) -> String {
    let date = day(date, locale);
    match (locale.language(), value) {
        ("ko", TrackerValue::Done) => {
            format!("{name} 습관의 {date} 기록을 완료로 남깁니다.")
        }
        ("ko", TrackerValue::Blank) => {
            format!("{name} 습관의 {date} 기록을 빈칸으로 남깁니다.")
        }
        (_, _) => format!("Records {name} as {} for {date}.", value.as_str()),
    }
}

/// Says what ending a habit will do. It has no name if the habit is not the user's.
pub(super) fn will_end(habit: HabitId, title: Option<&str>, locale: Locale) -> String {
    match (locale.language(), title.map(quoted)) {
        ("ko", Some(title)) => {
            format!("{title} 습관을 오늘로 끝냅니다. 지금까지의 기록은 남습니다.")
        }
        ("ko", None) => format!("{habit}번 습관을 오늘로 끝냅니다."),
        (_, Some(title)) => {
            format!("Ends the habit {title} today. What was recorded stays.")
        }
        (_, None) => format!("Ends habit {habit} today."),
    }
}

/// Says what correcting a day will do, with the recorded value if it is known.
pub(super) fn will_correct(
    name: &str,
    recorded: Option<TrackerValue>,
    value: TrackerValue,
    date: Option<&str>,
    locale: Locale,
) -> String {
    let date = day(date, locale);
    let word = |value| word(value, locale);
    match (locale.language(), recorded) {
        ("ko", Some(recorded)) => {
            let from = word(recorded);
            let to = word(value);
            let particle = Particle::As.after(to);
            format!("{name} 습관의 {date} 기록을 '{from}'에서 '{to}'{particle} 고칩니다.")
        }
        ("ko", None) => {
            let to = word(value);
            let particle = Particle::As.after(to);
            format!("{name} 습관의 {date} 기록을 '{to}'{particle} 고칩니다.")
        }
        (_, Some(recorded)) => {
            let from = word(recorded);
            let to = word(value);
            format!("Corrects the record of {name} for {date} from {from} to {to}.")
        }
        (_, None) => {
            format!("Corrects the record of {name} for {date} to {}.", word(value))
        }
    }
}

fn word(value: TrackerValue, locale: Locale) -> &'static str {
    match value {
        TrackerValue::Done => locale.pick("완료", "done"),
        TrackerValue::Blank => locale.pick("빈칸", "blank"),
    }
}

fn korean(violation: &LifeViolation) -> String {
    match violation {
        LifeViolation::Quota { habit_type } => {
            let name = match habit_type {
                HabitType::Build => "만들기",
                HabitType::Break => "줄이기",
            };
            format!("{name} 습관은 동시에 {}개까지만 할 수 있습니다.", quota_of(*habit_type))
        }
        LifeViolation::Frame => "습관의 틀은 L2(다가가기)나 L3(정체성)이어야 합니다.".to_owned(),
        LifeViolation::Avoidance { found } => {
            format!("'{found}' 같은 피하는 말 대신 하고 싶은 행동으로 적어 주세요.")
        }
        LifeViolation::Origin => {
            "프로토콜, 줄이기 프로토콜, 식사 패턴 가운데 하나만 골라야 합니다.".to_owned()
        }
        LifeViolation::Duplicate { date, recorded } => {
            let recorded = word(*recorded, Locale::KO);
            format!("{date}에는 이미 {recorded} 기록이 있어서 바꿀 수 없습니다.")
        }
        LifeViolation::NoEntry { date } => format!("{date}에는 고칠 기록이 없습니다."),
        LifeViolation::Value => "기록 값은 done 또는 blank여야 합니다.".to_owned(),
        LifeViolation::Date => "날짜는 YYYY-MM-DD 꼴로 적어야 합니다.".to_owned(),
        LifeViolation::FutureDate { date, today } => {
            format!("{date} 날짜는 아직 오지 않았습니다. 오늘은 {today}입니다.")
        }
        LifeViolation::BlankText { field } => format!("{field} 값이 비어 있습니다."),
        LifeViolation::ControlText { field } => {
            format!("{field} 값에는 줄바꿈이나 제어 문자를 쓸 수 없습니다.")
        }
        LifeViolation::LongText { field, max } => {
            format!("{field} 값은 {max}자를 넘을 수 없습니다.")
        }
        LifeViolation::UnknownItem { .. } => "카탈로그에 그런 항목이 없습니다.".to_owned(),
        LifeViolation::UnknownHabit { id } => format!("{id}번 습관을 찾을 수 없습니다."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn all() -> Vec<LifeViolation> {
        let day = date(2026, 3, 10);
        vec![
            LifeViolation::Quota { habit_type: HabitType::Build },
            LifeViolation::Quota { habit_type: HabitType::Break },
            LifeViolation::Frame,
            LifeViolation::Avoidance { found: "금지" },
            LifeViolation::Origin,
            LifeViolation::Duplicate { date: day, recorded: TrackerValue::Done },
            LifeViolation::Duplicate { date: day, recorded: TrackerValue::Blank },
            LifeViolation::NoEntry { date: day },
            LifeViolation::Value,
            LifeViolation::Date,
            LifeViolation::FutureDate { date: day, today: date(2026, 3, 9) },
            LifeViolation::BlankText { field: "framed_text" },
            LifeViolation::ControlText { field: "note" },
            LifeViolation::LongText { field: "note", max: 200 },
            LifeViolation::UnknownItem { id: "x".to_owned() },
            LifeViolation::UnknownHabit { id: HabitId(7) },
        ]
    }

    #[test]
    fn every_reason_is_in_the_language_of_the_person() {
        let is_hangul = |c: char| ('가'..='힣').contains(&c);
        for violation in all() {
            assert!(violation.reason(Locale::KO).contains(is_hangul), "{violation:?}");
            let quotes_the_text = matches!(violation, LifeViolation::Avoidance { .. });
            let english = violation.reason(Locale::EN);
            assert!(quotes_the_text || english.is_ascii(), "{english}");
        }
    }

    #[test]
    fn a_quota_reason_names_the_limit() {
        let build = LifeViolation::Quota { habit_type: HabitType::Build };
        assert_eq!(build.reason(Locale::KO), "만들기 습관은 동시에 3개까지만 할 수 있습니다.");
        let breaking = LifeViolation::Quota { habit_type: HabitType::Break };
        assert_eq!(
            breaking.reason(Locale::EN),
            "At most 1 break habit can be active at the same time."
        );
    }

    #[test]
    fn a_reason_displays_in_english() {
        assert_eq!(LifeViolation::Date.to_string(), "The date must have the form YYYY-MM-DD.");
    }
}
