#!/bin/sh
set -eu
cd /var/lib/postgresql/data
chown postgres .
as_postgres() { setpriv --reuid postgres --regid postgres --init-groups "$@"; }
if [ ! -e PG_VERSION ]; then
    POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export POSTGRES_PASSWORD
    as_postgres initdb -D . -E UTF8 --auth-local=trust --auth-host=scram-sha-256 >/dev/null
    echo 'host all all all scram-sha-256' >>pg_hba.conf
    as_postgres pg_ctl -D . -o "-c listen_addresses=''" -w start
    as_postgres createdb "$POSTGRES_DB"
    for file in /docker-entrypoint-initdb.d/*.sql; do
        as_postgres psql -Xv ON_ERROR_STOP=1 -d "$POSTGRES_DB" -f "$file"
    done
    as_postgres pg_ctl -D . -w stop
fi
exec setpriv --reuid postgres --regid postgres --init-groups postgres -D . -c listen_addresses='*'
