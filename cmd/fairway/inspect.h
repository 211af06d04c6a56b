/*
 * fairway inspect: what an operator needs when a lease does not settle, and what our decoder is judged by.
 * Reads files, prints JSON lines; no database, network or key.
 */
#ifndef FAIRWAY_INSPECT_H
#define FAIRWAY_INSPECT_H

#include <jansson.h>
#include <stdio.h>

#include "stellar/ids.h"

/*
 * The two kinds: ledgers [--framed] FILE... and transaction XDR; argv[0] is their name. They block on files
 * and standard input. The exit code: 0, 64 usage, 65 data that does not decode or whose proof fails, 66 a
 * file that cannot be read, 74 output that cannot be written.
 */
int inspect_ledgers(int argc, char **argv);
int inspect_transaction(int argc, char **argv);

/* Says what was wrong, and how the command is used; the exit code. */
int inspect_usage(const char *what, const char *which);

/* Prints json as a line and releases it; the exit code. */
int inspect_print(json_t *json);

/* Appends at most len bytes, fewer at the end of the file. What a length promises is not allocated before it
 * is there. */
void inspect_read(FILE *file, size_t len, struct buf *out);

/* New references. 64-bit numbers are strings: not every reader of JSON holds them. */
json_t *inspect_hash(const struct hash *hash);
json_t *inspect_i64(int64_t value);
json_t *inspect_u64(uint64_t value);

#endif
