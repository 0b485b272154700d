#!/usr/bin/env bash
# Names the folder of the cache that has the chat templates of others and jinja2, as `scripts/setup.sh templates` brings them.
set -eu
cd "$(dirname "$0")/../llama/src/tests/templates"

version() { sed -n 's/^[a-z0-9-]*==\([0-9.]*\).*/\1/p' "$1" | head -n 1; }

echo "${XDG_CACHE_HOME:-$HOME/.cache}/madang/templates-$(version llama-cpp-python.txt)-jinja2-$(version jinja2.txt)"
