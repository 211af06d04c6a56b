#!/bin/sh
# A private PostgreSQL server on a free loopback port, never the system's cluster.
#
#   pg.sh start DIR [PID]   starts the server whose data is in DIR (made when missing) and prints its superuser URL.
#                           A server that runs already is left alone. With PID: temporary; when that process has
#                           ended, however it ended, the server is stopped and DIR removed.
#   pg.sh stop DIR          stops it; done when it is not running.
#
# DIR/url holds the URL (with a random password), DIR/log the server's log, DIR/data/postmaster.pid its process id.
# As root the server runs as the user postgres or nobody; where that user cannot reach DIR (a clone under /root), data and
# log are in a folder of /var/lib and DIR has links to them.
set -eu

fail() {
    echo "pg.sh: $*" >&2
    exit 1
}

[ $# -ge 2 ] || fail "usage: pg.sh start DIR [PID] | pg.sh stop DIR"
command=$1 owner=${3:-}
umask 077

find_bin() {
    for dir in "$(pg_config --bindir 2>/dev/null || true)" $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -rn); do
        if [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ]; then
            echo "$dir"
            return
        fi
    done
    fail "no PostgreSQL server programs found (Debian: apt install postgresql)"
}

if [ "$(id -u)" -eq 0 ]; then
    user=nobody
    id postgres >/dev/null 2>&1 && user=postgres
    as_user() { setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups env HOME=/ "$@"; }
else
    as_user() { "$@"; }
fi

random_below() {
    echo $(($(od -An -N4 -tu4 /dev/urandom | tr -d ' ') % $1))
}

make_cluster() {
    home=$dir
    if [ "$(id -u)" -eq 0 ]; then
        chown "$user" "$dir"
        if ! as_user test -x "$dir"; then
            home=/var/lib/fairway-postgres/$(echo "$dir" | cksum | cut -d' ' -f1)
            mkdir -p "$home"
            chmod 711 "$(dirname "$home")"
            chown "$user" "$home"
            ln -sfn "$home/data" "$dir/data"
            ln -sfn "$home/log" "$dir/log"
        fi
    fi
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$dir/password"
    cp "$dir/password" "$home/initdb.password"
    [ "$(id -u)" -ne 0 ] || chown "$user" "$home/initdb.password"
    as_user "$bin/initdb" -D "$home/data" -U fairway --encoding=UTF8 --locale=C --auth-local=reject \
        --auth-host=scram-sha-256 --pwfile="$home/initdb.password" ${owner:+-N} >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        rm -rf "$home/data" "$dir/data"
        fail "initdb failed"
    }
    rm -f "$home/initdb.password"
}

# The port is kept for later starts on the same data, unless somebody else has it by then.
start_server() {
    tries=0
    while [ $tries -lt 10 ]; do
        port=$(cat "$dir/port" 2>/dev/null || echo $((20000 + $(random_below 12000))))
        if as_user "$bin/pg_ctl" start -D "$(realpath "$dir/data")" -l "$(realpath "$dir/log")" -w -t 30 -s -o "-p $port \
            -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300" </dev/null >"$dir/start.log" 2>&1; then
            echo "$port" >"$dir/port"
            echo "postgresql://fairway:$(cat "$dir/password")@127.0.0.1:$port/postgres" >"$dir/url"
            return
        fi
        tries=$((tries + 1))
        # After a kill -9 the old server's children need a moment to notice; only a taken port is worth another one.
        if tail -n 5 "$dir/log" 2>/dev/null | grep -q 'could not create any TCP/IP sockets'; then
            rm -f "$dir/port"
        else
            sleep 0.3
        fi
    done
    cat "$dir/start.log" >&2
    tail -n 20 "$dir/log" >&2 || true
    fail "PostgreSQL does not start"
}

# A test may have stopped it with SIGSTOP; and whatever it does, nothing stays behind.
stop_server() {
    pid=$(head -n 1 "$dir/data/postmaster.pid" 2>/dev/null || true)
    [ -n "$pid" ] || return 0
    kill -CONT "$pid" 2>/dev/null || return 0
    as_user "$bin/pg_ctl" stop -D "$(realpath "$dir/data")" -m "$1" -w -t 30 -s >/dev/null 2>&1 || kill -KILL "$pid" 2>/dev/null || true
}

watch_owner() {
    script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
    setsid sh -c 'tail --pid="$1" -f /dev/null; sh "$2" stop "$3" immediate; rm -rf "$3"' watch "$owner" "$script" "$dir" \
        </dev/null >/dev/null 2>&1 &
}

bin=$(find_bin)
case $command in
start)
    mkdir -p "$2"
    dir=$(cd "$2" && pwd)
    [ -s "$dir/data/PG_VERSION" ] || make_cluster
    if ! as_user "$bin/pg_ctl" status -D "$(realpath "$dir/data")" >/dev/null 2>&1; then
        start_server
        if [ -n "$owner" ] && [ ! -e "$dir/watched" ]; then
            : >"$dir/watched"
            watch_owner
        fi
    fi
    cat "$dir/url"
    ;;
stop)
    [ -d "$2/data" ] || exit 0
    dir=$(cd "$2" && pwd)
    stop_server "${3:-fast}"
    ;;
*)
    fail "unknown command $command"
    ;;
esac
