#!/bin/sh
# Runs test programs and counts their tests: run.sh PROGRAM...  A program is a cmocka program, or a .mjs file or folder for node's test
# runner. Prints a line for each program that has ended, the coverage that it reports ("N of N ..."), and all output of those that fail;
# then the programs that took longest, what failed, and the totals. Exits with 0 only when no test failed and at least one ran.
#
#   JOBS=N          number of programs at a time (default: three for each processor, because most of their time they wait)
#   TEST_SUMS=FILE  appends a line to the file: passed failed skipped
#   FAIRWAY_FSYNC=on    test servers of PostgreSQL write to the disk; tests end processes, never the machine, so by default they do not
set -u
export FAIRWAY_FSYNC="${FAIRWAY_FSYNC:-off}"
here=$(dirname "$0")

count() { # PATTERN [WORD]: the sum of the numbers in lines that begin with PATTERN, in front of WORD if there is one
    awk -v pattern="$1" -v word="${2:-}" 'index($0, pattern) == 1 {
        rest = substr($0, length(pattern) + 1)
        if (word == "") sum += rest + 0
        else if (match(rest, "[0-9]+ " word)) sum += substr(rest, RSTART, RLENGTH) + 0
    } END { print sum + 0 }' "$log"
}

# Lines of a program's output that tell why it failed: of cmocka, of TAP, of a sanitizer.
reasons='^\[ +(ERROR|LINE|FAILED) |^ *(not ok|error:|location:|expected:|actual:)|^SUMMARY|: Assertion|^Error'

# timeout --foreground: Ctrl-C reaches the program.
run_one() { # PROGRAM
    program=$1 log=$(mktemp -p "$results")
    since=$(date +%s)
    case $program in
    *.mjs) timeout --foreground -k 10 1800 "$here/node_modules/.bin/node" --test --test-reporter=tap "$program" >"$log" 2>&1 ;;
    *) timeout --foreground -k 10 1800 "$program" >"$log" 2>&1 ;;
    esac
    code=$? seconds=$(($(date +%s) - since))
    case $program in
    *.mjs) p=$(count '# pass ') f=$(count '# fail ') s=$(count '# skipped ') ;;
    *) p=$(count '[  PASSED  ]' test) f=$(count '[  FAILED  ]' test) s=$(count '[  SKIPPED ]' test) ;;
    esac
    # a crash, a timeout, and a program that ran no test are failures too
    if [ $code -ne 0 ] && [ "$f" -eq 0 ] || [ $((p + f + s)) -eq 0 ]; then
        f=$((f + 1))
    fi
    printf '%-60s %4d passed %s%s(%d s)\n' "$program" "$p" "$([ "$f" -eq 0 ] || echo "$f FAILED ")" \
        "$([ "$s" -eq 0 ] || echo "$s skipped ")" $seconds
    [ "$f" -eq 0 ] || {
        sed 's/^/    /' "$log"
        echo "    exit code $code"
        why=$(grep -aE "$reasons" "$log" | tail -20 | sed 's/^/    /')
        printf 'FAILED: %s, exit code %d\n%s\n' "$program" $code "$why" >>"$results/failed"
    }
    [ "$s" -eq 0 ] || grep '# SKIP' "$log" | sed 's/^/    /' | head -5
    sed -nE 's/^ *# ([0-9]+ of [0-9]+ .*)/    \1/p' "$log"
    echo "$p $f $s $seconds $program" >>"$results/sums"
}

# xargs starts this script again for each program. The lock keeps the output of one program together.
if [ "${1:-}" = --one ]; then
    results=$2
    output=$(mktemp -p "$results")
    run_one "$3" >"$output" 2>&1
    flock "$results/lock" cat "$output"
    exit 0
fi

# Whether a folder in memory has room for the servers of all programs that run at a time.
has_room() { # FOLDER
    awk -v least=$((4 << 20)) '$1 == "MemAvailable:" { exit !($2 > least) }' /proc/meminfo &&
        df -kP "$1" 2>/dev/null | awk -v least=$((3 << 20)) 'NR == 2 { free = $4 } END { exit !(free > least) }'
}

[ $# -gt 0 ] || { echo "usage: run.sh PROGRAM..." >&2; exit 64; }
results=$(mktemp -d)
chmod 711 "$results" # PostgreSQL does not run as root
export FAIRWAY_CLUSTER="$results/cluster"
servers=
if [ "$FAIRWAY_FSYNC" = off ] && [ -z "${FAIRWAY_SERVERS:-}" ] && has_room /dev/shm; then
    servers=$(mktemp -d /dev/shm/fairway-XXXXXX)
    export FAIRWAY_SERVERS="$servers"
fi
trap 'rm -rf "$results" $servers' EXIT
trap 'exit 130' INT TERM HUP
: >"$results/sums" >"$results/failed"
begun=$(date +%s)
printf '%s\n' "$@" | xargs -d '\n' -r -n 1 -P "${JOBS:-$((3 * $(nproc)))}" sh "$0" --one "$results"

echo
[ $# -le 10 ] || sort -rnk4 "$results/sums" | awk 'NR <= 10 { printf "%5d s  %s\n", $4, $5 }'
cat "$results/failed"
sums=$(awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }' "$results/sums")
set -- "$sums" $# $(wc -l <"$results/sums")
[ -z "${TEST_SUMS:-}" ] || echo "$1" >>"$TEST_SUMS"
echo "$1" | awk -v programs="$2" -v seconds=$(($(date +%s) - begun)) \
    '{ printf "%d passed, %d failed, %d skipped (%d programs, %d s)\n", $1, $2, $3, programs, seconds }'
[ "$2" -eq "$3" ] || { echo "$(($2 - $3)) of $2 programs did not finish"; exit 1; }
echo "$1" | awk '{ exit !($1 > 0 && $2 == 0) }'
