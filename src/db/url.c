/* Checks the parameters of a URL before libpq sees them. It never connects. */
#include "url.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static bool is_parameter(const char *name, size_t len)
{
    PQconninfoOption *defaults = PQconndefaults();
    bool found = len == 3 && memcmp(name, "ssl", 3) == 0; /* libpq accepts ssl=true as JDBC does */
    for (const PQconninfoOption *option = defaults; option != NULL && option->keyword != NULL; option++)
        found |= strlen(option->keyword) == len && memcmp(option->keyword, name, len) == 0;
    PQconninfoFree(defaults);
    return found;
}

/* Returns the name of the first parameter of a URI that libpq does not know, or NULL. NULL also when an '@'
 * follows the '?': the name may then be a part of the password. */
static const char *unknown_parameter(const char *url, size_t *len)
{
    const char *name = strchr(url, '?');
    if ((!text_starts(url, "postgresql://") && !text_starts(url, "postgres://")) || name == NULL ||
        strchr(name, '@') != NULL)
        return NULL;
    for (; name != NULL; name = strchr(name, '&')) {
        *len = strcspn(++name, "=&");
        if (!is_parameter(name, *len))
            return name;
    }
    return NULL;
}

/* libpq's own message quotes the URL, so it is not used. */
enum err url_check(const char *url, struct detail *detail)
{
    char *message = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &message);
    const bool ok = options != NULL;
    size_t len = 0;
    PQfreemem(message);
    PQconninfoFree(options);
    if (ok)
        return ERR_OK;
    const char *name = unknown_parameter(url, &len);
    if (name != NULL)
        return detail_set(detail, ERR_CONFIG,
            "the database URL has the parameter \"%.*s\", which libpq does not know: remove it%s",
            (int)(len < 40 ? len : 40), name,
            len == strlen("search_path") && memcmp(name, "search_path", len) == 0
                ? " (fairway's tables are always in the schema fairway)"
                : "");
    return detail_set(detail, ERR_CONFIG,
        "the database URL is malformed (reserved characters in user and password must be percent-encoded)");
}
