#!/bin/sh
# Installs what a fresh Debian 12 or 13 lacks: compilers, libraries and PostgreSQL by apt-get (as root, or by sudo), the
# JavaScript packages of tests/package-lock.json by npm, Go and the Python packages of tests/requirements.txt by pip, the Rust packages of
# tests/xdr/rust by cargo. Does nothing when everything is installed.
#
#   install.sh build | run | test | fuzz | bench      what the packages are needed for
set -eu
cd "$(dirname "$0")"
target=${1:-test}

build="gcc make libc6-dev pkg-config libpq-dev libsodium-dev libmicrohttpd-dev libjansson-dev libcurl4-openssl-dev"
run="postgresql ca-certificates procps curl"
test="chromium clang libclang-rt-dev clang-tidy cppcheck libcmocka-dev binutils dpkg-dev pgbouncer spin python3 python3-pip patroni etcd-server python3-etcd"
case $target in
build) wanted=$build ;;
run) wanted="$build $run" ;;
test) wanted="$build $run $test" ;;
fuzz) wanted="$build clang libclang-rt-dev libcmocka-dev" ;;
bench) wanted="$build $run libcmocka-dev wrk" ;; # its programs link the tests' support library
*) echo "install.sh: unknown target $target" >&2; exit 64 ;;
esac

missing=
for package in $wanted; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ "$target" != build ] && ! command -v npm >/dev/null; then
    missing="$missing npm"
fi
# Debian's package cargo is too old to fetch (Debian 12) or to compile (both); cargo-web is the one that follows Firefox.
if [ "$target" = test ] && ! command -v cargo >/dev/null; then
    missing="$missing cargo-web"
fi

ask_root() { # why
    cat >&2 <<END
$1
Install them as root, then repeat the command:

    apt-get update && apt-get install -y --no-install-recommends$missing

END
    exit 69
}

# apt-get prints hundreds of lines, but nothing while it downloads. Prints its phases, and its output when it fails. Waits 10 minutes
# for another apt: apt-get's own option for that does not count for update.
apt() { # its arguments, the command first
    waits=0
    until $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$log" 2>&1; do
        if [ $waits -eq 120 ] || ! grep -q 'Could not get lock' "$log"; then
            tail -n 30 "$log" >&2
            ask_root "apt-get $1 failed. These packages are missing:$missing."
        fi
        [ $waits -gt 0 ] || echo "    waiting: $(grep -m 1 -o 'Could not get lock.*' "$log")"
        waits=$((waits + 1))
        sleep 5
    done
}

failed() { # what
    echo "install.sh: $1 failed; the lines above say why. Then repeat the command." >&2
    exit 69
}

if [ -n "$missing" ]; then
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || ask_root "These packages are missing:$missing. Installing them needs root, and sudo is not installed."
        as_root=sudo
    fi
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    set -- $missing
    echo "installing $# packages by apt-get, which may take some minutes:$missing"
    echo "    apt-get update"
    apt update
    echo "    apt-get install: downloading"
    apt install -y --no-install-recommends --download-only "$@"
    echo "    apt-get install: unpacking and setting up"
    apt install -y --no-install-recommends "$@"
fi

# No script of a package runs, so nothing is installed but what the lock file names by its hash. node is one of the packages, so that
# Debian's version of it does not matter. `make run` needs no development packages, among which are the clients that others wrote.
marker=node_modules/.fairway-lock omit=
[ "$target" != run ] || cmp -s package-lock.json $marker || marker=node_modules/.fairway-lock-run omit=--omit=dev
if [ "$target" != build ] && ! { [ -x node_modules/.bin/node ] && cmp -s package-lock.json $marker; }; then
    echo "installing JavaScript packages by npm, which takes about 20 seconds"
    npm ci --ignore-scripts $omit --no-audit --no-fund --loglevel=error || failed "npm ci, of the packages in tests/package-lock.json,"
    # npm 9 now and then leaves this link out: two packages have a program of this name, and one of them is for another processor
    for program in node_modules/node-linux-*/bin/node; do
        ln -sf "../${program#node_modules/}" node_modules/.bin/node
    done
    node_modules/.bin/node --version >/dev/null || failed "Node.js, as npm has installed it,"
    cp package-lock.json $marker
fi

# prometheus and promtool, which Debian 12 has in one package. The package would start a service, so these files alone are taken from it.
take_prometheus() {
    apt-get -q download prometheus && { apt-get -q download promtool || true; } &&
        for package in prom*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x --wildcards './usr/bin/prom*'; done
}

# The Stellar SDK for Python, schemathesis, and Go, whose version in Debian is too old for its SDK. By hash, and none is built here.
if [ "$target" = test ]; then
    lock=$(python3 --version && cat requirements.txt)
    if [ "$(cat ../build/packages/.fairway-lock 2>/dev/null)" != "$lock" ]; then
        echo "installing Go and Python packages by pip, which takes about 30 seconds"
        rm -rf ../build/packages
        PIP_ROOT_USER_ACTION=ignore python3 -m pip --quiet --disable-pip-version-check install --require-hashes --no-deps --no-compile \
            --only-binary :all: --target ../build/packages -r requirements.txt || failed "pip, of the packages in tests/requirements.txt,"
        echo "$lock" >../build/packages/.fairway-lock
    fi
    if [ ! -x ../build/packages/prometheus ]; then
        echo "taking prometheus out of Debian's package"
        folder=$(mktemp -d)
        if ! (cd "$folder" && { take_prometheus || { [ "$(id -u)" -eq 0 ] && apt-get -q update && take_prometheus; }; }) >"$folder.log" 2>&1; then
            tail -n 5 "$folder.log" >&2
            echo "apt-get download of prometheus failed; after apt-get update, repeat the command" >&2
            exit 69
        fi
        mv "$folder"/usr/bin/prom* ../build/packages/
        rm -rf "$folder" "$folder.log"
    fi
    # Stellar's XDR definitions, and the decoder that is made of them. cargo checks each package by its digest in Cargo.lock, which has no name
    # of a registry: cargo knows it.
    lock=$(cat xdr/rust/*)
    if [ "$(cat ../build/packages/.xdr-lock 2>/dev/null)" != "$lock" ]; then
        echo "fetching Stellar's XDR definitions by cargo and compiling their decoder, which takes about a minute"
        folder=$(mktemp -d)
        cp -r xdr/rust "$folder/judge"
        rm "$folder/judge/Cargo.lock"
        cargo generate-lockfile --quiet --manifest-path "$folder/judge/Cargo.toml"
        registry=$(sed -n '/^source = /{p;q}' "$folder/judge/Cargo.lock")
        sed "s|^source = .*|$registry|" xdr/rust/Cargo.lock >"$folder/judge/Cargo.lock"
        cargo vendor --quiet --locked --manifest-path "$folder/judge/Cargo.toml" "$folder/crates" >"$folder/log" # which says how to configure cargo
        CARGO_TARGET_DIR="$folder" cargo build --quiet --locked --manifest-path "$folder/judge/Cargo.toml"
        mv "$folder/debug/rust_judge" "$folder/crates/stellar-xdr/xdr-definitions-json/xdr.json" ../build/packages/
        rm -rf "$folder"
        echo "$lock" >../build/packages/.xdr-lock
    fi
fi
