#!/bin/sh
# `make image-test`: builds the image with buildah on a base made by debootstrap, runs its programs in containers by crun, under Docker's
# default seccomp profile, checks the other files of docker/, and starts compose.yaml. There is no Docker daemon and no image registry.
# Needs root; on a Debian host it installs the packages that are missing. Where it cannot run, it says why, and ends with 0; TEST_SUMS
# (run.sh in the folder above) then has one test more that was skipped, and the reason.
#
#   RELEASE=trixie      the base (default: bookworm)
#   MIRROR=URL          the Debian mirror (default: the one in this machine's apt sources)
#
# The base and the downloads stay in build/image for the next run.
set -eu
cd "$(dirname "$0")/../.."
release=${RELEASE:-bookworm}
dir=$PWD/build/image base=localhost/fairway-base:$release

skipped() {
    echo "image-test: skipped: $*"
    [ -z "${TEST_SUMS:-}" ] || echo "0 0 1 image-test: skipped: $*" >>"$TEST_SUMS"
}
skip() {
    skipped "$@"
    exit 0
}
step() { printf '\n== %s\n' "$*"; }

[ "$(id -u)" -eq 0 ] || skip "building an image needs root"
[ "$(uname -m)" = x86_64 ] || skip "container.mjs knows Docker's profile for x86-64 only"
# crun 1.8 refuses hosts with both versions of cgroups.
unshare --mount --pid --fork --propagation private sh -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup' 2>/dev/null ||
    skip "this machine lets no process have mounts of its own"
command -v apt-get >/dev/null || skip "this is no Debian"
missing=
for program in buildah crun debootstrap podman curl iptables; do
    command -v $program >/dev/null || missing="$missing $program"
done
for package in netavark aardvark-dns; do # the network of podman, with names
    [ -e /usr/lib/podman/$package ] || missing="$missing $package"
done
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
if [ -n "$missing" ]; then
    step "installing$missing"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends $missing >/dev/null; } ||
        skip "apt-get does not install$missing"
fi
mkdir -p "$dir"
exec 9>"$dir/lock"
flock -n 9 || { echo "image-test: another one uses $dir: wait for its end" >&2; exit 75; }

# Layers that share files, where the file system can; else each container begins with a copy of its image.
driver=vfs
mkdir -p "$dir/layers/lower" "$dir/layers/upper" "$dir/layers/work"
(cd "$dir/layers" && unshare --mount mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none lower 2>/dev/null) && driver=overlay

# The checkers, once and meanwhile: a folder with packages from PyPI.
{
    [ -e "$dir/python/made" ] || {
        python3 -m venv --clear "$dir/python"
        "$dir/python/bin/pip" -q install compose-spec==0.2.1 kubernetes-validate==1.37.0 podman-compose==1.6.0
        : >"$dir/python/made"
    }
} >"$dir/python.log" 2>&1 &
checkers=$!

build() { # buildah's arguments
    buildah --root "$dir/storage" --runroot "$dir/runroot" --storage-driver $driver "$@"
}

if [ -z "$(build images --quiet --filter "reference=$base" 2>/dev/null)" ]; then
    step "a Debian $release as base image, once"
    mirror=${MIRROR:-$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | awk '$1 == "Debian" { print $2; exit }')}
    rm -rf "$dir/debian"
    unshare --mount --pid --fork --kill-child debootstrap --variant=minbase "$release" "$dir/debian" "$mirror" >"$dir/debootstrap.log" 2>&1 ||
        { tail -n 20 "$dir/debootstrap.log" >&2; skip "debootstrap makes no Debian $release from ${mirror:-no mirror}"; }
    apt-config dump | grep -E '^Acquire::https?::([^ ]*::)?Proxy ' >"$dir/debian/etc/apt/apt.conf.d/90host" || true
    echo force-unsafe-io >"$dir/debian/etc/dpkg/dpkg.cfg.d/unsafe-io" # the images need not survive a power failure
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
trap 'build umount --all >/dev/null' EXIT
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
wait $checkers || { cat "$dir/python.log" >&2; exit 1; }
"$dir/python/bin/python" tests/image/compose.py docker/compose.yaml
"$dir/python/bin/kubernetes-validate" --strict --kubernetes-version 1.30 docker/kubernetes.yaml
step "compose.yaml, started by podman-compose"
if iptables -t nat -L -n >/dev/null 2>"$dir/iptables.log"; then
    IMAGE_DIR=$dir IMAGE_DRIVER=$driver sh tests/image/compose.sh "$base"
else
    skipped "compose.yaml is not started, because containers get no network: $(tail -n 1 "$dir/iptables.log")"
fi

step "containers"
IMAGE_COMMIT=$commit IMAGE_VERSION=$version IMAGE_JSON=$dir/image.json IMAGE_ROOTFS=$rootfs IMAGE_SECCOMP=$profile IMAGE_DIR=$dir \
    FAIRWAY_BIN=tests/image/container.sh tests/run.sh tests/image/image.test.mjs
