#include "patience.h"

#define LIMITS_FORGOTTEN 4

bool patience_ended(struct patience *patience, int64_t now_ms)
{
    const int64_t forgotten_ms = (int64_t)patience->limit_ms * LIMITS_FORGOTTEN;
    if (patience->since_ms == 0 || now_ms - patience->last_ms > forgotten_ms)
        patience->since_ms = now_ms;
    patience->last_ms = now_ms;
    return now_ms - patience->since_ms >= patience->limit_ms;
}

void patience_restore(struct patience *patience)
{
    patience->since_ms = patience->last_ms = 0;
}
