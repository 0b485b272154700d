//! Reads the query of a request.

use std::{borrow::Cow, convert::Infallible, str::FromStr, sync::Arc};

use axum::{extract::FromRequestParts, http::request::Parts as Head};

use crate::{problem::Problem, state::Shared};

/// The names and values of a query. Names that a route does not know are ignored.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    fn read(text: &str) -> Self {
        let pairs = form_urlencoded::parse(text.as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// Returns the first value of a name. An empty one counts as none.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// Reads a value. Returns a problem if it cannot be read.
    pub(crate) fn parse<T: FromStr>(
        &self,
        name: &'static str,
        expected: impl Into<Cow<'static, str>>,
    ) -> Result<Option<T>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let wrong = |_| bad_value(name, expected);
        value.parse().map(Some).map_err(wrong)
    }

    /// Reads a place in a list.
    ///
    /// # Errors
    /// Returns a problem if no list has such a place.
    pub(crate) fn place<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Problem> {
        let place = self.get(name).map(str::parse).transpose();
        place.map_err(|_| Problem::unknown_place(format!("?{name}")))
    }

    /// Reads how many items the client asks for, from 1 to `max`, which is also the default.
    pub(crate) fn limit(&self, max: usize) -> Result<usize, Problem> {
        let expected = format!("It is a number from 1 to {max}.");
        let limit = self.parse("limit", expected.clone())?.unwrap_or(max);
        if (1..=max).contains(&limit) { Ok(limit) } else { Err(bad_value("limit", expected)) }
    }
}

/// Makes the problem of a value in the query.
pub(crate) fn bad_value(
    name: impl Into<Cow<'static, str>>,
    expected: impl Into<Cow<'static, str>>,
) -> Problem {
    Problem::malformed("A value of the query does not fit.")
        .at(format!("?{}", name.into()), expected)
}

impl FromRequestParts<Arc<Shared>> for Query {
    type Rejection = Infallible;

    async fn from_request_parts(head: &mut Head, _: &Arc<Shared>) -> Result<Self, Infallible> {
        Ok(Self::read(head.uri.query().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_the_first_counts() {
        let query = Query::read("after=17%405f.3&limit=7&after=2&empty=&x");
        assert_eq!(query.get("after"), Some("17@5f.3"));
        assert_eq!((query.get("empty"), query.get("x"), query.get("y")), (None, None, None));
        assert_eq!(query.limit(100).unwrap(), 7);
        assert_eq!(Query::read("").limit(100).unwrap(), 100);
        for bad in ["limit=0", "limit=101", "limit=-1", "limit=x", "limit=7.5"] {
            let problem = Query::read(bad).limit(100).unwrap_err();
            assert_eq!(problem.name().name(), "malformed", "{bad}");
        }
    }
}
