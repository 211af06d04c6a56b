/* The members that describe a lease's status, wherever it is answered. */
#pragma once

#include "base/json_write.h"
#include "pool/lease_lookup.h"

/* About how many bytes the members take, without result, return value and bids. */
#define STATUS_ROOM 768

/* Begins an object with the members of the status. */
void api_begin_status(struct json_write *out, const struct lease_status *status);
/* Writes the members of the status into an object that has been begun. */
void api_write_status(struct json_write *out, const struct lease_status *status);
