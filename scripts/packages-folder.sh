#!/usr/bin/env bash
# Names the folder of the cache that has a small Debian, auditwheel and uv, as `scripts/setup.sh packages` brings them.
set -eu
cd "$(dirname "$0")/../packaging/tests"

# The same release as here: a binary of this machine needs its libraries.
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)
auditwheel=$(sed -n 's/^auditwheel==\([0-9.]*\).*/\1/p' auditwheel.txt)
uv=$(sed -n 's/^uv==\([0-9.]*\).*/\1/p' uv.txt)
echo "${XDG_CACHE_HOME:-$HOME/.cache}/madang/packages-${release:-none}-auditwheel-$auditwheel-uv-$uv"
