#!/bin/sh
# Makes the files that compose.yaml reads: secrets/ (the master key, the distribution account's seed, the database's passwords) and .env (the
# network, and the user that owns the secrets). Does not change files that exist.
set -eu
cd "$(dirname "$0")"
umask 077
mkdir -p secrets
uid=$(id -u) gid=$(id -g)
if [ "$uid" -eq 0 ]; then
    uid=10001 gid=10001 # the image's user
fi

# A new secret key in Stellar's text form (SEP-23): the version byte 18 << 3, 32 random bytes and their CRC-16/XMODEM, the low byte
# first, in base32.
new_seed() {
    set -- 144 $(od -An -v -tu1 -N32 /dev/urandom)
    crc=0
    for byte in "$@"; do
        crc=$((crc ^ byte << 8))
        for _ in 1 2 3 4 5 6 7 8; do
            crc=$(((crc & 32768 ? crc << 1 ^ 4129 : crc << 1) & 65535))
        done
    done
    printf '%b' "$(printf '\\0%03o' "$@" $((crc & 255)) $((crc >> 8)))" | base32 -w 0
}

make() { # FILE COMMAND...: writes the output of the command to the file, unless the file exists
    file=$1
    shift
    if [ ! -e "$file" ]; then
        "$@" >"$file.new"
        chmod 400 "$file.new"
        [ "$(id -u)" -ne 0 ] || [ "$file" = .env ] || chown "$uid:$gid" "$file.new"
        mv "$file.new" "$file"
        echo "made docker/$file"
    fi
}

password() {
    od -An -v -tx1 -N16 /dev/urandom | tr -d ' \n'
}

service() { # ROLE: a role of roles.sql, as a connection service of libpq. Its password is the one that passwords.sql computes.
    role_password=$(printf '%s' "$1$(cat secrets/database.password)" | sha256sum | cut -d ' ' -f 1)
    printf '[%s]\nhost=postgres\ndbname=fairway\nuser=%s\npassword=%s\n' "$1" "$1" "$role_password"
}

settings() {
    cat <<END
# The user of the containers: the owner of the files in secrets/. (Docker without root: 0 and 0, which is you.)
FAIRWAY_UID=$uid
FAIRWAY_GID=$gid
# The local network of tests/localnet
COMPOSE_PROFILES=localnet
RPC_URL=http://localnet:8000
NETWORK_PASSPHRASE="Standalone Network ; February 2017"
FRIENDBOT_URL=http://localnet:8000/friendbot
# Stellar's quickstart image in local mode
#COMPOSE_PROFILES=quickstart
#RPC_URL=http://quickstart:8000/rpc
#NETWORK_PASSPHRASE="Standalone Network ; February 2017"
#FRIENDBOT_URL=http://quickstart:8000/friendbot
# Any other network. Where it has no friendbot, put the key of a funded account into secrets/distribution.seed.
#COMPOSE_PROFILES=
#RPC_URL=https://soroban-testnet.stellar.org
#NETWORK_PASSPHRASE="Test SDF Network ; September 2015"
#FRIENDBOT_URL=https://friendbot.stellar.org
NUM_CHANNEL_ACCOUNTS=15
PORT=8001
END
}

make secrets/master.key head -c 32 /dev/urandom
make secrets/distribution.seed new_seed
make secrets/database.password password
make secrets/pg_service.conf service fairway
make secrets/pg_service_owner.conf service fairway_owner
make .env settings
chmod 600 .env
