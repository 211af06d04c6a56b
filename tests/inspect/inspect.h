/* Decodes XDR with fairway's decoders and prints it as JSON lines, for tests that compare it with what the
 * official SDK decodes. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "stellar/ids.h"

/* Both return the exit code: 0; 65 data that does not decode, or whose hashes do not match; 66 a file that
 * cannot be read. network NULL: what needs the network's id is not computed. */
int inspect_ledgers(const struct network_id *network, bool framed, bool results, char **files);
int inspect_transaction(const struct network_id *network, const char *base64);

/* Prints json as one line and frees it. */
void inspect_print(json_t *json);

/* New references. 64-bit numbers become strings: many JSON readers store numbers as doubles. */
json_t *inspect_hash(const struct hash *hash);
json_t *inspect_i64(int64_t value);
json_t *inspect_u64(uint64_t value);
