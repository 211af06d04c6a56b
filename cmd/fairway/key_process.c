/* Starts the key process and has it load its keys. Passes on descriptors of secrets and never reads one
 * (keys/secrets.h). */
#include "start.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "keys/secrets.h"
#include "pool/master_keys.h"
#include "pool/network.h"

/* KEYD, or fairway-keyd in the directory of this program. */
static char *keyd_path(const struct config *config)
{
    char self[PATH_MAX] = "";
    const char *given = config_text(config, "KEYD");
    if (given != NULL)
        return mem_copy_text(given);
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = len > 0 ? strrchr(self, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    return mem_format("%s/fairway-keyd", self);
}

enum err key_process_start(
    const struct config *config, enum keyd_mode mode, struct pool_access *out, struct detail *detail)
{
    AUTO_FREE char *program = keyd_path(config);
    struct keyd_secrets secrets;
    enum err e = secrets_open(&secrets, detail);
    if (e == ERR_OK && mode == KEYD_IMPORT)
        e = secrets_take_input(&secrets.fd[SECRET_SEEDS], detail);
    return e != ERR_OK ? e : keyd_start(program, mode, &out->limits, &secrets, &out->keyd, detail);
}

/* A step that may run again after an error: it repeats an earlier try, or continues from it. */
struct loading {
    struct pool_access *out;
    int64_t deadline_ms;
    bool loaded; /* keyd accepts its keys only once */
    bool seals;  /* this command may seal seeds under a key file that the table does not have yet */
    bool stores; /* the current master key is not in the table, and this process adds it */
};

static enum err load_keyd(struct loading *loading, struct detail *detail)
{
    struct pool_access *out = loading->out;
    bool is_new = false;
    enum err e = master_keys_read(out->db, out->keys, &out->key_count, detail);
    if (e == ERR_OK)
        e = keyd_load(
            out->keyd, out->keys, out->key_count, &out->current_key, &is_new, &out->distribution, detail);
    if (e != ERR_OK)
        return e;
    out->limits.limits.distribution = out->distribution;
    loading->loaded = true;
    loading->stores = is_new && (loading->seals || out->current_key.derived || out->key_count == 0);
    if (is_new)
        out->keys[out->key_count++] = out->current_key;
    /* A rotation may make the old key the one that the pool needs, if the two files were given in the other
     * order. */
    const struct master_key_row *old = keyd_old_key(out->keyd);
    if (old != NULL && !master_keys_have(out->keys, out->key_count, old->key_id))
        out->keys[out->key_count++] = *old;
    return ERR_OK;
}

/* The key's row is stored before the first seed is sealed under it. */
static enum err try_load_keys(void *context, struct detail *detail)
{
    struct loading *loading = context;
    struct pool_access *out = loading->out;
    enum err e = master_keys_lock(out->db, (unsigned)clock_left_ms(loading->deadline_ms) / 1000, detail);
    if (e == ERR_OK && !loading->loaded)
        e = load_keyd(loading, detail);
    if (e == ERR_OK)
        e = network_bind(out->db, out->passphrase, &out->distribution, detail);
    if (e == ERR_OK && loading->stores)
        e = master_key_store(out->db, &out->current_key, out->keys, out->key_count, detail);
    db_disconnect(out->db); /* unlocks, also after an error: the next try locks again */
    return e;
}

/* Only what seals seeds now stores a new key file beside older keys: replicas that lack it cannot start then.
 */
enum err key_process_load(
    enum keyd_mode mode, struct pool_access *out, int64_t deadline_ms, struct detail *detail)
{
    struct loading loading = {
        .out = out, .deadline_ms = deadline_ms, .seals = mode == KEYD_PROVISION || mode == KEYD_IMPORT};
    enum err e = retry_until(try_load_keys, &loading, deadline_ms, detail);
    return e == ERR_CONSTRAINT ? ERR_NOT_YET : e; /* keyd loads keys once: start again */
}
