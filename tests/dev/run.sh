#!/bin/sh
# `make run`: a whole fairway on this machine. Without further settings: a PostgreSQL cluster, a local Stellar network, a master
# key and a distribution account of its own, all kept in run/ (second run: found again). DATABASE_URL and RPC_URL name other
# ones, testnet for example. Ctrl-C stops what this script has started, and only that.
set -eu
cd "$(dirname "$0")/../.."
bin=${BUILD:?} node=tests/node_modules/.bin/node dir=run
accounts=${NUM_CHANNEL_ACCOUNTS:-15} port=${PORT:-8001}
mkdir -p $dir
chmod 711 $dir # PostgreSQL, which never runs as root, must get through; each secret in it is closed by itself
localnet= serve= cluster=

stop() {
    code=$?
    trap - EXIT INT TERM
    for process in $serve $localnet; do
        kill -TERM "$process" 2>/dev/null && wait "$process" 2>/dev/null || true
    done
    [ -z "$cluster" ] || sh tests/integration/support/pg.sh stop $dir/postgres
    rm -f $dir/demo.json
    echo "stopped"
    exit $code
}
trap stop EXIT
trap 'exit 0' INT TERM
step() { printf '\n== %s\n' "$*"; }

if [ -z "${DATABASE_URL:-}" ]; then
    step "PostgreSQL in $dir/postgres"
    server=$(sh tests/integration/support/pg.sh start $dir/postgres)
    cluster=yes
    psql -qtA "$server" -c "SELECT 1 FROM pg_database WHERE datname = 'fairway'" | grep -q 1 ||
        psql -q "$server" -c 'CREATE DATABASE fairway'
    DATABASE_URL=$(echo "$server" | sed 's#/[^/?]*\(?[^?]*\)\{0,1\}$#/fairway\1#')
fi
export DATABASE_URL

if [ -z "${RPC_URL:-}" ]; then
    step "local Stellar network in $dir/localnet"
    # Ctrl-C at a terminal reaches the whole group; the network must outlive serve, which stops it in order
    setsid $node tests/localnet/main.mjs --port 0 --data $dir/localnet --ledger-ms "${LEDGER_MS:-2000}" >$dir/localnet.log 2>&1 &
    localnet=$!
    for _ in $(seq 100); do
        RPC_URL=$(sed -n 's/^localnet listening on //p' $dir/localnet.log)
        [ -z "$RPC_URL" ] || break
        kill -0 $localnet 2>/dev/null || { cat $dir/localnet.log; exit 1; }
        sleep 0.1
    done
    [ -n "$RPC_URL" ] || { echo "the local network did not start: $dir/localnet.log"; exit 1; }
    echo "$RPC_URL"
fi
export RPC_URL

step "master key and distribution account"
if [ -z "${CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE:-}${CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE_FILE:-}${MASTER_KEY_FILE:-}" ]; then
    [ -f $dir/master.key ] || $bin/fairway keygen $dir/master.key
    export MASTER_KEY_FILE=$dir/master.key
fi
if [ -z "${DISTRIBUTION_ACCOUNT_PRIVATE_KEY:-}${DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE:-}" ]; then
    export DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE=$dir/distribution.seed
    $node tests/dev/fund.mjs $dir/distribution.seed
fi

step "schema"
$bin/fairway migrate
step "$accounts channel accounts"
$bin/fairway ensure-accounts "$accounts"

step "serve"
export PORT=$port AUTH=${AUTH:-none} LISTEN=${LISTEN:-127.0.0.1}
setsid $bin/fairway serve &
serve=$!
for _ in $(seq 300); do
    if curl -fsS -o /dev/null "http://127.0.0.1:$port/readyz" 2>/dev/null; then
        break
    fi
    kill -0 $serve 2>/dev/null || { wait $serve || exit $?; }
    sleep 0.2
done
printf '{"api":"http://127.0.0.1:%s","rpc":"%s"}\n' "$port" "$RPC_URL" >$dir/demo.json
cat <<END

fairway answers on http://127.0.0.1:$port
See one payment through its whole life, in a second terminal:

    make demo

Ctrl-C stops everything.
END
wait $serve
