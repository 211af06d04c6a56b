#include "outage.h"

#define LIMITS_FORGOTTEN 4

bool outage_lasts(struct outage *outage, int64_t now_ms)
{
    const int64_t forgotten_ms = (int64_t)outage->limit_ms * LIMITS_FORGOTTEN;
    if (outage->since_ms == 0 || now_ms - outage->last_ms > forgotten_ms)
        outage->since_ms = now_ms;
    outage->last_ms = now_ms;
    return now_ms - outage->since_ms >= outage->limit_ms;
}

void outage_end(struct outage *outage)
{
    outage->since_ms = outage->last_ms = 0;
}
