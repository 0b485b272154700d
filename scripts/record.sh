#!/usr/bin/env bash
# Draws the pictures of the pages again: a chat with the bundled model in a terminal, as SVG, and the page in a browser, as WebP.
#
# usage: scripts/record.sh [chat|page]     without a name, both; `page` needs what the suite `browser` needs
set -eu
cd "$(dirname "$0")/.."

chat() { MADANG_RECORD=1 cargo test --locked -p madang-cli --test it picture; }

page() {
    cargo build --locked -p madang-cli
    npm ci --prefix server/browser --ignore-scripts --no-audit --no-fund
    MADANG_BIN=${CARGO_TARGET_DIR:-target}/debug/madang node server/browser/record.mjs docs/page.webp
}

case ${1:-both} in
chat) chat ;;
page) page ;;
both) chat && page ;;
*) echo "usage: scripts/record.sh [chat|page]" >&2 && exit 2 ;;
esac
