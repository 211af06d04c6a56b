#include "take_lead.h"

#include "check.h"
#include "base/clock.h"
#include "slowness.h"

#define PATIENCE_MS 10000
#define POLL_MS 10

void take_lead(struct lead *lead)
{
    struct detail detail = {0};
    const int64_t end_ms = clock_ms() + slower(PATIENCE_MS);
    enum err e = lead_take(lead, &detail);
    for (; e != ERR_OK && clock_left_ms(end_ms) > 0; e = lead_take(lead, &detail))
        clock_sleep_ms(POLL_MS);
    if (e != ERR_OK)
        fail_msg("cannot take the lead: %s: %s", err_code(e), detail.text);
}
