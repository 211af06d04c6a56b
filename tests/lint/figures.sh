#!/bin/sh
# Prints how large the parts of fairway are: `make figures`. Only files that git tracks count.
set -eu
cd "$(dirname "$0")/../.."

lines() { # FILES: the sum of their lines
    cat "$@" | wc -l
}
say() { # WHAT FIGURE
    printf '%-72s %8s\n' "$1" "$2"
}
sql() { # the statements of the schema, without comments and blank lines
    cat $(git ls-files 'migrations/*.sql') | sed 's/--.*//' | grep -v '^[[:space:]]*$'
}
definitions() { # a line for each function that is defined: its name
    sql | sed -nE 's/^CREATE (OR REPLACE )?FUNCTION ([a-z_.]+).*/\2/p'
}

say 'lines of C and headers outside the generated schema' "$(lines $(git ls-files 'src/*.[ch]' 'include/*.h' 'cmd/*.[ch]' |
    grep -v -e '^src/xdr/schema\.c$' -e '^include/xdr/types\.h$'))"
say 'lines of SQL in migrations, without comments and blank lines' "$(sql | wc -l)"
say 'definitions of functions in migrations / functions' "$(definitions | wc -l) / $(definitions | sort -u | wc -l)"
for page in README.md docker/README.md tests/README.md; do
    say "bytes of $page" "$(wc -c <$page)"
done
say 'lines of tests, without corpora and package-lock.json' "$(lines $(git ls-files tests | grep -v -e '/corpus/' -e 'package-lock\.json$'))"
say 'planted defects' "$(git ls-files 'tests/defects/*.patch' | wc -l)"
