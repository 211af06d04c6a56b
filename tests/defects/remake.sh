#!/bin/sh
# Writes patches again as `git diff` makes them from the files of today, with their line numbers and functions: remake.sh PATCH...
# Each has to apply. Look at what it now changes before you commit it: `git diff` shows when a patch has moved to another function.
set -eu
base=$(git stash create) # the work tree; nothing when it has no changes
base=${base:-HEAD}
GIT_INDEX_FILE=$(mktemp -u)
export GIT_INDEX_FILE
made=$(mktemp)
trap 'rm -f "$GIT_INDEX_FILE" "$made"' EXIT
for patch in "$@"; do
    git read-tree "$base"
    git apply --cached "$patch"
    sed '/^diff --git /,$d' "$patch" >"$made"
    git diff --cached "$base" >>"$made"
    cat "$made" >"$patch"
done
