#!/bin/sh
# container.sh ARGUMENT...: as `docker run --rm --read-only --cap-drop ALL --network host fairway ARGUMENT...` of the image that run.sh has
# built. This process becomes crun, which passes signals on to the container and ends with its exit code. container.mjs selects the
# environment variables of the container.
set -eu
bundle=$(tests/node_modules/.bin/node tests/image/container.mjs "$@")
# crun 1.8 refuses hosts with both versions of cgroups. The container joins none.
exec unshare --mount --propagation private sh -c '
    umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
    exec crun --cgroup-manager=disabled --root "$2" run --bundle "$1" "${1##*/}"' container "$bundle" "$IMAGE_DIR/crun"
