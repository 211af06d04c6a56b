/* keyd's own clock, against which a time that fairway sends is checked. */
#include "own_clock.h"

#include <inttypes.h>
#include <time.h>

#include "base/deadlines.h"

uint64_t own_clock_latest_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec + OWN_CLOCK_AHEAD_S;
}

enum err own_clock_check(uint64_t now_s, struct detail *detail)
{
    const uint64_t latest_s = own_clock_latest_s();
    if (now_s <= latest_s)
        return ERR_OK;
    return detail_set(detail, ERR_KEYD_CLOCK,
        "fairway's time %" PRIu64 " is more than %d s ahead of the key process's clock, which says %" PRIu64
        ": correct the clock of the database or of this host",
        now_s, OWN_CLOCK_AHEAD_S, latest_s - OWN_CLOCK_AHEAD_S);
}
