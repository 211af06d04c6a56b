#!/bin/sh
# `make image-test`: builds the image with buildah on a base made by debootstrap, runs its programs in containers by crun, under Docker's
# default seccomp profile, checks the other files of docker/, and starts compose.yaml. There is no Docker daemon and no image registry.
# Needs root; on a Debian host it installs the packages that are missing.
#
#   RELEASE=trixie      the base (default: bookworm)
#   MIRROR=URL          the Debian mirror (default: http://deb.debian.org/debian)
#
# The base and the downloads stay in build/image for the next run.
set -eu
cd "$(dirname "$0")/../.."
release=${RELEASE:-bookworm} mirror=${MIRROR:-http://deb.debian.org/debian}
dir=$PWD/build/image base=localhost/fairway-base:$release

skip() {
    echo "image-test: skipped: $*"
    exit 0
}
step() { printf '\n== %s\n' "$*"; }

[ "$(id -u)" -eq 0 ] || skip "building an image needs root"
missing=
for program in buildah crun debootstrap podman curl; do
    command -v $program >/dev/null || missing="$missing $program"
done
for package in netavark aardvark-dns; do # the network of podman, with names
    [ -e /usr/lib/podman/$package ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
    command -v apt-get >/dev/null || skip "these programs are missing:$missing"
    step "installing$missing"
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
mkdir -p "$dir"
exec 9>"$dir/lock"
flock -n 9 || { echo "image-test: another one uses $dir: wait for its end" >&2; exit 75; }

# The checkers, once: a folder with packages from PyPI.
make_python() {
    [ -e "$dir/python/made" ] || {
        python3 -m venv "$dir/python" && "$dir/python/bin/pip" -q install compose-spec==0.2.1 kubernetes-validate==1.37.0 podman-compose==1.6.0 &&
            : >"$dir/python/made"
    } >"$dir/python.log" 2>&1
}

build() { # buildah's arguments
    buildah --root "$dir/storage" --runroot "$dir/runroot" --storage-driver vfs "$@"
}

if [ -z "$(build images --quiet --filter "reference=$base" 2>/dev/null)" ]; then
    step "a Debian $release as base image, once"
    rm -rf "$dir/debian"
    unshare --mount --pid --fork --kill-child debootstrap --variant=minbase "$release" "$dir/debian" "$mirror" >"$dir/debootstrap.log" 2>&1 ||
        { tail -n 20 "$dir/debootstrap.log" >&2; exit 1; }
    apt-config dump | grep -E '^Acquire::https?::([^ ]*::)?Proxy ' >"$dir/debian/etc/apt/apt.conf.d/90host" || true
    rm -f "$dir"/debian/var/cache/apt/archives/*.deb
    container=$(build from scratch)
    build add --quiet "$container" "$dir/debian" / >/dev/null
    build commit --quiet --rm "$container" "$base" >/dev/null
    rm -rf "$dir/debian"
fi

step "docker/Dockerfile on Debian $release"
version=$(sed -n 's/.*FAIRWAY_VERSION "\(.*\)".*/\1/p' include/base/version.h)
commit=$(git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
build bud --isolation chroot --format docker --build-arg BASE="$base" --build-arg COMMIT="$commit" --build-arg VERSION="$version" \
    --build-arg SOURCE=https://example.org/fairway --pull-never \
    --file docker/Dockerfile --tag fairway . >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log" >&2; exit 1; }
build rm --all >/dev/null
build inspect --type image fairway >"$dir/image.json"
build rmi --prune >/dev/null 2>&1 || true
rootfs=$(build mount "$(build from fairway)")
du -sh "$rootfs" | awk '{ print "the image has " $1 }'

# Docker's own default profile, from the package of its sources.
profile=$dir/docker/usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json
if [ ! -e "$profile" ]; then
    step "Docker's default seccomp profile"
    (cd /tmp && exec apt-get download golang-github-docker-docker-dev >/dev/null 2>&1) # a folder that apt's own user can read
    dpkg-deb -x /tmp/golang-github-docker-docker-dev_*.deb "$dir/docker"
    rm -f /tmp/golang-github-docker-docker-dev_*.deb
fi

step "compose.yaml and kubernetes.yaml"
if make_python; then
    "$dir/python/bin/python" tests/image/compose.py docker/compose.yaml
    "$dir/python/bin/kubernetes-validate" --strict --kubernetes-version 1.30 docker/kubernetes.yaml
    step "compose.yaml, started by podman-compose"
    IMAGE_DIR=$dir sh tests/image/compose.sh "$base"
else
    echo "not checked: the checkers need Python's venv and pip"
fi
step "containers"
IMAGE_COMMIT=$commit IMAGE_VERSION=$version IMAGE_JSON=$dir/image.json IMAGE_ROOTFS=$rootfs IMAGE_SECCOMP=$profile IMAGE_DIR=$dir \
    FAIRWAY_BIN=tests/image/container.sh tests/run.sh tests/image/image.test.mjs
