#!/bin/sh
# clang-tidy over C files: checks that need only the syntax tree, because gcc's analyzer follows the paths. Left out are conversions (the
# compilers warn about those), equal branches (a switch names each case) and sizes of pointers (arrays of pointers are meant).
exec clang-tidy --quiet --warnings-as-errors='*' --checks='-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,
    -bugprone-branch-clone,-bugprone-sizeof-expression,misc-misplaced-const,misc-redundant-expression,readability-misleading-indentation,
    readability-suspicious-call-argument' "$@" -- -std=c17 -D_GNU_SOURCE -Iinclude -Isrc/db -Ibuild/clang -I"$(pg_config --includedir)" 2>&1 |
    { ! grep -E -A3 'warning:|error:'; }
