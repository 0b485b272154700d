//! Finds a person's calendar day, and reads days.
use jiff::{civil::Date, tz::TimeZone};
use madang::Timestamp;

use super::rules::LifeViolation;
use madang::tool::ToolContext;

/// Returns the calendar day of a moment in a time zone, which is an IANA name or a POSIX rule. An
/// unknown zone counts as UTC, but a runtime refuses one.
pub fn today(now: Timestamp, time_zone: &str) -> Date {
    let zone = TimeZone::get(time_zone).or_else(|_| TimeZone::posix(time_zone));
    let zone = zone.unwrap_or(TimeZone::UTC);
    let moment = jiff::Timestamp::from_millisecond(now.millis()).unwrap_or_else(|_| {
        // A moment outside the calendar becomes its nearer end.
        if now.millis() < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX }
    });
    moment.to_zoned(zone).date()
}

/// Reads a day of the form YYYY-MM-DD.
///
/// # Errors
/// Returns [`LifeViolation::Date`] for any other form, and for days outside the calendar.
pub fn parse_day(text: &str) -> Result<Date, LifeViolation> {
    // The parser accepts more forms of ISO 8601 than the schema allows.
    let has_form =
        text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.parse().ok().filter(|_| has_form).ok_or(LifeViolation::Date)
}

/// Reads the day that a call names. Without one, returns the user's today.
pub(super) fn day_or_today(day: Option<&str>, ctx: &ToolContext) -> Result<Date, LifeViolation> {
    day.map_or_else(|| Ok(today(ctx.now(), &ctx.time_zone)), parse_day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn the_day_depends_on_the_time_zone() {
        let moment: jiff::Timestamp = "2026-03-09T15:30:00Z".parse().unwrap();
        let now = Timestamp::from_millis(moment.as_millisecond());
        assert_eq!(today(now, "Asia/Seoul"), date(2026, 3, 10));
        assert_eq!(today(now, "UTC"), date(2026, 3, 9));
        assert_eq!(today(now, "America/New_York"), date(2026, 3, 9));
        assert_eq!(today(now, "KST-9"), date(2026, 3, 10), "a rule as POSIX writes it");
        assert_eq!(today(now, "Mars/Olympus"), date(2026, 3, 9), "an unknown zone counts as UTC");
    }

    #[test]
    fn the_ends_of_time_have_a_day() {
        for millis in [i64::MIN, i64::MAX] {
            today(Timestamp::from_millis(millis), "Asia/Seoul");
        }
    }

    #[test]
    fn only_real_days_in_one_form_are_read() {
        assert_eq!(parse_day("2028-02-29"), Ok(date(2028, 2, 29)));
        for text in [
            "2027-02-29",
            "2026-13-01",
            "2026-3-1",
            "20260310",
            "2026-03-10T10:00",
            "어제",
            "",
            "+02026-03-1",
        ] {
            assert_eq!(parse_day(text), Err(LifeViolation::Date), "{text}");
        }
    }
}
