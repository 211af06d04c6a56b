#!/bin/sh
# Runs one test program and keeps the data and logs of its servers, for `make t`: one.sh PROGRAM
#   ONLY=H1     only these tests. cmocka: whole words of their names, or a pattern of * and ?; node: a regular expression
#   DEBUG=1     a C program runs under gdb, which stops at a failed assertion; node waits for an inspector
set -eu
program=$1 only=${ONLY:-} debug=${DEBUG:-}
kept=$(mktemp -d /tmp/fairway-test-XXXXXX)
chmod 711 "$kept" # PostgreSQL does not run as root
export FAIRWAY_KEEP="$kept" FAIRWAY_SERVERS="$kept" FAIRWAY_FSYNC="${FAIRWAY_FSYNC:-off}"
trap 'echo "kept, until you remove it: $kept"' EXIT
case $program in
*.sql) export FAIRWAY_SQL="$program" && program=tests/sql/sql.test.mjs ;;
esac
case $program in
*.mjs)
    "$(dirname "$0")/node_modules/.bin/node" ${debug:+--inspect-brk} --test --test-reporter=spec \
        ${debug:+--experimental-test-isolation=none} ${only:+"--test-name-pattern=$only"} "$program"
    ;;
*)
    gcc -shared -fPIC -O1 -iquote "$(dirname "$0")" -o "$kept/filter.so" "$(dirname "$0")/defects/filter.c"
    case $only in *[*?]* | "") ;; *) only="$only ${only}_* *_$only *_${only}_*" ;; esac
    if [ -n "$debug" ]; then
        gdb -q -ex 'set breakpoint pending on' -ex 'break _fail' -ex 'set follow-fork-mode parent' \
            ${only:+-ex "set exec-wrapper env LD_PRELOAD=$kept/filter.so DEFECT_ONLY='$only'"} -ex run --args "$program"
    else
        [ -z "$only" ] || export LD_PRELOAD="$kept/filter.so" DEFECT_ONLY="$only"
        "$program"
    fi
    ;;
esac
