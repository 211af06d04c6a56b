#include "slots.h"

/* So many eighths, and one at least. */
static unsigned share(const struct slots *slots, unsigned eighths)
{
    unsigned count = (unsigned)((unsigned long long)slots->connections * eighths / 8);
    return count == 0 ? 1 : count;
}

enum err slots_take(struct slots *slots, enum slot slot)
{
    static const unsigned eighths[] = {[SLOT_WAIT] = 4, [SLOT_LEASE] = 5};
    const unsigned both = 6;
    unsigned mine = atomic_fetch_add(&slots->held[slot], 1) + 1;
    unsigned others = atomic_load(&slots->held[slot == SLOT_WAIT ? SLOT_LEASE : SLOT_WAIT]);
    if (mine <= share(slots, eighths[slot]) && mine + others <= share(slots, both))
        return ERR_OK;
    slots_give(slots, slot);
    return ERR_OVERLOADED;
}

void slots_give(struct slots *slots, enum slot slot)
{
    atomic_fetch_sub(&slots->held[slot], 1);
}
