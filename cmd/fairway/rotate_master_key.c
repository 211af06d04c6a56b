/* rotate-master-key: seals every seed of the database again, under the current master key. Needs both keys,
 * and the role that owns the tables. Serves nothing and leases nothing. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "commands.h"
#include "start.h"
#include "pool/role.h"
#include "provision/rotate.h"

static enum err check_role(struct db *db, struct detail *detail)
{
    bool may_write = false;
    enum err e = role_may_write(db, &may_write, detail);
    if (e != ERR_OK || may_write)
        return e;
    return detail_set(detail, ERR_CONFIG,
        "rotate-master-key needs the owner's role, as fairway migrate does: no other may change a sealed "
        "seed");
}

static enum err rotate(const struct config *config, const struct pool_access *access,
    struct rotate_result *result, struct detail *detail)
{
    enum err e = check_role(access->db, detail);
    if (e != ERR_OK)
        return e;
    return rotate_all(&(struct rotate_settings){.database_url = access->database_url,
                          .network = access->network,
                          .keyd = access->keyd,
                          .keys = access->keys,
                          .key_count = access->key_count,
                          .current = &access->current_key,
                          .timeout_s = (unsigned)config_number(config, "START_TIMEOUT"),
                          .poll_ms = pool_access_poll_ms(config)},
        result, detail);
}

int cmd_rotate_master_key(const struct config *config)
{
    struct pool_access access;
    struct detail detail = {0};
    struct rotate_result result = {0};
    int code = pool_access_open(config, KEYD_ROTATE, false, &access);
    if (code == EX_OK) {
        enum err e = rotate(config, &access, &result, &detail);
        if (e != ERR_OK)
            code = command_failed(e, &detail,
                e == ERR_CONFIG ? "cannot rotate"
                                : "some seeds may be sealed under the old master key: repeat the command");
        else if (result.broken > 0)
            printf("%zu of %" PRId64
                   " sealed seeds do not open: the database needs the old master key, and the"
                   " replicas need both keys\n",
                result.broken, result.accounts);
        else
            printf("%sall %" PRId64
                   " seeds are sealed under master key %s: the database needs no other key\n",
                result.had_ended ? "nothing to do: " : "", result.accounts, access.current_key.key_id);
        code = code == EX_OK && result.broken > 0 ? 1 : code;
    }
    pool_access_close(&access);
    return code;
}
