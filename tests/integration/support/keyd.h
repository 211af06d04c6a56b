/*
 * A real key process with known secrets: the master key is 32 bytes of 7, the seed of the distribution
 * account 32 bytes of 11, the network that of KEYD_TEST_PASSPHRASE.
 */
#pragma once

#include "base/mem.h"
#include "keys/keyd.h"

#define KEYD_TEST_PASSPHRASE "fairway tests" /* also BUILT_PASSPHRASE */

/* The program under test: FAIRWAY_KEYD, else build/release/fairway-keyd. */
const char *keyd_program(void);

/* Returns a descriptor from which exactly these bytes can be read. */
int secret_of(const void *data, size_t len);
int secret_of_text(const char *text);

/* Returns new descriptors of the known secrets; keyd_start closes them. */
struct keyd_secrets keyd_known_secrets(void);
struct keyd_settings keyd_test_settings(void);

/* Starts and loads keyd with the known secrets; the test fails when that fails. */
struct keyd *keyd_loaded(enum keyd_mode mode);
void keyd_stop_at(struct keyd **keyd);
#define AUTO_KEYD CLEANUP(keyd_stop_at) struct keyd *

/* The public key of the known distribution account. */
struct public_key keyd_distribution(void);

/* Generates count accounts under the known master key. */
void keyd_accounts(struct generated_key out[], size_t count);

/* Appends the XDR Transaction of a lease that keyd signs: one payment-like operation of another account. */
void lease_transaction(const struct public_key *source, uint64_t max_time_s, struct buf *out);
