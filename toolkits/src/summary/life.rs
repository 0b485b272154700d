//! The sentence for each tool of the toolkit `life`.

use madang::language::Particle;

use super::{Fields, Pair, counted};

/// Describes the result of a tool, if its data have the known form.
pub(super) fn summary(tool: &str, data: Fields<'_>) -> Option<Pair> {
    let title = || data.text("title");
    let habit = || data.number("habit_id");
    let named = || Some(named(habit()?, title()));
    Some(match tool {
        "search_catalog" if data.is_empty_list() => (
            "카탈로그에서 맞는 항목을 찾지 못했습니다.".to_owned(),
            "Found nothing in the catalogue.".to_owned(),
        ),
        "search_catalog" => {
            let (ko, en) = data.items()?;
            (format!("카탈로그에서 {ko}를 찾았습니다."), format!("Found {en} in the catalogue."))
        }
        "query_protocol" => {
            let title = title()?;
            (format!("{title} 항목을 읽었습니다."), format!("Read the item {title}."))
        }
        "list_active_habits" if data.is_empty_list() => {
            ("진행 중인 습관이 없습니다.".to_owned(), "There are no active habits.".to_owned())
        }
        "list_active_habits" => {
            let (ko, en) = data.items()?;
            (format!("진행 중인 습관은 {ko}입니다."), format!("Active habits: {en}."))
        }
        "get_habit" => {
            let (title, habit) = (title()?, habit()?);
            (format!("{title} 습관은 {habit}번입니다."), format!("{title} is habit {habit}."))
        }
        "get_streak" => streak(&title()?, data.number("current")?),
        "list_tracker_entries" => entries(&named()?, data)?,
        "add_habit" => added(&title()?, habit()?, data),
        "log_tracker_entry" => {
            let ((of, habit), day) = (named()?, data.day("date")?);
            let (ko, en) = value(data)?;
            let particle = Particle::As.after(ko);
            (
                format!("{of}의 {day} 기록을 {ko}{particle} 남겼습니다."),
                format!("Recorded {habit} as {en} for {day}."),
            )
        }
        "correct_tracker_entry" => {
            let ((of, habit), day) = (named()?, data.day("date")?);
            let (ko, en) = value(data)?;
            let particle = Particle::As.after(ko);
            (
                format!("{of}의 {day} 기록을 {ko}{particle} 고쳤습니다."),
                format!("Corrected the record of {habit} for {day} to {en}."),
            )
        }
        "end_habit" => {
            let (title, day) = (title()?, data.day("ended_on")?);
            let particle = Particle::As.after(day);
            (
                format!("{title} 습관을 {day}{particle} 끝냈습니다."),
                format!("Ended the habit {title} on {day}."),
            )
        }
        _ => return None,
    })
}

/// Names a habit by its number, and by its title if that is known.
fn named(number: u64, title: Option<String>) -> Pair {
    match title {
        Some(title) => (format!("{title} ({number}번 습관)"), format!("{title} (habit {number})")),
        None => (format!("{number}번 습관"), format!("habit {number}")),
    }
}

/// Returns the words for the value of a day.
pub(crate) fn value(data: Fields<'_>) -> Option<(&'static str, &'static str)> {
    match data.raw("value")? {
        "done" => Some(("완료", "done")),
        "blank" => Some(("빈칸", "blank")),
        _ => None,
    }
}

fn streak(title: &str, current: u64) -> Pair {
    match current {
        0 => (
            format!("{title}: 지금 이어지는 날이 없습니다."),
            format!("{title}: no days in a row right now."),
        ),
        _ => (
            format!("{title}: {current}일째 이어 가고 있습니다."),
            format!("{title}: {} in a row.", counted(current, "day")),
        ),
    }
}

fn entries((of, habit): &Pair, data: Fields<'_>) -> Option<Pair> {
    if data.is_empty_list() {
        return Some((
            format!("{of}에는 아직 기록이 없습니다."),
            format!("There are no records of {habit} yet."),
        ));
    }
    let (ko, en) = data.items()?;
    Some((format!("{of}의 기록은 {ko}입니다."), format!("Records of {habit}: {en}.")))
}

fn added(title: &str, number: u64, data: Fields<'_>) -> Pair {
    let topic = Particle::Topic.after(title);
    let object = Particle::Object.after(title);
    if data.0.get("already_active") == Some(&true.into()) {
        (
            format!("{title}{topic} 이미 {number}번 습관입니다. 바뀐 것이 없습니다."),
            format!("{title} is habit {number} already; nothing has changed."),
        )
    } else {
        (
            format!("{number}번 습관 {title}{object} 추가했습니다."),
            format!("Added habit {number}, {title}."),
        )
    }
}
