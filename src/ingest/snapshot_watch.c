#include "snapshot_watch.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "pool/oldest_snapshot.h"

#define EVERY_MS 10000
#define WARN_EVERY_MS 600000

static const char *remedy_of(const struct oldest_snapshot *snapshot)
{
    if (strcmp(snapshot->what, "session") == 0)
        return "end its transaction: pg_terminate_backend(pid)";
    if (strcmp(snapshot->what, "standby") == 0)
        return "end the long transactions on that standby";
    if (strcmp(snapshot->what, "replication slot") == 0)
        return "end the long transactions on its standby; drop the slot if the standby is gone";
    return "COMMIT PREPARED or ROLLBACK PREPARED";
}

static void judge(struct snapshot_watch *watch, const struct oldest_snapshot *snapshot)
{
    const int64_t now_ms = clock_ms();
    if (snapshot->age_s < SNAPSHOT_OLD_S) {
        if (watch->warn_ms != 0)
            log_info("vacuum can remove dead rows again: the old snapshot is gone", NULL);
        watch->warn_ms = 0;
    } else if (now_ms >= watch->warn_ms) {
        log_warn("an old snapshot prevents vacuum from removing dead rows; the table of accounts grows until "
                 "that snapshot ends",
            "holder=\"%s\" name=\"%s\" user=\"%s\" pid=%d age_s=%" PRId64 " remedy=\"%s\"", snapshot->what,
            snapshot->name, snapshot->user, snapshot->pid, snapshot->age_s, remedy_of(snapshot));
        watch->warn_ms = now_ms + WARN_EVERY_MS;
    }
}

enum err snapshot_watch_step(struct snapshot_watch *watch, struct db *db, struct detail *detail)
{
    struct oldest_snapshot snapshot;
    if (clock_ms() < watch->next_ms)
        return ERR_OK;
    watch->next_ms = clock_ms() + EVERY_MS;
    enum err e = oldest_snapshot_read(db, &snapshot, detail);
    if (e == ERR_OK)
        judge(watch, &snapshot);
    return e;
}
