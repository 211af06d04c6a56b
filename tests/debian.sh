#!/bin/sh
# `make test-debian`: clones the last commit into a minimal Debian system of another release, with only git and make, and runs the tests
# there. Needs root; installs debootstrap if it is missing.
#
#   debian.sh [RELEASE]     bookworm or trixie (default: the one that this machine is not)
#
#   COMMAND='.ci/run'       command to run in the clone (default: make test)
#   RUNS=5                  number of runs; the first failure ends the script
#   LOAD=1                  keeps all processors busy during the runs
#   MIRROR=URL              Debian mirror (default: the one in this machine's apt sources)
#
# The system stays in build/debian-RELEASE for the next run. Its processes and mounts are in separate namespaces, so the kernel ends and
# unmounts all of them when this script ends, however it ends. It uses this machine's network, apt proxy, certificates and npm registry.
set -eu
cd "$(dirname "$0")/.."

fail() {
    echo "test-debian: $*" >&2
    exit 1
}

. /etc/os-release
release=${1:-}
if [ -z "$release" ]; then
    [ "${VERSION_CODENAME:-}" = trixie ] && release=bookworm || release=trixie
fi
root=$PWD/build/debian-$release command=${COMMAND:-make test} runs=${RUNS:-1} load=${LOAD:-}

[ "$(id -u)" -eq 0 ] || fail "making a Debian system and its mounts needs root: run it as root, or by sudo"
if ! command -v debootstrap >/dev/null; then
    command -v apt-get >/dev/null || fail "debootstrap is missing: install it, and the package debian-archive-keyring"
    echo "test-debian: installing debootstrap"
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring >/dev/null
fi

# Prints the mirror in this machine's apt sources; the label is Debian or Debian-Security.
mirror_of() {
    apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' 2>/dev/null |
        awk -v label="$1" '$1 == label { print $2; exit }'
}

# Copies this machine's network settings to the system in $root. Nothing of it is written to the repository.
take_network() {
    security=$(mirror_of Debian-Security)
    {
        echo "deb $mirror $release main"
        echo "deb $mirror $release-updates main"
        [ -z "$security" ] || echo "deb $security $release-security main"
    } >"$root/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::https?::([^ ]*::)?Proxy ' >"$root/etc/apt/apt.conf.d/90host" || true
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    # as Debian installs it: localhost has an IPv6 and an IPv4 address
    printf '127.0.0.1\tlocalhost\n::1\t\tlocalhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
    registry=
    if command -v npm >/dev/null; then
        registry=$(cd / && npm config get registry 2>/dev/null)
    fi
    certificates=
    if [ -s /etc/ssl/certs/ca-certificates.crt ]; then
        mkdir -p "$root/etc/ssl"
        certificates=/etc/ssl/host.crt
        cp -L /etc/ssl/certs/ca-certificates.crt "$root$certificates"
    fi
}

make_system() {
    echo "test-debian: making a Debian $release in $root (a few minutes, once)"
    rm -rf "$root"
    mkdir -p "$root"
    # debootstrap mounts /proc and others; in a namespace they are unmounted when it ends
    unshare --mount --pid --fork --kill-child debootstrap --variant=minbase --include=git,make "$release" "$root" "$mirror" \
        >"$root.log" 2>&1 || { tail -n 20 "$root.log" >&2; fail "debootstrap failed, see $root.log"; }
    # so that packages do not start services
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io" # the system need not survive a power failure
    : >"$root/made"
}

# Runs as process 1 of the new system, with its own /proc and /dev.
inside='
    set -eu
    root=$1 command=$2 runs=$3 load=$4
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/dev"
    for node in null zero full random urandom tty; do
        : >"$root/dev/$node"
        mount --bind "/dev/$node" "$root/dev/$node"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s fd/0 "$root/dev/stdin"
    ln -s fd/1 "$root/dev/stdout"
    ln -s fd/2 "$root/dev/stderr"
    mkdir "$root/dev/shm" "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    for _ in ${load:+$(seq "$(nproc)")}; do
        while :; do :; done &
    done
    run=1
    while [ "$run" -le "$runs" ]; do
        [ "$runs" -eq 1 ] || echo "test-debian: run $run of $runs"
        chroot "$root" /bin/sh -c "cd /home/fairway && $command" || exit
        run=$((run + 1))
    done'

mkdir -p build
exec 9>"$root.lock"
flock -n 9 || fail "another test-debian uses $root: wait until it has ended"
mirror=${MIRROR:-$(mirror_of Debian)}
[ -n "$mirror" ] || fail "the apt sources of this machine name no Debian mirror: MIRROR=URL make test-debian"
[ -e "$root/made" ] || make_system
take_network
[ -z "$(git status --porcelain)" ] || echo "test-debian: uncommitted changes are not tested"
rm -rf "$root/home/fairway"
git clone -q --depth 1 "file://$PWD" "$root/home/fairway"

echo "test-debian: $command on Debian $release${load:+, with all processors busy}"
env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${certificates:+NODE_EXTRA_CA_CERTS="$certificates" npm_config_cafile="$certificates" PIP_CERT="$certificates" SSL_CERT_FILE="$certificates"} ${registry:+npm_config_registry="$registry"} \
    setpriv --pdeathsig KILL unshare --mount --pid --ipc --fork --kill-child sh -c "$inside" inside "$root" "$command" "$runs" "$load" </dev/null &
system=$!
# unshare ends with this script (--pdeathsig), process 1 of the system ends with unshare (--kill-child), and with it all other processes
trap 'kill -KILL "$system" 2>/dev/null || true; exit 130' INT TERM HUP
code=0
wait "$system" || code=$?
[ "$code" -eq 0 ] || fail "$command failed on Debian $release (exit code $code)"
