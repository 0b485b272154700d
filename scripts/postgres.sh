#!/usr/bin/env bash
# Starts a PostgreSQL of the installed packages for tests, in a folder of its own, and prints its URL. Its data are as durable as
# those of any server: tests stop it in mid-write.
#
# usage: scripts/postgres.sh start DIR    makes a server in DIR if there is none, and prints postgres://...
#        scripts/postgres.sh stop DIR [immediate]
#        scripts/postgres.sh find         prints the folder of the programs
set -eu

stop() {
    printf '%s\n' "$*" >&2
    exit 1
}

# The newest that is installed.
binaries() {
    local found
    found=$(find /usr/lib/postgresql /usr/pgsql-* /opt/homebrew/opt/postgresql* /usr/local/opt/postgresql* -name initdb 2>/dev/null |
        sort -V | tail -n 1)
    if [ -z "$found" ]; then found=$(command -v initdb || true); fi
    [ -n "$found" ] || stop "there is no PostgreSQL here: run scripts/setup.sh postgres"
    dirname "$found"
}

# PostgreSQL refuses to run as root. It also fails in a working folder that its user cannot enter.
as_its_user() {
    cd /
    if [ "$(id -u)" -eq 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi
}

free_port() {
    local port
    for ((tries = 0; tries < 100; tries++)); do
        port=$((20000 + RANDOM % 20000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    stop "no port is free"
}

start() {
    local dir=$1 bin port
    bin=$(binaries)
    mkdir -p "$dir"
    dir=$(cd "$dir" && pwd)
    if [ "$(id -u)" -eq 0 ]; then chown postgres "$dir"; fi
    if [ ! -e "$dir/data/PG_VERSION" ]; then
        as_its_user "$bin/initdb" -D "$dir/data" -U postgres -A trust --locale=C --encoding=UTF8 >"$dir/initdb.log" 2>&1 ||
            stop "initdb failed: see $dir/initdb.log"
        free_port >"$dir/port"
    fi
    port=$(cat "$dir/port")
    if ! as_its_user "$bin/pg_ctl" -D "$dir/data" status >/dev/null 2>&1; then
        as_its_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/data/server.log" -w -t 60 \
            -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='$dir' -c fsync=on -c max_connections=200" \
            start >/dev/null 2>&1 || stop "the server did not start: see $dir/data/server.log"
    fi
    echo "postgres://postgres@127.0.0.1:$port/postgres"
}

case ${1:-} in
start) start "${2:?the folder of the server}" ;;
stop) as_its_user "$(binaries)/pg_ctl" -D "$(cd "${2:?the folder of the server}" && pwd)/data" -m "${3:-fast}" -w stop >/dev/null ;;
find) binaries ;;
*) stop "usage: scripts/postgres.sh start DIR | stop DIR [immediate] | find" ;;
esac
