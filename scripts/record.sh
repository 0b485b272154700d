#!/usr/bin/env bash
# Draws the picture of the README again: a chat with the bundled model in a terminal, as SVG.
#
# usage: scripts/record.sh
set -eu
cd "$(dirname "$0")/.."

MADANG_RECORD=1 cargo test --locked -p madang-program --test it picture
