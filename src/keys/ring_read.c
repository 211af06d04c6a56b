/* Reads the secrets at start. It runs before the sandbox stands, and never again. */
#include "ring.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "stellar/strkey.h"

enum err ring_read_secret(int fd, void *out, size_t max, size_t *len)
{
    enum err e = ERR_OK;
    for (*len = 0; e == ERR_OK;) {
        uint8_t beyond;
        bool full = *len == max;
        ssize_t n = read(fd, full ? &beyond : (uint8_t *)out + *len, full ? 1 : max - *len);
        if (n == 0)
            break;
        if (n > 0 && !full)
            *len += (size_t)n;
        else if (n > 0 || errno != EINTR)
            e = ERR_CONFIG;
    }
    close(fd);
    return e;
}

static size_t without_newline(const char *text, size_t len)
{
    return len > 0 && text[len - 1] == '\n' ? len - 1 : len;
}

/* Guarded memory into which the text of each secret is read. */
static char *scratch(struct ring *ring)
{
    return ring->secrets->passphrase;
}

static enum err read_file_key(
    struct ring *ring, int fd, const char *variable, uint8_t *key, bool *given, struct detail *detail)
{
    size_t len;
    char *text = scratch(ring);
    enum err e = ring_read_secret(fd, text, PASSPHRASE_MAX, &len);
    if (e == ERR_OK && len == MASTER_KEY_SIZE)
        memcpy(key, text, MASTER_KEY_SIZE);
    else if (e == ERR_OK)
        e = hex_decode(text, without_newline(text, len), key, MASTER_KEY_SIZE);
    sodium_memzero(text, PASSPHRASE_MAX);
    *given = e == ERR_OK;
    return e == ERR_OK
               ? e
               : detail_set(detail, ERR_CONFIG, "%s must hold 32 bytes, or 64 hexadecimal digits", variable);
}

static enum err read_distribution(struct ring *ring, int fd, struct detail *detail)
{
    size_t len;
    char *text = scratch(ring);
    struct key_pair *key = &ring->secrets->distribution;
    enum err e = ring_read_secret(fd, text, PASSPHRASE_MAX - 1, &len);
    if (e == ERR_OK) {
        text[without_newline(text, len)] = '\0';
        e = strkey_decode(STRKEY_SEED, text, key->seed);
    }
    sodium_memzero(text, PASSPHRASE_MAX);
    if (e != ERR_OK)
        return detail_set(
            detail, ERR_CONFIG, "DISTRIBUTION_ACCOUNT_PRIVATE_KEY must be a secret seed (S...)");
    crypto_sign_seed_keypair(ring->distribution.bytes, key->secret, key->seed);
    ring->secrets->has_distribution = true;
    return ERR_OK;
}

static enum err read_passphrase(struct ring *ring, int fd, struct detail *detail)
{
    size_t len;
    if (ring_read_secret(fd, ring->secrets->passphrase, PASSPHRASE_MAX, &len) != ERR_OK)
        return detail_set(
            detail, ERR_CONFIG, "the passphrase is unreadable or longer than %d bytes", PASSPHRASE_MAX);
    ring->secrets->passphrase_len = without_newline(ring->secrets->passphrase, len);
    if (ring->secrets->passphrase_len >= PASSPHRASE_MIN)
        return ERR_OK;
    return detail_set(detail, ERR_CONFIG,
        "the passphrase is shorter than %d bytes: who has a copy of the database could guess it",
        PASSPHRASE_MIN);
}

enum err ring_read(struct ring *ring, const struct keyd_secrets *from, struct detail *detail)
{
    struct ring_secrets *secrets = ring->secrets;
    const int *const fd = from->fd;
    enum err e = ERR_OK;
    if (fd[SECRET_MASTER_KEY] > 0)
        e = read_file_key(ring, fd[SECRET_MASTER_KEY], "MASTER_KEY_FILE", secrets->file_key,
            &secrets->has_file_key, detail);
    if (e == ERR_OK && fd[SECRET_OLD_KEY] > 0)
        e = read_file_key(
            ring, fd[SECRET_OLD_KEY], "OLD_MASTER_KEY_FILE", secrets->old_key, &secrets->has_old_key, detail);
    if (e == ERR_OK && fd[SECRET_DISTRIBUTION] > 0)
        e = read_distribution(ring, fd[SECRET_DISTRIBUTION], detail);
    if (e == ERR_OK && fd[SECRET_SEEDS] > 0)
        e = ring_read_seeds(ring, fd[SECRET_SEEDS], detail);
    if (e == ERR_OK && fd[SECRET_PASSPHRASE] > 0) /* last: the others use its memory as scratch */
        e = read_passphrase(ring, fd[SECRET_PASSPHRASE], detail);
    return e;
}
