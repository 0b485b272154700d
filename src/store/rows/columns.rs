//! The columns of a row, whichever database it is of.

use madang_actors::{port::StoreError, protocol::Timestamp};

use super::value::{damaged, number};

/// Reads the columns of a row by their names. NULL is `None`.
///
/// Each method fails if the row has no such column, or if it is of another type.
pub(crate) trait Columns {
    fn maybe_text(&self, name: &'static str) -> Result<Option<&str>, StoreError>;

    fn maybe_integer(&self, name: &'static str) -> Result<Option<i64>, StoreError>;

    fn maybe_bytes(&self, name: &'static str) -> Result<Option<&[u8]>, StoreError>;

    fn text(&self, name: &'static str) -> Result<&str, StoreError> {
        self.maybe_text(name)?.ok_or_else(|| damaged(name))
    }

    fn integer(&self, name: &'static str) -> Result<i64, StoreError> {
        self.maybe_integer(name)?.ok_or_else(|| damaged(name))
    }

    fn bytes(&self, name: &'static str) -> Result<&[u8], StoreError> {
        self.maybe_bytes(name)?.ok_or_else(|| damaged(name))
    }

    /// Reads a number that is never negative.
    fn number(&self, name: &'static str) -> Result<u64, StoreError> {
        number(self.integer(name)?, name)
    }

    /// Reads a number that is never negative, if there is one.
    fn maybe_number(&self, name: &'static str) -> Result<Option<u64>, StoreError> {
        self.maybe_integer(name)?.map(|value| number(value, name)).transpose()
    }

    /// Reads a number that is never negative and small.
    fn count(&self, name: &'static str) -> Result<u32, StoreError> {
        u32::try_from(self.integer(name)?).map_err(|_| damaged(name))
    }

    /// Reads a yes or no, which is 1 or 0.
    fn is_set(&self, name: &'static str) -> Result<bool, StoreError> {
        Ok(self.integer(name)? != 0)
    }

    fn moment(&self, name: &'static str) -> Result<Timestamp, StoreError> {
        self.integer(name).map(Timestamp::from_millis)
    }

    fn maybe_moment(&self, name: &'static str) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.maybe_integer(name)?.map(Timestamp::from_millis))
    }
}
