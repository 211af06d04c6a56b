#!/bin/sh
# Installs what a fresh Debian 12 or 13 lacks: compilers, libraries and PostgreSQL by apt (as root, or by sudo), the
# JavaScript packages of tests/package-lock.json by npm. Does nothing, and asks nothing, when everything is there.
#
#   install.sh build | test | bench      what is about to be done
set -eu
cd "$(dirname "$0")"

build="gcc make libc6-dev pkg-config libpq-dev libsodium-dev libmicrohttpd-dev libjansson-dev libcurl4-openssl-dev"
run="postgresql ca-certificates procps curl"
test="clang libcmocka-dev binutils pgbouncer spin"
case ${1:-test} in
build) wanted=$build ;;
run) wanted="$build $run" ;;
test) wanted="$build $run $test" ;;
bench) wanted="$build $run libcmocka-dev wrk" ;;
*) echo "install.sh: unknown target $1" >&2; exit 64 ;;
esac

missing=
for package in $wanted; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ "$1" != build ] && ! command -v npm >/dev/null; then
    missing="$missing npm"
fi
if [ -n "$missing" ]; then
    echo "installing:$missing"
    as_root=
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get update -qq
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

# node itself is one of the packages, so that the version that Debian ships does not matter
if [ "$1" != build ] && ! { [ -x node_modules/.bin/node ] && cmp -s package-lock.json node_modules/.fairway-lock; }; then
    echo "installing JavaScript packages"
    npm ci --no-audit --no-fund --loglevel=error
    node_modules/.bin/node --version >/dev/null
    cp package-lock.json node_modules/.fairway-lock
fi
