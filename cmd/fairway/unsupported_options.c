#include "unsupported_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

static const char *const key_services[] = {"DISTRIBUTION_ACCOUNT_SIGNATURE_PROVIDER",
    "CHANNEL_ACCOUNT_SIGNATURE_PROVIDER", "KMS_KEY_ARN", "AWS_REGION"};
static const char *const others[] = {"DB_MAX_CONNS", "DB_MIN_CONNS", "DB_MAX_CONN_LIFETIME",
    "DB_MAX_CONN_IDLE_TIME", "GRAPHQL_COMPLEXITY_LIMIT", "INGEST_SERVER_PORT", "START_LEDGER", "END_LEDGER",
    "GET_LEDGERS_LIMIT", "SERVER_BASE_URL", "TRACKER_DSN", "STELLAR_ENVIRONMENT"};

static void add(struct buf *names, const char *name, size_t len)
{
    if (names->len > 0)
        buf_add(names, " ", 1);
    buf_add(names, name, len);
}

/* The value ENV of a signature provider means keys from the environment, as fairway has them: not named. */
static void add_set(struct buf *names, const char *const list[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = getenv(list[i]);
        if (value != NULL && value[0] != '\0' && !text_equal(value, "ENV"))
            add(names, list[i], strlen(list[i]));
    }
}

/* Adds every variable that begins with CHANNEL_ACCOUNT_ and contains KMS. */
static void add_channel_account_kms(struct buf *names)
{
    for (char **variable = environ; *variable != NULL; variable++) {
        const size_t len = strcspn(*variable, "=");
        const char *kms = strstr(*variable, "KMS");
        if (text_starts(*variable, "CHANNEL_ACCOUNT_") && kms != NULL && kms < *variable + len)
            add(names, *variable, len);
    }
}

void unsupported_options_warn(void)
{
    struct buf keys CLEANUP(buf_free) = {0}, rest CLEANUP(buf_free) = {0};
    add_set(&keys, key_services, ARRAY_LEN(key_services));
    add_channel_account_kms(&keys);
    add_set(&rest, others, ARRAY_LEN(others));
    if (keys.len + rest.len == 0)
        return;
    buf_add(&keys, "", 1);
    buf_add(&rest, "", 1);
    log_warn("options of wallet-backend that fairway does not have are set; they have no effect",
        "key_service=\"%s\" other=\"%s\"", (const char *)keys.data, (const char *)rest.data);
}
