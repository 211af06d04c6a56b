/* Remembers which addresses have failed or refused lately. Asks none. */
#include "address.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"

#define LAST_MS 5000 /* one that has failed is asked last */
#define REFUSED_MIN_MS 1000
#define REFUSED_MAX_MS 30000
#define REFUSED_SAID_MAX_S 300 /* of what an address says */

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

/* Calls that were under way when it refused one say nothing new. */
static void note_refusal(struct address *address, int64_t begun_ms, int64_t retry_after_s)
{
    if (begun_ms >= address->refuses_until_ms) {
        const bool again = address->refused_ms != 0 && begun_ms - address->refuses_until_ms < REFUSED_MAX_MS;
        const unsigned doubled_ms = again ? 2 * address->refused_ms : REFUSED_MIN_MS;
        address->refused_ms = doubled_ms < REFUSED_MAX_MS ? doubled_ms : REFUSED_MAX_MS;
    }
    const int64_t said_s = retry_after_s < REFUSED_SAID_MAX_S ? retry_after_s : REFUSED_SAID_MAX_S;
    const int64_t until_ms = said_s > 0                              ? clock_ms() + said_s * 1000
                             : begun_ms >= address->refuses_until_ms ? clock_ms() + address->refused_ms
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
        address->refused_ms = 0;
    pthread_mutex_unlock(&mutex);
}

bool address_is_last(struct address *address)
{
    pthread_mutex_lock(&mutex);
    const bool is_last = clock_left_ms(address->last_until_ms) > 0;
    pthread_mutex_unlock(&mutex);
    return is_last;
}

int address_refuses_ms(struct address *address)
{
    pthread_mutex_lock(&mutex);
    const int left_ms = clock_left_ms(address->refuses_until_ms);
    pthread_mutex_unlock(&mutex);
    return left_ms;
}

void address_forget(void)
{
    pthread_mutex_lock(&mutex);
    for (struct address *address = addresses; address != NULL; address = address->next) {
        address->last_until_ms = address->refuses_until_ms = 0;
        address->refused_ms = 0;
    }
    pthread_mutex_unlock(&mutex);
}
