//! What a client hears of a stream that ends before its turn.

use madang::language::Locale;

use crate::stream::mapper::Cut;

/// Gives the reason in words; `None` where the reader's own dismissal is the reason.
pub(crate) fn words(cut: Cut, locale: Locale) -> Option<&'static str> {
    Some(match cut {
        Cut::Draining { .. } => locale.pick(
            "서버가 곧 다시 시작합니다. 다시 연결하면 이어집니다.",
            "The server restarts soon. Connect again to go on.",
        ),
        Cut::Unread { .. } => locale.pick(
            "지금은 대화를 읽을 수 없습니다. 다시 연결하면 이어집니다.",
            "The chat cannot be read now. Connect again to go on.",
        ),
        Cut::TokenExpired => locale.pick("토큰이 만료되었습니다.", "The token has expired."),
        Cut::TooLong { .. } => locale.pick(
            "스트림이 너무 오래 이어졌습니다. 다시 연결하면 이어집니다.",
            "The stream has lived too long. Connect again to go on.",
        ),
        Cut::Dismissed => return None,
    })
}
