#include "keys/keyd.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "spawn.h"
#include "wire.h"

/* A batch takes milliseconds; a key process that needs longer is stuck. Loading may derive a key per row. */
#define CALL_MS 5000
#define LOAD_MS 30000
#define ANSWER_MAX (8u << 20)

struct keyd {
    int fd, pidfd;
    pid_t pid;
    pthread_mutex_t mutex;
    bool dead; /* an answer was lost: what comes next on the socket could be an answer to something else */
    struct buf request, answer;
};

enum err keyd_start(const char *program, enum keyd_mode mode, const struct keyd_secrets *secrets,
    struct keyd **out, struct detail *detail)
{
    struct spawned child;
    enum err e = spawn_keyd(program, mode, secrets, &child, detail);
    if (e != ERR_OK)
        return e;
    struct keyd *keyd = NEW(struct keyd);
    keyd->fd = child.fd;
    keyd->pid = child.pid;
    keyd->pidfd = child.pidfd;
    pthread_mutex_init(&keyd->mutex, NULL);
    *out = keyd;
    return ERR_OK;
}

/* One request and its answer; the caller holds the mutex and reads keyd->answer. */
static enum err exchange(struct keyd *keyd, enum wire_type type, int timeout_ms)
{
    uint32_t answered;
    int64_t deadline_ms = clock_ms() + timeout_ms;
    if (keyd->dead || keyd->request.len > WIRE_PAYLOAD_MAX)
        return ERR_KEYD_UNAVAILABLE;
    keyd->dead = !wire_write(keyd->fd, type, buf_bytes(&keyd->request), deadline_ms) ||
                 wire_read(keyd->fd, &answered, &keyd->answer, ANSWER_MAX, deadline_ms) != WIRE_READ ||
                 answered != type;
    return keyd->dead ? ERR_KEYD_UNAVAILABLE : ERR_OK;
}

/* The start of a call, with an empty request; call_end gives the mutex back. An answer of another shape ends
 * the connection. */
static struct buf *call_begin(struct keyd *keyd)
{
    pthread_mutex_lock(&keyd->mutex);
    buf_clear(&keyd->request);
    return &keyd->request;
}

static enum err call_end(struct keyd *keyd, enum err e)
{
    if (e != ERR_OK)
        keyd->dead = true;
    pthread_mutex_unlock(&keyd->mutex);
    return e == ERR_OK ? ERR_OK : ERR_KEYD_UNAVAILABLE;
}

static void put_settings(struct buf *out, const struct keyd_settings *settings)
{
    const struct public_key none = {0};
    buf_add(out, settings->network.bytes, sizeof settings->network.bytes);
    buf_add_u32(out, settings->distribution != NULL);
    buf_add(
        out, settings->distribution != NULL ? settings->distribution->bytes : none.bytes, sizeof none.bytes);
    buf_add_u32(out, settings->limits.base_fee_stroops);
    buf_add_u64(out, (uint64_t)settings->limits.max_resource_fee_stroops);
    buf_add_u64(out, (uint64_t)settings->max_lease_fee_stroops);
    buf_add_u64(out, (uint64_t)settings->max_bump_fee_stroops);
}

/* A key process that refused its secrets has ended by itself, and said why in its log. */
static bool refused_to_start(struct keyd *keyd)
{
    int status;
    for (int tries = 0; tries < 20; tries++) {
        if (waitpid(keyd->pid, &status, WNOHANG) == keyd->pid) {
            keyd->pid = -1;
            return WIFEXITED(status) && WEXITSTATUS(status) == EX_CONFIG;
        }
        clock_sleep_ms(10);
    }
    return false;
}

enum err keyd_load(struct keyd *keyd, const struct keyd_settings *settings,
    const struct master_key_row rows[], size_t row_count, struct master_key_row *current, bool *is_new,
    struct public_key *distribution, struct detail *detail)
{
    uint32_t result = ERR_OK;
    struct buf *request = call_begin(keyd);
    put_settings(request, settings);
    buf_add_u32(request, (uint32_t)row_count);
    for (size_t i = 0; i < row_count; i++)
        wire_put_row(request, &rows[i]);
    enum err e = exchange(keyd, WIRE_LOAD, LOAD_MS);
    struct xdr_reader answer = xdr_reader(buf_bytes(&keyd->answer));
    bool refused = e != ERR_OK && refused_to_start(keyd);
    if (e != ERR_OK || (e = xdr_u32(&answer, &result)) != ERR_OK ||
        (e = wire_get_detail(&answer, detail)) != ERR_OK || (e = wire_get_row(&answer, current)) != ERR_OK ||
        (e = xdr_bool(&answer, is_new)) != ERR_OK ||
        (e = xdr_opaque(&answer, distribution->bytes, sizeof distribution->bytes)) != ERR_OK)
        result = ERR_KEYD_UNAVAILABLE;
    if (call_end(keyd, e) != ERR_OK)
        return refused ? detail_set(detail, ERR_CONFIG,
                             "the key process refused its secrets; its own log line says why")
                       : detail_set(detail, ERR_KEYD_UNAVAILABLE, "the key process does not answer");
    return (enum err)result;
}

enum err keyd_generate(struct keyd *keyd, size_t count, struct generated_key out[])
{
    buf_add_u32(call_begin(keyd), (uint32_t)count);
    enum err e = exchange(keyd, WIRE_GENERATE, CALL_MS);
    struct xdr_reader answer = xdr_reader(buf_bytes(&keyd->answer));
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        if ((e = xdr_opaque(&answer, out[i].public_key.bytes, sizeof out[i].public_key.bytes)) == ERR_OK)
            e = wire_get_sealed(&answer, &out[i].sealed);
    return call_end(keyd, e);
}

static enum err read_lease(struct xdr_reader *answer, struct lease_signing *item)
{
    uint32_t result;
    enum err e;
    if ((e = xdr_u32(answer, &result)) != ERR_OK ||
        (e = xdr_opaque(answer, item->hash.bytes, sizeof item->hash.bytes)) != ERR_OK)
        return e;
    item->result = (enum err)result;
    return xdr_opaque(answer, item->signature.bytes, sizeof item->signature.bytes);
}

enum err keyd_sign_leases(struct keyd *keyd, uint64_t now_s, struct lease_signing items[], size_t count)
{
    struct buf *request = call_begin(keyd);
    buf_add_u64(request, now_s);
    buf_add_u32(request, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buf_add(request, items[i].signer.bytes, sizeof items[i].signer.bytes);
        wire_put_sealed(request, &items[i].sealed);
        wire_put_bytes(request, items[i].transaction);
    }
    enum err e = exchange(keyd, WIRE_LEASES, CALL_MS);
    struct xdr_reader answer = xdr_reader(buf_bytes(&keyd->answer));
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = read_lease(&answer, &items[i]);
    return call_end(keyd, e);
}

/* The common end of fee bumps and templates: result, detail, hash, envelope. */
static enum err finish_signed(
    struct keyd *keyd, enum wire_type type, struct buf *envelope, struct hash *hash, struct detail *detail)
{
    uint32_t result = ERR_OK;
    struct bytes signed_envelope = {0};
    enum err e = exchange(keyd, type, CALL_MS);
    struct xdr_reader answer = xdr_reader(buf_bytes(&keyd->answer));
    if (e == ERR_OK && (e = xdr_u32(&answer, &result)) == ERR_OK &&
        (e = wire_get_detail(&answer, detail)) == ERR_OK &&
        (e = xdr_opaque(&answer, hash->bytes, sizeof hash->bytes)) == ERR_OK &&
        (e = wire_get_bytes(&answer, &signed_envelope)) == ERR_OK)
        buf_add_bytes(envelope, signed_envelope);
    if (call_end(keyd, e) != ERR_OK)
        return detail_set(detail, ERR_KEYD_UNAVAILABLE, "the key process does not answer");
    return (enum err)result;
}

enum err keyd_sign_fee_bump(struct keyd *keyd, struct bytes inner, const struct sealed_seed *sealed,
    int64_t fee_stroops, struct buf *envelope, struct hash *hash, struct detail *detail)
{
    struct buf *request = call_begin(keyd);
    buf_add_u64(request, (uint64_t)fee_stroops);
    wire_put_sealed(request, sealed);
    wire_put_bytes(request, inner);
    return finish_signed(keyd, WIRE_FEE_BUMP, envelope, hash, detail);
}

enum err keyd_sign_template(struct keyd *keyd, const struct template *template,
    const struct sealed_seed sealed[], struct buf *envelope, struct hash *hash, struct detail *detail)
{
    struct buf *request = call_begin(keyd);
    buf_add_u32(request, template->kind);
    buf_add_u64(request, (uint64_t) template->sequence);
    buf_add_u32(request, template->fee_stroops);
    buf_add_u64(request, template->max_time_s);
    buf_add_u32(request, (uint32_t) template->account_count);
    for (size_t i = 0; i < template->account_count; i++) {
        buf_add(request, template->accounts[i].bytes, sizeof template->accounts[i].bytes);
        wire_put_sealed(request, &sealed[i]);
    }
    return finish_signed(keyd, WIRE_TEMPLATE, envelope, hash, detail);
}

void keyd_stop(struct keyd *keyd)
{
    if (keyd == NULL)
        return;
    close(keyd->fd); /* ends it */
    if (keyd->pid > 0) {
        int64_t deadline_ms = clock_ms() + CALL_MS;
        while (waitpid(keyd->pid, NULL, WNOHANG) == 0) {
            if (clock_ms() > deadline_ms)
                kill(keyd->pid, SIGKILL); /* stopped, or stuck */
            clock_sleep_ms(5);
        }
    }
    if (keyd->pidfd >= 0)
        close(keyd->pidfd);
    pthread_mutex_destroy(&keyd->mutex);
    buf_free(&keyd->request);
    buf_free(&keyd->answer);
    free(keyd);
}

int keyd_pidfd(const struct keyd *keyd)
{
    return keyd->pidfd;
}
