//! The time zone of a turn, of a user, or of the machine.

use std::{fmt, sync::Arc};

use jiff::{Timestamp, tz::TimeZone};
use madang_actors::{protocol::UserId, session::UnknownTimeZone};
use tracing::warn;

/// The time zones of turns and calls that name none.
#[derive(Clone, Default)]
pub(crate) struct TimeZones {
    pub(crate) of_user: Option<Arc<OfUser>>,
    pub(crate) of_all: Option<Arc<str>>,
}

pub(crate) type OfUser = dyn Fn(&UserId) -> Option<Arc<str>> + Send + Sync;

impl TimeZones {
    /// Reads the machine's zone once, so that it stays the same as long as the runtime lives.
    pub(crate) fn started(mut self) -> Result<Self, UnknownTimeZone> {
        self.of_all = Some(match self.of_all {
            Some(name) => known(name)?,
            None => machines(),
        });
        Ok(self)
    }

    /// Returns the zone that was asked for, or else the user's own, or else the default.
    pub(crate) fn choose(
        &self,
        user: &UserId,
        wanted: Option<Arc<str>>,
    ) -> Result<Arc<str>, UnknownTimeZone> {
        let own = || self.of_user.as_ref().and_then(|of_user| of_user(user));
        match wanted.or_else(own) {
            Some(name) => known(name),
            None => Ok(self.of_all.clone().unwrap_or_else(|| UTC.into())),
        }
    }
}

impl fmt::Debug for TimeZones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeZones").field("of_all", &self.of_all).finish_non_exhaustive()
    }
}

/// Finds a time zone by its IANA name, or by a rule as POSIX writes it (`EST5EDT,M3.2.0,M11.1.0`).
pub(crate) fn find(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).or_else(|_| TimeZone::posix(name)).ok()
}

fn known(name: Arc<str>) -> Result<Arc<str>, UnknownTimeZone> {
    if find(&name).is_some() { Ok(name) } else { Err(UnknownTimeZone { name }) }
}

/// Returns the machine's zone: that of `TZ`, or else that of the system's settings.
fn machines() -> Arc<str> {
    let setting = std::env::var("TZ").unwrap_or_default();
    match TimeZone::try_system() {
        Ok(zone) => named(&zone, &setting),
        Err(error) => {
            warn!(%error, "the machine's time zone is not known: days are counted in UTC");
            UTC.into()
        }
    }
}

/// Returns the name of a zone. If it has none, returns the rule of `TZ`, or the zone's present
/// offset.
fn named(zone: &TimeZone, setting: &str) -> Arc<str> {
    if let Some(name) = zone.iana_name() {
        return name.into();
    }
    let rule = setting.trim_start_matches(':');
    if TimeZone::posix(rule).is_ok() {
        return rule.into();
    }
    let seconds = zone.to_offset(Timestamp::now()).seconds();
    // POSIX counts westward.
    let (sign, ahead) = if seconds < 0 { ('+', '-') } else { ('-', '+') };
    let hours = seconds.abs() / 3_600;
    let minutes = seconds.abs() / 60 % 60;
    format!("<{ahead}{hours:02}{minutes:02}>{sign}{hours:02}:{minutes:02}").into()
}

/// The time zone of a machine without settings.
const UTC: &str = "UTC";

#[cfg(test)]
mod tests {
    use jiff::{civil::date, tz::Offset};

    use super::*;

    fn kim() -> UserId {
        UserId::new("kim").unwrap()
    }

    #[test]
    fn a_turn_goes_before_a_user_and_a_user_before_all() {
        let mut zones = TimeZones::default();
        zones.of_all = Some("Europe/Berlin".into());
        zones.of_user =
            Some(Arc::new(|user: &UserId| (user.as_str() == "kim").then(|| "Asia/Seoul".into())));
        let zones = zones.started().unwrap();
        let lee = UserId::new("lee").unwrap();
        assert_eq!(&*zones.choose(&lee, None).unwrap(), "Europe/Berlin");
        assert_eq!(&*zones.choose(&kim(), None).unwrap(), "Asia/Seoul");
        assert_eq!(&*zones.choose(&kim(), Some("UTC".into())).unwrap(), "UTC");
    }

    #[test]
    fn an_unknown_zone_is_refused_wherever_it_comes_from() {
        let mut zones = TimeZones::default();
        zones.of_all = Some("Mars/Olympus".into());
        assert_eq!(zones.started().unwrap_err().name, "Mars/Olympus".into());
        let mut zones = TimeZones::default();
        zones.of_user = Some(Arc::new(|_: &UserId| Some("Mars/Olympus".into())));
        assert!(zones.choose(&kim(), None).is_err());
        assert!(zones.choose(&kim(), Some(String::new().into())).is_err());
    }

    #[test]
    fn the_machines_own_has_a_name_that_is_found_again() {
        assert!(find(&machines()).is_some());
        assert!(TimeZones::default().started().unwrap().choose(&kim(), None).is_ok());
    }

    #[test]
    fn a_zone_without_a_name_is_written_so_that_its_days_stay_the_same() {
        let rule = "EST5EDT,M3.2.0,M11.1.0";
        assert_eq!(&*named(&TimeZone::posix(rule).unwrap(), &format!(":{rule}")), rule);
        for seconds in [14 * 3_600, -11 * 3_600, 20_700, -12_600, 0] {
            let zone = Offset::from_seconds(seconds).unwrap().to_time_zone();
            let found = find(&named(&zone, "")).unwrap();
            let noon = date(2026, 3, 10).at(12, 0, 0, 0);
            assert_eq!(
                found.to_ambiguous_timestamp(noon).unambiguous().unwrap(),
                zone.to_ambiguous_timestamp(noon).unambiguous().unwrap(),
                "{seconds}"
            );
        }
    }
}
