//! The data of a call, left out where it is too large for a frame.

use std::borrow::Cow;

use madang::CallId;
use serde_json::{Value, json};

use crate::stream::pieces::json_bytes;

/// Gives the data of a call; in place of data that has more bytes as JSON, their number and where they are.
pub(crate) fn data_within(call: CallId, data: &Value, max_bytes: usize) -> Cow<'_, Value> {
    let bytes = json_bytes(data);
    if bytes <= max_bytes {
        return Cow::Borrowed(data);
    }
    Cow::Owned(json!({ "too_large": bytes, "href": format!("/v1/calls/{call}") }))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn data_that_is_too_large_gives_way_to_where_it_is() {
        let call = CallId::new(Uuid::from_u128(7));
        let data = json!("가".repeat(10));
        assert_eq!(*data_within(call, &data, 32), data);
        let href = "/v1/calls/00000000-0000-0000-0000-000000000007";
        assert_eq!(*data_within(call, &data, 31), json!({ "too_large": 32, "href": href }));
    }
}
