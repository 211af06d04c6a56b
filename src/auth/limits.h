/* The limits of a client, as CLIENTS_FILE has them. */
#ifndef FAIRWAY_AUTH_LIMITS_H
#define FAIRWAY_AUTH_LIMITS_H

#include <jansson.h>

#include "auth/auth.h"

/* Of a client whose limits are not given. */
extern const struct auth_limits limits_default;

/*
 * Reads {"openLeases": 500, "leasesPerSecond": 50, "poolPercent": 40, "requestsPerSecond": 500, "waits": 100,
 * "feeBumps": 20, "feeBumpStepPercent": 10, "stroopsPerDay": "50000000000"}; each may be absent and then
 * stays as it is in *out. ERR_CONFIG: another member, or a value out of range.
 */
MUST_CHECK enum err limits_read(const json_t *object, struct auth_limits *out, struct detail *detail);

#endif
