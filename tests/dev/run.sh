#!/bin/sh
# `make run`: a complete fairway on this machine. By default it has its own PostgreSQL server, local Stellar network, master key and
# distribution account, all kept in run/ and used again by the next run. DATABASE_URL and RPC_URL select others, for example testnet;
# NETWORK_PASSPHRASE is then that of the RPC, unless it is set.
# The settings are printed first. READY_TIMEOUT is the time in seconds that fairway may take to be ready (60).
# Ctrl-C, or closing the terminal, stops what this script started and nothing else.
set -eu
cd "$(dirname "$0")/../.."
bin=${BUILD:?} node=tests/node_modules/.bin/node dir=${RUN_DIR:-run}
accounts=${NUM_CHANNEL_ACCOUNTS:-15} ledger_ms=${LEDGER_MS:-2000}
export PORT="${PORT:-8001}" LISTEN="${LISTEN:-127.0.0.1}"
own_database=yes own_network=yes
[ -z "${DATABASE_URL:-}" ] || own_database=
[ -z "${RPC_URL:-}" ] || own_network=
localnet= serve= cluster=

fail() { # CODE TEXT...
    code=$1
    shift
    printf '\nmake run: %s\n' "$@" >&2
    exit "$code"
}
step() { printf '\n== %s\n' "$*"; }

# ---- settings

# A database URL, or libpq's keyword=value form, without its passwords.
without_password() {
    printf '%s\n' "$1" | sed -E -e 's#^([a-z]+://[^:/@]*):[^@/]*@#\1@#' -e "s/(password *= *)('(\\\\.|[^'\\\\])*'|[^ &']*)/\1***/g"
}

# Scheme, host and port. The rest of an RPC's URL may be an access key.
without_path() {
    printf '%s\n' "$1" | sed -E 's#^([a-z]+://)([^/@]*@)?([^/?]*).*#\1\3#'
}

setting() { printf '    %-24s %s\n' "$@"; }

show_settings() {
    step "settings; to change one: PORT=8002 make run"
    setting "PORT=$PORT" "port of the API on $LISTEN (LISTEN)"
    setting "NUM_CHANNEL_ACCOUNTS=$accounts" "size of the pool"
    [ -z "$own_network" ] || setting "LEDGER_MS=$ledger_ms" "milliseconds between ledgers of the local network"
    setting "RUN_DIR=$dir" "folder for data, keys and logs"
    if [ -n "$own_database" ]; then
        setting DATABASE_URL "not set: starts a PostgreSQL server in $dir/postgres"
    else
        setting DATABASE_URL "found in the environment: creates or upgrades fairway's tables in $(without_password "$DATABASE_URL")"
    fi
    if [ -n "$own_network" ]; then
        setting RPC_URL "not set: starts a local Stellar network in $dir/localnet"
    else
        setting RPC_URL "found in the environment: uses the network of $(without_path "$RPC_URL")"
    fi
}

check_settings() {
    for each in PORT="$PORT" NUM_CHANNEL_ACCOUNTS="$accounts" LEDGER_MS="$ledger_ms" ${ADMIN_PORT:+ADMIN_PORT="$ADMIN_PORT"}; do
        case ${each#*=} in
        '' | *[!0-9]*) fail 64 "${each%%=*} must be a number, not \"${each#*=}\"" ;;
        esac
    done
}

# ---- stopping

# Ends one of our processes; kills it when it has not ended after 30 s.
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

# A closing terminal sends SIGHUP twice, and an impatient user presses Ctrl-C twice. From the first signal on, this shell and what it
# starts ignore both. SIGPIPE too: the reader of our output may be gone.
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

# ---- conflicts with other processes, checked before anything is started

# Holds descriptor 9 locked until this shell ends. What it starts in the background closes it, so that processes that survive a kill -9
# of this shell do not hold the lock.
lock_folder() {
    exec 9>"$dir/lock"
    if flock -n 9; then
        echo $$ >"$dir/run.pid"
        return
    fi
    for _ in 1 2 3 4 5 6 7 8 9 10; do # it may not have written its number yet
        other=$(cat "$dir/run.pid" 2>/dev/null || true)
        [ -z "$other" ] || [ ! -d "/proc/$other" ] || break
        sleep 0.1
    done
    fail 69 "another \`make run\` uses $dir/${other:+: process $other. Stop it there with Ctrl-C, or with: kill $other}
To run a second one beside it: RUN_DIR=$dir-2 PORT=$((PORT + 1)) make run"
}

# Prints a process that an earlier run has left, and adds it to $found. The file has its id and its address.
left_over() { # FILE WORDS, which its command line contains
    { read -r pid && read -r address; } <"$1" || return 0
    [ -r "/proc/$pid/cmdline" ] && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q -e "$2" || return 0
    found="$found $pid"
    printf '    %s %s %s\n' "$pid" "$2" "$address" >&2
}

check_left_over() {
    found=
    for each in "serve fairway serve" "localnet localnet/main.mjs"; do
        [ ! -e "$dir/${each%% *}.pid" ] || left_over "$dir/${each%% *}.pid" "${each#* }"
    done 2>"$dir/found"
    [ -z "$found" ] || fail 69 "an earlier \`make run\` was killed and left these processes (id, command, address):
$(cat "$dir/found")
End them, and try again: kill$found"
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

check_port() { # SETTING ADDRESS PORT
    [ "$3" != 0 ] || return 0
    code=0
    curl -s -o /dev/null --max-time 3 "$(reached_at "http://$2:$3/")" || code=$?
    case $code in
    3 | 6 | 7) ;; # no such address, or nothing listens there: serve reports a wrong address
    *)
        who=$(listener_of "$3")
        fail 69 "port $3 of $2 ($1) is in use${who:+ by process $who}. End that process, or use another port: $1=$(($3 + 1)) make run"
        ;;
    esac
}

check_ports() {
    check_port PORT "$LISTEN" "$PORT"
    # serve's default: 1000 above PORT, or below it where that is no port
    admin=${ADMIN_PORT:-$((PORT == 0 ? 0 : PORT + 1000 > 65535 ? PORT - 1000 : PORT + 1000))}
    [ "${ADMIN_LISTEN:-}" = off ] || check_port ADMIN_PORT "${ADMIN_LISTEN:-127.0.0.1}" "$admin"
}

show_settings
check_settings
mkdir -p "$dir"
chmod 711 "$dir" # PostgreSQL, which never runs as root, must get through; each secret file is closed by its own mode
lock_folder
check_left_over
check_ports
trap 'stop $?' EXIT
trap 'stop 0' INT TERM HUP

# ---- database and network

# A process in its own session gets no signal from the terminal, so only stop() ends it, in order and not while it starts.
if [ -n "$own_database" ]; then
    step "PostgreSQL in $dir/postgres"
    cluster=yes
    server=$(setsid sh tests/integration/support/pg.sh start "$dir/postgres" 9>&-)
    psql -qtA "$server" -c "SELECT 1 FROM pg_database WHERE datname = 'fairway'" | grep -q 1 ||
        psql -q "$server" -c 'CREATE DATABASE fairway'
    server=$(echo "$server" | sed 's#/[^/?]*\(?[^?]*\)\{0,1\}$#/fairway\1#')
    password=$(echo "$server" | sed 's#.*//[^:]*:\([^@]*\)@.*#\1#')
    FAIRWAY_OWNER_PASSWORD=$password FAIRWAY_PASSWORD=$password psql -Xq -v ON_ERROR_STOP=1 -f docker/roles.sql "$server"
    DATABASE_URL=$(echo "$server" | sed 's#//[^:]*:#//fairway:#')
    owner_url=$(echo "$server" | sed 's#//[^:]*:#//fairway_owner:#')
fi
export DATABASE_URL

if [ -n "$own_network" ]; then
    step "local Stellar network in $dir/localnet"
    : >"$dir/localnet.log" # here, because the process below begins later than the loop that reads this
    setsid $node tests/localnet/main.mjs --port 0 --data "$dir/localnet" --ledger-ms "$ledger_ms" >"$dir/localnet.log" 2>&1 9>&- &
    localnet=$!
    printf '%s\n\n' $localnet >"$dir/localnet.pid"
    for _ in $(seq 300); do
        RPC_URL=$(sed -n 's/^localnet listening on //p' "$dir/localnet.log")
        [ -z "$RPC_URL" ] || break
        kill -0 $localnet 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$RPC_URL" ] || fail 69 "the local network did not start. The end of $dir/localnet.log:
$(tail -n 20 "$dir/localnet.log")"
    printf '%s\n%s\n' $localnet "$RPC_URL" >"$dir/localnet.pid"
    echo "$RPC_URL"
fi
export RPC_URL

# Prints a member of the result of an RPC call. Prints nothing when the call fails: fairway's own commands retry, and report why.
ask_rpc() { # METHOD MEMBER
    curl -fsS --max-time 5 -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"'"$1"'"}' "$RPC_URL" 2>/dev/null |
        sed -nE 's/.*"'"$2"'": *("([^"]*)"|([0-9]+)).*/\2\3/p'
}

# Prints the result of a query. Prints nothing when the database has no such table yet, or cannot be reached.
ask_database() {
    PGCONNECT_TIMEOUT=5 psql -X -w -qtA "$DATABASE_URL" -c "$1" 2>/dev/null || true
}

# Fails with advice, when the database has the ledgers and keys of another network.
another_network() {
    if [ -n "$own_database" ]; then
        # where PostgreSQL's user cannot reach $dir, the data is elsewhere (pg.sh)
        data=$(realpath "$dir/postgres/data")
        case $data in "$(realpath "$dir")"/*) elsewhere= ;; *) elsewhere=" $(dirname "$data")" ;; esac
        fail 78 "$1
To keep both, use another folder: RUN_DIR=$dir-2 make run
To start afresh, delete the folder with its keys: rm -r $dir$elsewhere"
    fi
    fail 78 "$1
Set RPC_URL to that network, or DATABASE_URL to a new database (CREATE DATABASE). To use neither: env -u DATABASE_URL -u RPC_URL make run"
}

database=$([ -n "$own_database" ] && echo "the database in $dir/postgres" || without_password "$DATABASE_URL")
bound=$(ask_database 'SELECT passphrase FROM fairway.network')
served=$(ask_rpc getNetwork passphrase)
if [ -n "$bound" ] && [ -n "$served" ] && [ "$bound" != "$served" ]; then
    another_network "$database belongs to the network \"$bound\", but the network of RPC_URL is \"$served\"."
fi
# The local network never loses a ledger, so a database that is ahead of it knows an earlier one.
if [ -n "$own_network" ]; then
    cursor=$(ask_database 'SELECT sequence FROM fairway.cursor')
    latest=$(ask_rpc getLatestLedger sequence)
    if [ -n "$cursor" ] && [ -n "$latest" ] && [ "$cursor" -gt "$latest" ]; then
        another_network "$database has ledger $cursor, but the local network in $dir/localnet is new and at ledger $latest."
    fi
fi

NETWORK_PASSPHRASE=${NETWORK_PASSPHRASE:-${served:-$bound}}
[ -n "$NETWORK_PASSPHRASE" ] || fail 69 "$(without_path "$RPC_URL") does not say which network it serves (getNetwork). To try without it, \
set NETWORK_PASSPHRASE"
export NETWORK_PASSPHRASE
if [ -n "$own_network" ] && [ -z "${TRUSTED_VALIDATORS:-}" ]; then
    echo "localnet $(ask_rpc localnet_status validator)" >"$dir/validators.txt"
    export TRUSTED_VALIDATORS="$dir/validators.txt"
fi

step "master key and distribution account"
if [ -z "${CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE:-}${CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE_FILE:-}${MASTER_KEY_FILE:-}" ]; then
    [ -f "$dir/master.key" ] || "$bin/fairway" keygen "$dir/master.key"
    export MASTER_KEY_FILE="$dir/master.key"
fi
if [ -z "${DISTRIBUTION_ACCOUNT_PRIVATE_KEY:-}${DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE:-}" ]; then
    export DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE="$dir/distribution.seed"
    $node tests/dev/fund.mjs "$dir/distribution.seed"
fi

# Without clients from the environment there is one, for demo.mjs and for the calls of README.md.
client=
if [ "${AUTH:-}" != none ] && [ -z "${CLIENT_AUTH_PUBLIC_KEYS:-}${CLIENTS_FILE:-}" ]; then
    step "client key"
    client="$dir/client.seed"
    [ -s "$dir/client.public" ] || rm -f "$client"
    [ -f "$client" ] || "$bin/fairway" keygen --client "$client" >"$dir/client.public"
    CLIENT_AUTH_PUBLIC_KEYS=$(cat "$dir/client.public")
    export CLIENT_AUTH_PUBLIC_KEYS
    echo "client $CLIENT_AUTH_PUBLIC_KEYS signs its requests with the seed in $client"
fi

# ---- fairway

step "schema"
DATABASE_URL=${owner_url:-$DATABASE_URL} "$bin/fairway" migrate
step "$accounts channel accounts"
"$bin/fairway" ensure-accounts "$accounts"

# Writes the log of serve to a file, whose end is shown after a failure, and copies it to the terminal.
step "serve"
: >"$dir/serve.log"
setsid "$bin/fairway" serve >"$dir/serve.log" 2>&1 9>&- &
serve=$!
printf '%s\n\n' $serve >"$dir/serve.pid"
tail -n +1 -f --pid=$serve "$dir/serve.log" 9>&- &

fail_serve() {
    sleep 0.5 # tail has printed the rest by then
    fail "$1" "$2. The end of $dir/serve.log:
$(tail -n 20 "$dir/serve.log")"
}
check_alive() {
    code=0
    kill -0 $serve 2>/dev/null || { wait $serve || code=$?; fail_serve $((code > 0 ? code : 1)) "fairway serve has ended (exit code $code)"; }
    [ -z "$localnet" ] || kill -0 $localnet 2>/dev/null || { wait $localnet || code=$?; fail 69 "the local network has ended (exit code $code). \
The end of $dir/localnet.log:
$(tail -n 20 "$dir/localnet.log")"; }
}
api= ready= wanted=$(($(date +%s) + ${READY_TIMEOUT:-60}))
while [ -z "$ready" ] && [ "$(date +%s)" -le $wanted ]; do
    check_alive
    api=$(reached_at "$(sed -n 's/^listening on \(http:[^ ]*\).*/\1/p' "$dir/serve.log" | head -n 1)")
    if [ -n "$api" ] && curl -fsS -o /dev/null --max-time 5 "$api/readyz" 2>/dev/null; then
        ready=yes
    else
        sleep 0.2
    fi
done
admin=$(reached_at "$(sed -n 's/^admin listening on \(http:[^ ]*\).*/\1/p' "$dir/serve.log" | head -n 1)")
[ -n "$api" ] || fail_serve 69 "fairway serve does not listen"
[ -n "$ready" ] || fail_serve 69 "fairway is not ready, $api/readyz: $(curl -sS --max-time 5 "$api/readyz" 2>&1)"
printf '%s\n%s\n' $serve "$api" >"$dir/serve.pid"
printf '{"api":"%s","rpc":"%s","passphrase":"%s","clientSeedFile":"%s"}\n' "$api" "$RPC_URL" "$NETWORK_PASSPHRASE" "${client:+$(realpath "$client")}" >"$dir/demo.json"
(umask 077; export -p | grep -E ' (DATABASE_URL|RPC_URL|NETWORK_PASSPHRASE|MASTER_KEY_FILE|DISTRIBUTION_[A-Z_]*|CLIENT[A-Z_]*|TRUSTED_VALIDATORS)=' >"$dir/env")
cat <<END

fairway is ready on $api
To see a payment from lease to confirmation, run this in a second terminal:

    $([ "$dir" = run ] || echo "RUN_DIR=$dir ")make demo

How the service is: ${admin:+the page $admin/status, or }$bin/fairway status
What the settings lead to: . $dir/env; $bin/fairway check
Ctrl-C stops everything.
END
while :; do
    setsid sleep 0.5 9>&- & # in a session of its own, else the shell would tell the terminal, which may be gone, of the signal that ended it
    wait $! || :
    check_alive
done
