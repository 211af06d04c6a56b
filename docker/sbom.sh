#!/bin/sh
# Prints what an image has, as CycloneDX in JSON: fairway, and the Debian packages that rootfs.sh has named in ROOT/var/lib/dpkg/status.d.
#
#   sbom.sh ROOT VERSION COMMIT
set -eu
root=$1
. "$root/etc/os-release"

printf '{"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,\n'
printf ' "metadata": {"component": {"type": "application", "bom-ref": "fairway", "name": "fairway", "version": "%s",\n' "$2"
printf '  "properties": [{"name": "commit", "value": "%s"}]}},\n "components": [' "$3"
comma=
for file in "$root"/var/lib/dpkg/status.d/*; do
    field() { sed -n "s/^$1: //p" "$file"; }
    url=$(echo "$(field Package)@$(field Version)" | sed 's/+/%2B/g; s/:/%3A/g')
    printf '%s\n  {"type": "library", "name": "%s", "version": "%s",\n   "purl": "pkg:deb/debian/%s?arch=%s&distro=%s-%s"}' \
        "$comma" "$(field Package)" "$(field Version)" "$url" "$(field Architecture)" "$ID" "$VERSION_ID"
    comma=,
done
printf '\n]}\n'
