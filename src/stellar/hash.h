/* SHA-256 over bytes that lie apart, so that a signature payload need not be put together first. */
#ifndef FAIRWAY_SRC_STELLAR_HASH_H
#define FAIRWAY_SRC_STELLAR_HASH_H

#include "stellar/ids.h"

struct hash sha256_parts(const struct bytes parts[], size_t count);

#endif
