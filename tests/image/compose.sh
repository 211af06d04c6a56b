#!/bin/sh
# compose.sh BASE: starts docker/compose.yaml with podman-compose, without a daemon, and takes the demo's payment through it. Uses the image
# fairway of run.sh, in whose storage it builds the others: there is no registry, so images on BASE stand in for postgres, haproxy and node.
#
#   IMAGE_DIR, IMAGE_DRIVER     from run.sh: where storage, programs and logs are, and how layers are stored
set -eu
base=$1 dir=$IMAGE_DIR/compose
export CONTAINERS_STORAGE_CONF="$dir/storage.conf" CONTAINERS_CONF="$dir/containers.conf"
mkdir -p "$dir"
printf '[storage]\ndriver = "%s"\ngraphroot = "%s/storage"\nrunroot = "%s/runroot"\n' "$IMAGE_DRIVER" "$IMAGE_DIR" "$IMAGE_DIR" >"$CONTAINERS_STORAGE_CONF"
cat >"$CONTAINERS_CONF" <<'END'
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=4096:4096", "nproc=8192:8192"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
END

build() { # IMAGE DOCKERFILE FOLDER BASE
    buildah bud --isolation chroot --format docker --pull-never --build-arg BASE="$4" --file "$2" --tag "$1" "$3" >"$dir/$1.log" 2>&1 ||
        { tail -n 20 "$dir/$1.log" >&2; exit 1; }
}
stand_in() { # NAME FOLDER
    [ -n "$(buildah images --quiet --filter "reference=localhost/fairway-$1" 2>/dev/null)" ] ||
        build "fairway-$1" "tests/image/stand-ins/$1.Dockerfile" "$2" "$base"
}
stand_in postgres tests/image/stand-ins & postgres=$!
stand_in haproxy tests/image/stand-ins & haproxy=$!
stand_in node tests
build fairway-localnet docker/localnet.Dockerfile . localhost/fairway-node
build fairway-channels docker/channels/Dockerfile docker/channels localhost/fairway-node
wait $postgres
wait $haproxy

# Secrets are made in a copy.
rm -rf "$dir/docker"
cp -R docker "$dir/docker"
rm -rf "$dir/docker/secrets" "$dir/docker/.env"
sh "$dir/docker/secrets.sh" >/dev/null
# Podman 4 starts no container whose dependency has dependencies of its own.
cat >"$dir/podman" <<'END'
#!/bin/sh
for arg; do
    shift
    case $arg in --requires=*) ;; *) set -- "$@" "$arg" ;; esac
done
exec /usr/bin/podman "$@"
END
chmod 755 "$dir/podman"
export POSTGRES_IMAGE=localhost/fairway-postgres HAPROXY_IMAGE=localhost/fairway-haproxy PORT="${PORT:-18401}" CHANNELS_PORT="${CHANNELS_PORT:-18402}"

# As container.sh: crun 1.8 refuses hosts with both versions of cgroups.
exec unshare --mount --propagation private sh -euc '
    umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
    cd "$1"
    compose() { timeout 300 ../python/bin/podman-compose --podman-path ./podman -f docker/compose.yaml "$@" </dev/null; }
    code=0
    {
        compose --profile channels up --no-build -d && timeout 120 sh -c "until curl -sf http://127.0.0.1:$PORT/readyz; do sleep 1; done" &&
            curl -sf --retry 20 --retry-all-errors --retry-delay 1 "http://127.0.0.1:$CHANNELS_PORT/health" && compose --profile demo run --rm demo
    } >compose.log 2>&1 || code=$?
    [ $code -eq 0 ] || { for id in $(podman ps -aq); do podman inspect --format {{.Name}} "$id"; podman logs --tail 20 "$id"; done; } >>compose.log 2>&1
    compose --profile demo --profile channels down --volumes >>compose.log 2>&1 || true
    [ $code -eq 0 ] || { tail -n 200 compose.log >&2; exit $code; }
    grep -E "^   status +confirmed" compose.log' compose "$dir"
