/* Remembers which addresses have failed or refused lately. Asks none. */
#include "address.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#define LAST_MS 5000 /* one that has failed is asked last */
/* Between two simulations: after a refusal (twice that after each further one); at most; after an answer. */
#define GAP_MIN_MS 250
#define GAP_MAX_MS 30000
#define GAP_WORKS_MS 1000
#define REFUSED_SAID_MAX_S 300 /* of what an address says */
#define SCARCE_MS 60000

/* That wait for a transfer to begin. */
static const size_t queue_max[RPC_CLASSES] = {
    [RPC_LEDGERS] = 64, [RPC_SENDS] = 4096, [RPC_READS] = 128, [RPC_SIMULATIONS] = 128};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct address *addresses;

struct address *address_of(const char *url)
{
    pthread_mutex_lock(&mutex);
    struct address *address = addresses;
    while (address != NULL && !text_equal(address->url, url))
        address = address->next;
    if (address == NULL) {
        address = NEW(struct address);
        address->url = mem_copy_text(url);
        for (size_t i = 0; i < RPC_CLASSES; i++)
            address->waiting[i].max = queue_max[i];
        address->next = addresses;
        addresses = address;
    }
    pthread_mutex_unlock(&mutex);
    return address;
}

struct address *address_first(void)
{
    pthread_mutex_lock(&mutex);
    struct address *first = addresses;
    pthread_mutex_unlock(&mutex);
    return first;
}

static bool is_scarce(const struct address *address)
{
    return address->refuses_until_ms != 0 && clock_ms() - address->refuses_until_ms < SCARCE_MS;
}

static int64_t simulates_ms(const struct address *address)
{
    const int64_t turn_ms = address->turn_ms + address->gap_ms;
    return turn_ms > address->refuses_until_ms ? turn_ms : address->refuses_until_ms;
}

/* Calls that were under way when it refused one say nothing new. */
static void note_refusal(struct address *address, int64_t begun_ms, int64_t retry_after_s)
{
    if (begun_ms >= address->refuses_until_ms) {
        const unsigned gap_ms = is_scarce(address) && address->gap_ms > 0 ? 2 * address->gap_ms : GAP_MIN_MS;
        address->gap_ms = gap_ms < GAP_MAX_MS ? gap_ms : GAP_MAX_MS;
    }
    const int64_t said_s = retry_after_s < REFUSED_SAID_MAX_S ? retry_after_s : REFUSED_SAID_MAX_S;
    const int64_t until_ms = said_s > 0                              ? clock_ms() + said_s * 1000
                             : begun_ms >= address->refuses_until_ms ? clock_ms() + address->gap_ms
                                                                     : address->refuses_until_ms;
    if (until_ms > address->refuses_until_ms)
        address->refuses_until_ms = until_ms;
}

void address_note(
    struct address *address, enum address_outcome outcome, int64_t begun_ms, int64_t retry_after_s)
{
    pthread_mutex_lock(&mutex);
    if (outcome == ADDRESS_REFUSES)
        note_refusal(address, begun_ms, retry_after_s);
    if (outcome != ADDRESS_WORKS)
        address->last_until_ms = clock_ms() + LAST_MS;
    else if (begun_ms >= address->refuses_until_ms)
        address->gap_ms = 7 * (address->gap_ms < GAP_WORKS_MS ? address->gap_ms : GAP_WORKS_MS) / 8;
    pthread_mutex_unlock(&mutex);
}

struct address_state address_state(struct address *address)
{
    pthread_mutex_lock(&mutex);
    const struct address_state state = {.rank = (atomic_load(&address->avoided) ? 2u : 0u) +
                                                (clock_left_ms(address->last_until_ms) > 0 ? 1u : 0u),
        .is_scarce = is_scarce(address),
        .refuses_ms = clock_left_ms(simulates_ms(address))};
    pthread_mutex_unlock(&mutex);
    return state;
}

bool address_take_turn(struct address *address)
{
    pthread_mutex_lock(&mutex);
    const bool may = clock_left_ms(simulates_ms(address)) == 0;
    if (may)
        address->turn_ms = clock_ms();
    pthread_mutex_unlock(&mutex);
    return may;
}

void address_forget(void)
{
    pthread_mutex_lock(&mutex);
    for (struct address *address = addresses; address != NULL; address = address->next) {
        address->last_until_ms = address->refuses_until_ms = address->turn_ms = 0;
        address->gap_ms = 0;
    }
    pthread_mutex_unlock(&mutex);
}
