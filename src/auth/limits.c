#include "limits.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/json.h"

const struct auth_limits limits_default = {.fee_bumps = AUTH_FEE_BUMPS_DEFAULT};

/* The counts: name, place in struct auth_limits, maximum. */
static const struct {
    const char *name;
    size_t place;
    uint32_t max;
} counts[] = {
    {"openLeases", offsetof(struct auth_limits, open_leases), 1000000},
    {"leasesPerSecond", offsetof(struct auth_limits, leases_per_second), 100000},
    {"poolPercent", offsetof(struct auth_limits, pool_percent), 100},
    {"requestsPerSecond", offsetof(struct auth_limits, requests_per_second), 100000},
    {"waits", offsetof(struct auth_limits, waits), 100000},
    {"feeBumps", offsetof(struct auth_limits, fee_bumps), 1000},
    {"feeBumpStepPercent", offsetof(struct auth_limits, fee_bump_step_percent), 1000},
};

static bool is_count(const char *name)
{
    size_t i = 0;
    while (i < ARRAY_LEN(counts) && strcmp(counts[i].name, name) != 0)
        i++;
    return i < ARRAY_LEN(counts);
}

enum err limits_read(const json_t *object, struct auth_limits *out, struct detail *detail)
{
    const char *name;
    json_t *value;
    uint64_t number;
    if (!json_is_object(object))
        return detail_set(detail, ERR_CONFIG, "it must be an object");
    json_object_foreach((json_t *)object, name, value)
    {
        if (strcmp(name, "stroopsPerDay") != 0 && !is_count(name))
            return detail_set(detail, ERR_CONFIG, "unknown limit \"%.40s\"", name);
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (json_object_get(object, counts[i].name) == NULL)
            continue;
        if (json_read_number(object, counts[i].name, 1, counts[i].max, &number, detail) != ERR_OK)
            return ERR_CONFIG;
        *(uint32_t *)((char *)out + counts[i].place) = (uint32_t)number;
    }
    if (json_object_get(object, "stroopsPerDay") == NULL)
        return ERR_OK;
    if (json_read_decimal(object, "stroopsPerDay", 1, INT64_MAX, &number, detail) != ERR_OK)
        return ERR_CONFIG;
    out->stroops_per_day = (int64_t)number;
    return ERR_OK;
}
