#!/bin/sh
# Runs test programs one after the other and counts: run.sh PROGRAM...  Each is a cmocka program, or a .mjs file or folder for
# node's test runner. Prints a line for each, what it says to have covered ("N of N ..."), and, for those that fail, all their
# output; the last line is the sum.
# Exit 0 only when nothing failed and something ran.
set -u
here=$(dirname "$0")
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 skipped=0

count() { # PATTERN [WORD]: the sum of the numbers in lines that begin with PATTERN, in front of WORD if there is one
    awk -v pattern="$1" -v word="${2:-}" 'index($0, pattern) == 1 {
        rest = substr($0, length(pattern) + 1)
        if (word == "") sum += rest + 0
        else if (match(rest, "[0-9]+ " word)) sum += substr(rest, RSTART, RLENGTH) + 0
    } END { print sum + 0 }' "$log"
}

for program in "$@"; do
    begun=$(date +%s)
    case $program in
    *.mjs) timeout 900 "$here/node_modules/.bin/node" --test --test-reporter=tap "$program" >"$log" 2>&1 ;;
    *) timeout 900 "$program" >"$log" 2>&1 ;;
    esac
    code=$?
    case $program in
    *.mjs) p=$(count '# pass ') f=$(count '# fail ') s=$(count '# skipped ') ;;
    *) p=$(count '[  PASSED  ]' test) f=$(count '[  FAILED  ]' test) s=$(count '[  SKIPPED ]' test) ;;
    esac
    # a crash, a timeout, or a program that ran nothing is a failure too
    if [ $code -ne 0 ] && [ "$f" -eq 0 ] || [ $((p + f + s)) -eq 0 ]; then
        f=$((f + 1))
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '%-60s %4d passed %s%s(%d s)\n' "$program" "$p" "$([ "$f" -eq 0 ] || echo "$f FAILED ")" \
        "$([ "$s" -eq 0 ] || echo "$s skipped ")" $(($(date +%s) - begun))
    [ "$f" -eq 0 ] || { sed 's/^/    /' "$log"; echo "    exit code $code"; }
    [ "$s" -eq 0 ] || grep -i '# skip' "$log" | sed 's/^/    /' | head -5
    sed -nE 's/^ *# ([0-9]+ of [0-9]+ .*)/    \1/p' "$log"
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
