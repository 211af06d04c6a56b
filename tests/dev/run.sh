#!/bin/sh
# `make run`: a whole fairway on this machine. Without further settings: a PostgreSQL cluster, a local Stellar network, a master
# key and a distribution account of its own, all kept in run/ (second run: found again). DATABASE_URL and RPC_URL name other
# ones, testnet for example; RUN_DIR another folder, READY_TIMEOUT how many seconds fairway may take to be ready (60). Ctrl-C, or closing
# the terminal, stops what this script has started, and only that.
set -eu
cd "$(dirname "$0")/../.."
bin=${BUILD:?} node=tests/node_modules/.bin/node dir=${RUN_DIR:-run}
accounts=${NUM_CHANNEL_ACCOUNTS:-15}
export PORT="${PORT:-8001}" AUTH="${AUTH:-none}" LISTEN="${LISTEN:-127.0.0.1}"
localnet= serve= cluster=

fail() { # CODE TEXT...
    code=$1
    shift
    printf '\nmake run: %s\n' "$@" >&2
    exit "$code"
}
step() { printf '\n== %s\n' "$*"; }

# ---- stopping

# Ends one of our processes; what has not ended after 30 s is killed.
end() {
    kill -TERM "$1" 2>/dev/null || return 0
    kill -CONT "$1" 2>/dev/null # it may have been stopped by SIGSTOP
    ends=$(($(date +%s) + 30))
    while kill -0 "$1" 2>/dev/null && [ "$(date +%s)" -le $ends ]; do
        sleep 0.1
    done
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
}

# A terminal that closes sends SIGHUP twice, and an impatient user presses Ctrl-C twice: from the first one on, both are ignored, by this
# shell and by what it starts. Whoever reads what we print may be gone.
stop() { # CODE
    trap '' INT TERM HUP PIPE
    trap - EXIT
    set +e
    for process in $serve $localnet; do
        end "$process"
    done
    [ -z "$cluster" ] || sh tests/integration/support/pg.sh stop "$dir/postgres"
    rm -f "$dir/demo.json" "$dir/serve.pid" "$dir/localnet.pid" "$dir/run.pid"
    echo "stopped"
    exit "$1"
}

# ---- what is in the way

# A process that an earlier run has left: run/NAME.pid has its id and its address.
left_over() { # NAME WORDS, which its command line contains
    { read -r pid && read -r address; } <"$dir/$1.pid" || return 0
    [ -r "/proc/$pid/cmdline" ] && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -e "$2" || return 0
    found="$found $pid"
    printf '    %s %s %s\n' "$pid" "$2" "$address" >&2
}

# "PID COMMAND" of the process that listens on a TCP port. Nothing when there is none, or when it is another user's.
listener_of() {
    inode=$(awk -v port="$(printf ':%04X' "$1")" '$4 == "0A" && substr($2, length($2) - 4) == port { print $10; exit }' \
        /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    [ -n "$inode" ] || return 0
    pid=$(find /proc/[0-9]*/fd -lname "socket:\[$inode\]" 2>/dev/null | head -n 1 | cut -d/ -f3)
    [ -z "$pid" ] || printf '%s %s' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
}

# The address at which a client on this machine reaches an http:// address that we listen on.
reached_at() {
    echo "$1" | sed -e 's#//0\.0\.0\.0:#//127.0.0.1:#' -e 's#//\[::\]:#//[::1]:#'
}

check_way() {
    found=
    left_over run tests/dev/run.sh 2>/dev/null
    if [ -n "$found" ]; then
        fail 69 "another \`make run\` uses $dir/: process$found. Stop it there with Ctrl-C, or with: kill$found"
    fi
    for each in "serve fairway serve" "localnet localnet/main.mjs"; do
        [ ! -e "$dir/${each%% *}.pid" ] || left_over "${each%% *}" "${each#* }"
    done 2>"$dir/found"
    if [ -n "$found" ]; then
        fail 69 "an earlier \`make run\` that was killed has left these processes (id, command, address):
$(cat "$dir/found")
End them, and try again: kill$found"
    fi
    [ "$PORT" != 0 ] || return 0
    code=0
    curl -s -o /dev/null --max-time 3 "$(reached_at "http://$LISTEN:$PORT/")" || code=$?
    case $code in
    3 | 6 | 7) ;; # no such address, or nobody there: serve says what is wrong with the first
    *)
        who=$(listener_of "$PORT")
        fail 69 "port $PORT of $LISTEN is in use${who:+ by process $who}. End that, or take another port: PORT=8002 make run"
        ;;
    esac
}

mkdir -p "$dir"
chmod 711 "$dir" # PostgreSQL, which never runs as root, must get through; each secret in it is closed by itself
check_way
trap 'stop $?' EXIT
trap 'stop 0' INT TERM HUP
printf '%s\n\n' $$ >"$dir/run.pid"

# ---- starting

# What is started in a session of its own gets no signal from the terminal: it is stopped in order, and never in the middle of starting.
if [ -z "${DATABASE_URL:-}" ]; then
    step "PostgreSQL in $dir/postgres"
    cluster=yes
    server=$(setsid sh tests/integration/support/pg.sh start "$dir/postgres")
    psql -qtA "$server" -c "SELECT 1 FROM pg_database WHERE datname = 'fairway'" | grep -q 1 ||
        psql -q "$server" -c 'CREATE DATABASE fairway'
    DATABASE_URL=$(echo "$server" | sed 's#/[^/?]*\(?[^?]*\)\{0,1\}$#/fairway\1#')
fi
export DATABASE_URL

if [ -z "${RPC_URL:-}" ]; then
    step "local Stellar network in $dir/localnet"
    setsid $node tests/localnet/main.mjs --port 0 --data "$dir/localnet" --ledger-ms "${LEDGER_MS:-2000}" >"$dir/localnet.log" 2>&1 &
    localnet=$!
    printf '%s\n\n' $localnet >"$dir/localnet.pid"
    for _ in $(seq 300); do
        RPC_URL=$(sed -n 's/^localnet listening on //p' "$dir/localnet.log")
        [ -z "$RPC_URL" ] || break
        kill -0 $localnet 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$RPC_URL" ] || fail 69 "the local network does not start. $dir/localnet.log ends with:
$(tail -n 20 "$dir/localnet.log")"
    printf '%s\n%s\n' $localnet "$RPC_URL" >"$dir/localnet.pid"
    echo "$RPC_URL"
fi
export RPC_URL

step "master key and distribution account"
if [ -z "${CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE:-}${CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE_FILE:-}${MASTER_KEY_FILE:-}" ]; then
    [ -f "$dir/master.key" ] || "$bin/fairway" keygen "$dir/master.key"
    export MASTER_KEY_FILE="$dir/master.key"
fi
if [ -z "${DISTRIBUTION_ACCOUNT_PRIVATE_KEY:-}${DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE:-}" ]; then
    export DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE="$dir/distribution.seed"
    $node tests/dev/fund.mjs "$dir/distribution.seed"
fi

step "schema"
"$bin/fairway" migrate
step "$accounts channel accounts"
"$bin/fairway" ensure-accounts "$accounts"

# Its log is kept, so that its end can be shown when it fails, and copied to the terminal.
step "serve"
setsid "$bin/fairway" serve >"$dir/serve.log" 2>&1 &
serve=$!
printf '%s\n\n' $serve >"$dir/serve.pid"
tail -n +1 -f --pid=$serve "$dir/serve.log" &

fail_serve() {
    sleep 0.5 # tail has printed the rest by then
    fail "$1" "$2. $dir/serve.log ends with:
$(tail -n 20 "$dir/serve.log")"
}
api= ready= wanted=$(($(date +%s) + ${READY_TIMEOUT:-60}))
while [ -z "$ready" ] && [ "$(date +%s)" -le $wanted ]; do
    kill -0 $serve 2>/dev/null || { code=0; wait $serve || code=$?; fail_serve "$((code > 0 ? code : 1))" "fairway serve has ended (exit code $code)"; }
    api=$(reached_at "$(sed -n 's/^listening on \(http:[^ ]*\).*/\1/p' "$dir/serve.log" | head -n 1)")
    if [ -n "$api" ] && curl -fsS -o /dev/null --max-time 5 "$api/readyz" 2>/dev/null; then
        ready=yes
    else
        sleep 0.2
    fi
done
[ -n "$api" ] || fail_serve 69 "fairway serve does not listen"
[ -n "$ready" ] || fail_serve 69 "fairway is not ready, $api/readyz: $(curl -sS --max-time 5 "$api/readyz" 2>&1)"
printf '%s\n%s\n' $serve "$api" >"$dir/serve.pid"
printf '{"api":"%s","rpc":"%s"}\n' "$api" "$RPC_URL" >"$dir/demo.json"
cat <<END

fairway answers on $api
See one payment through its whole life, in a second terminal:

    make demo

Ctrl-C stops everything.
END
code=0
wait $serve || code=$?
[ $code -eq 0 ] || fail_serve $code "fairway serve has ended (exit code $code)"
