/* The seeds of import-accounts, from the descriptor that fairway has never read. None outlives its sealing.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "ring.h"
#include "stellar/strkey.h"

static enum err end_line(struct ring_seeds *seeds, struct detail *detail)
{
    seeds->line++;
    if (seeds->len == 0)
        return ERR_OK;
    if (seeds->count == KEYD_SEEDS_MAX)
        return detail_set(detail, ERR_CONFIG,
            "standard input has more than %d seeds: give it in parts of so many", KEYD_SEEDS_MAX);
    struct ring_seed *seed = &seeds->seeds[seeds->count++];
    seed->line = seeds->line;
    seed->valid = strkey_decode(STRKEY_SEED, seeds->text, seed->bytes) == ERR_OK;
    sodium_memzero(seeds->text, sizeof seeds->text);
    seeds->len = 0;
    return ERR_OK;
}

/* A line that is too long stays so: it is longer than a seed. */
static enum err take_bytes(struct ring_seeds *seeds, const char *bytes, size_t len, struct detail *detail)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < len; i++) {
        const char c = bytes[i] == '\0' ? '?' : bytes[i];
        if (c == '\n')
            e = end_line(seeds, detail);
        else if (c != ' ' && c != '\t' && c != '\r' && seeds->len < sizeof seeds->text - 1)
            seeds->text[seeds->len++] = c;
    }
    return e;
}

enum err ring_read_seeds(struct ring *ring, int fd, struct detail *detail)
{
    struct ring_seeds *seeds = ring->seeds = sodium_malloc(sizeof *seeds);
    char *part = ring->secrets->passphrase; /* guarded, and not in use yet */
    enum err e = ERR_OK;
    ssize_t n;
    if (seeds == NULL || sodium_mlock(seeds, sizeof *seeds) != 0)
        e = detail_set(detail, ERR_CONFIG,
            "the pages for seeds cannot be locked: raise RLIMIT_MEMLOCK to %zu KiB",
            sizeof *seeds / 1024 + 64);
    else
        sodium_memzero(seeds, sizeof *seeds);
    while (e == ERR_OK && (n = read(fd, part, PASSPHRASE_MAX)) != 0)
        if (n > 0)
            e = take_bytes(seeds, part, (size_t)n, detail);
        else if (errno != EINTR)
            e = detail_set(detail, ERR_CONFIG, "standard input cannot be read: %s", strerror(errno));
    sodium_memzero(part, PASSPHRASE_MAX);
    close(fd);
    return e == ERR_OK ? end_line(seeds, detail) : e;
}

size_t ring_seeds_left(const struct ring *ring)
{
    return ring->seeds == NULL ? 0 : ring->seeds->count - ring->seeds->next;
}

struct imported_key ring_seal_next(struct ring *ring)
{
    struct ring_seed *seed = &ring->seeds->seeds[ring->seeds->next++];
    struct imported_key item = {.line = seed->line, .result = ERR_MALFORMED};
    if (seed->valid)
        item.result = ring_import(ring, seed->bytes, &item.key);
    sodium_memzero(seed->bytes, sizeof seed->bytes);
    return item;
}
