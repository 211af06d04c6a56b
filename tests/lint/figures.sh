#!/bin/sh
# Compares how large the parts of fairway are with their limits in tests/lint/budgets, and prints for each the figure, the limit and what is left.
# Only files that git tracks count. `figures.sh lint` prints what is not at its limit. Fails when a figure is above its limit or has none, and when a
# limit is of nothing. A limit that names a test, in brackets, is checked there.
set -eu
cd "$(dirname "$0")/../.."
git rev-parse HEAD >/dev/null

tracked() { # PATHSPEC...
    git ls-files -- "$@" | grep -v -e /corpus/ -e 'package-lock\.json$' -e 'Cargo\.lock$' -e '/go\.sum$'
}
text() { # PATHSPEC...
    tracked "$@" | xargs cat
}

{
    echo "$(text 'src/*.[ch]' 'include/*.h' 'cmd/*.[ch]' ':!src/xdr/schema.c' ':!include/xdr/types.h' | wc -l) lines of C and headers outside the generated schema"
    echo "$(text 'migrations/*.sql' | sed 's/--.*//' | grep -c '[^[:space:]]') lines of SQL without comments and blank lines"
    echo "$(text tests | wc -l) lines of tests, without corpora and lock files"
    echo "$(tracked 'tests/defects/*.patch' | wc -l) planted defects"
    tracked '*.md' | xargs wc -c | sed -E 's/^ *([0-9]+) /\1 bytes of /; s/of total$/of all pages/'
} | awk -v lint="${1:-}" '
    { number = $1; what = substr($0, length($1) + 2) }
    FILENAME != "-" { if (number ~ /^[0-9]+$/) limit[what] = number; next }
    {
        wrong = !(what in limit) ? "has no limit" : (number > limit[what] ? "is too large: make it smaller, or raise the limit and say what that buys" : "")
        left = limit[what] - number
        if (wrong || left || !lint)
            printf "%-60s %6d of %6d %7d %s\n", what, number, limit[what], left, wrong ? wrong : (left ? "below: lower the limit" : "")
        failed = failed || wrong
        delete limit[what]
    }
    END {
        for (what in limit)
            if (what !~ /\(tests\/.*\)$/) {
                print what ": a limit of nothing"
                failed = 1
            } else if (!lint)
                printf "%-60s        of %6d\n", what, limit[what]
        exit failed
    }' tests/lint/budgets -
