#!/usr/bin/env bash
# Makes a package from a finished binary. It compiles nothing, and the same binary gives the same bytes.
#
# usage: scripts/package.sh archive|wheel|npm|deb BINARY OUT
#   BINARY: the program, built with `cargo build --locked --release --bin madang`; its head says for which system. That of
#           scripts/portable.sh is target/portable/lib/madang/madang, and its libraries beside it come into the package, too
#   OUT:    the folder for the package
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "scripts/package.sh: packages are made with Python 3.11 or newer, and there is none: install python3" >&2
    exit 1
}
PYTHONDONTWRITEBYTECODE=1 exec python3 "$root/packaging/package.py" "$@"
