#!/bin/sh
# A private PostgreSQL server on a free loopback port, never the system's cluster.
#
#   pg.sh start DIR [PID]   starts the server whose data is in DIR (made when missing) and prints its superuser URL.
#                           Does nothing more when the server runs already. With PID the server is temporary: when
#                           that process has ended, however it ended, the server is stopped and DIR removed.
#   pg.sh stop DIR [MODE]   stops it (fast; immediate: as in a crash); does nothing when it does not run.
#   pg.sh standby FROM DIR [PID]    as start, with a standby that streams from the server in FROM, itself a standby or not.
#   pg.sh cut DIR           stops replication to the standby in DIR: from here on it lags.
#   pg.sh promote DIR       makes the standby in DIR a primary.
#   pg.sh backup FROM DIR   makes a base backup of the server in FROM, in DIR, and does not start it.
#   pg.sh restore DIR [PID] as start, with the backup in DIR, recovered to the moment at which the backup was taken.
#
# Files: DIR/url has the URL, with a random password; DIR/log the server's log; DIR/data/postmaster.pid its process id.
# A port written to DIR/port before the first start is used. When root runs this, the server runs as the user postgres or
# nobody; where that user cannot reach DIR (a clone under /root), data and log are in a folder of /var/lib, and DIR has
# links to them. So it is with temporary servers and FAIRWAY_SERVERS.
#
# Environment: FAIRWAY_FSYNC=off: servers do not write to the disk. FAIRWAY_CLUSTER=FOLDER: temporary servers begin with a copy
# of the cluster in this folder, which the first of them makes; initdb takes a second. FAIRWAY_SERVERS=FOLDER: data and log of temporary
# servers are there, for instance on a tmpfs: each database is hundreds of files, and ext4 is slow to create files where many were deleted.
# FAIRWAY_KEEP: data and log of temporary servers are not removed.
set -eu

fail() {
    echo "pg.sh: $*" >&2
    exit 1
}

[ $# -ge 2 ] || fail "usage: pg.sh start|stop|standby|cut|promote|backup|restore DIR ..., see its head"
command=$1
shift
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

# Sets home, the folder for data and log that the server's user can reach.
make_home() {
    home=$dir
    [ "$(id -u)" -ne 0 ] || chown "$user" "$dir"
    if [ -n "$servers" ]; then
        elsewhere=$servers
    elif [ "$(id -u)" -eq 0 ] && ! as_user test -x "$dir"; then
        elsewhere=/var/lib/fairway-postgres
    else
        return 0
    fi
    home=$elsewhere/$(echo "$dir" | cksum | cut -d' ' -f1)
    mkdir -p "$home"
    chmod 711 "$elsewhere"
    [ "$(id -u)" -ne 0 ] || chown "$user" "$home"
    ln -sfn "$home/data" "$dir/data"
    ln -sfn "$home/log" "$dir/log"
}

make_cluster() {
    make_home
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$dir/password"
    cp "$dir/password" "$home/initdb.password"
    [ "$(id -u)" -ne 0 ] || chown "$user" "$home/initdb.password"
    as_user "$bin/initdb" -D "$home/data" -U superuser --encoding=UTF8 --locale=C --auth-local=reject \
        --auth-host=scram-sha-256 --pwfile="$home/initdb.password" ${owner:+-N} >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        rm -rf "$home/data" "$dir/data"
        fail "initdb failed"
    }
    rm -f "$home/initdb.password"
}

make_temporary_cluster() {
    if [ -z "${FAIRWAY_CLUSTER:-}" ]; then
        make_cluster
        return
    fi
    (
        exec 9>"$FAIRWAY_CLUSTER.lock"
        flock 9
        folder "$FAIRWAY_CLUSTER"
        [ -e "$dir/made" ] || { make_cluster && : >"$dir/made"; }
    ) || exit
    make_home
    cp "$FAIRWAY_CLUSTER/password" "$dir/password"
    cp -a "$(realpath "$FAIRWAY_CLUSTER/data")" "$home/data"
}

# Clusters that are copies of each other share the password.
copy_cluster() { # FROM [pg_basebackup's options]
    from=$1
    shift
    make_home
    cp "$from/password" "$dir/password"
    as_user env PGPASSWORD="$(cat "$from/password")" "$bin/pg_basebackup" -D "$home/data" -h 127.0.0.1 -p "$(cat "$from/port")" \
        -U superuser -X stream -c fast -N "$@" >"$dir/basebackup.log" 2>&1 || {
        cat "$dir/basebackup.log" >&2
        fail "pg_basebackup failed"
    }
}

sql() {
    PGPASSWORD=$(cat "$dir/password") "$bin/psql" -X -q -h 127.0.0.1 -p "$(cat "$dir/port")" -U superuser -d postgres -v ON_ERROR_STOP=1 -c "$1"
}

# Later starts on the same data use the same port, unless another process has it by then.
start_server() {
    tries=0
    while [ $tries -lt 10 ]; do
        port=$(cat "$dir/port" 2>/dev/null || echo $((20000 + $(random_below 12000))))
        if as_user "$bin/pg_ctl" start -D "$(realpath "$dir/data")" -l "$(realpath "$dir/log")" -w -t 30 -s -o "-p $port \
            -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=300 -c fsync=${FAIRWAY_FSYNC:-on}" </dev/null >"$dir/start.log" 2>&1; then
            echo "$port" >"$dir/port"
            echo "postgresql://superuser:$(cat "$dir/password")@127.0.0.1:$port/postgres" >"$dir/url"
            return
        fi
        tries=$((tries + 1))
        # After a kill -9 the old server's children take a moment to end. Only if the port is taken, the next try uses another one.
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

# Ends the server in any case: a test may have stopped it with SIGSTOP.
stop_server() {
    pid=$(head -n 1 "$dir/data/postmaster.pid" 2>/dev/null || true)
    [ -n "$pid" ] || return 0
    kill -CONT "$pid" 2>/dev/null || return 0
    as_user "$bin/pg_ctl" stop -D "$(realpath "$dir/data")" -m "$1" -w -t 30 -s >/dev/null 2>&1 || kill -KILL "$pid" 2>/dev/null || true
}

watch_owner() {
    script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
    setsid sh -c 'tail --pid="$1" -f /dev/null; sh "$2" stop "$3" immediate; [ -n "${FAIRWAY_KEEP:-}" ] || rm -rf "$3" "$4"' watch "$owner" "$script" "$dir" \
        "$(dirname "$(realpath "$dir/data")")" </dev/null >/dev/null 2>&1 &
}

# Starts what is in dir, unless it runs.
start_once() {
    owner=$1
    if ! as_user "$bin/pg_ctl" status -D "$(realpath "$dir/data")" >/dev/null 2>&1; then
        start_server
        if [ -n "$owner" ] && [ ! -e "$dir/watched" ]; then
            : >"$dir/watched"
            watch_owner
        fi
    fi
    cat "$dir/url"
}

folder() {
    mkdir -p "$1"
    dir=$(cd "$1" && pwd)
}

bin=$(find_bin)
servers=${FAIRWAY_SERVERS:-}
case $command in
start)
    folder "$1"
    owner=${2:-}
    [ -n "$owner" ] || servers=
    [ -s "$dir/data/PG_VERSION" ] || if [ -n "$owner" ]; then make_temporary_cluster; else make_cluster; fi
    start_once "$owner"
    ;;
stop)
    [ -d "$1/data" ] || exit 0
    folder "$1"
    stop_server "${2:-fast}"
    ;;
standby)
    folder "$2"
    copy_cluster "$1" -R
    start_once "${3:-}"
    ;;
cut)
    folder "$1"
    sql "ALTER SYSTEM SET primary_conninfo = ''"
    sql "SELECT pg_reload_conf()" >/dev/null
    tries=0
    while sql "COPY (SELECT FROM pg_stat_wal_receiver) TO STDOUT" | grep -q ''; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || fail "the standby still receives"
        sleep 0.1
    done
    ;;
promote)
    folder "$1"
    as_user "$bin/pg_ctl" promote -D "$(realpath "$dir/data")" -w -t 30 -s
    ;;
backup)
    folder "$2"
    copy_cluster "$1"
    ;;
restore)
    folder "$1"
    as_user sh -c 'umask 077 && cd "$1" && : >recovery.signal && printf "%s\n" "restore_command = false" \
        "recovery_target = immediate" "recovery_target_action = promote" >>postgresql.auto.conf' restore "$(realpath "$dir/data")"
    start_once "${2:-}"
    for setting in restore_command recovery_target recovery_target_action; do
        sql "ALTER SYSTEM RESET $setting" # else a copy of this server would stop there too
    done
    ;;
*)
    fail "unknown command $command"
    ;;
esac
