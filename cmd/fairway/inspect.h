/*
 * fairway inspect decodes XDR and prints it as JSON lines: for an operator whose lease does not settle, and
 * for tests of the decoder. It reads files only; it uses no database, network or key.
 */
#ifndef FAIRWAY_INSPECT_H
#define FAIRWAY_INSPECT_H

#include <jansson.h>
#include <stdio.h>

#include "stellar/ids.h"

/*
 * inspect ledgers FILE... and inspect transaction XDR, with their options; argv[0] is "ledgers" or
 * "transaction". Both block on files and standard input. They return the exit code: 0; 64 usage; 65 data that
 * does not decode, or whose hashes do not match; 66 a file that cannot be read; 74 output that cannot be
 * written.
 */
int inspect_ledgers(int argc, char **argv);
int inspect_transaction(int argc, char **argv);

/* Prints an error about the arguments (which: the argument, or ""), and the usage; returns EX_USAGE. */
int inspect_usage(const char *error, const char *which);

/* Takes --network-passphrase TEXT or =TEXT at argv[i]. Returns how many arguments it takes; 0: it is not
 * there, or has no value. */
int inspect_passphrase(int argc, char **argv, int i, const char **passphrase);

/* Prints json as one line and frees it; returns the exit code. */
int inspect_print(json_t *json);

/* Appends at most len bytes, fewer at the end of the file. Allocates as it reads, not len at once. */
void inspect_read(FILE *file, size_t len, struct buf *out);

/* New references. 64-bit numbers become strings: many JSON readers store numbers as doubles. */
json_t *inspect_hash(const struct hash *hash);
json_t *inspect_i64(int64_t value);
json_t *inspect_u64(uint64_t value);

#endif
