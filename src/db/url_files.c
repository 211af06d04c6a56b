/* The files that a URL makes libpq read. None is opened here. */
#include "db/url_files.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char *const keywords[] = {
    "passfile", "servicefile", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslcrldir"};

static const char *value_of(const PQconninfoOption *options, const char *keyword)
{
    for (const PQconninfoOption *option = options; option != NULL && option->keyword != NULL; option++)
        if (strcmp(option->keyword, keyword) == 0)
            return option->val != NULL && option->val[0] != '\0' ? option->val : NULL;
    return NULL;
}

/* What environment and service file say. libpq reads the service that a URL names only when it connects, but
 * the one of PGSERVICE at once. */
static PQconninfoOption *defaults_with(const char *service)
{
    const char *before = getenv("PGSERVICE");
    AUTO_FREE char *saved = before != NULL ? mem_copy_text(before) : NULL;
    if (service != NULL)
        setenv("PGSERVICE", service, 1);
    PQconninfoOption *defaults = PQconndefaults();
    if (saved != NULL)
        setenv("PGSERVICE", saved, 1);
    else
        unsetenv("PGSERVICE");
    return defaults;
}

/* A host of the list begins with '@'. */
static bool has_abstract_host(const char *hosts)
{
    return hosts != NULL && (hosts[0] == '@' || strstr(hosts, ",@") != NULL);
}

size_t url_files(const char *url, char *out[static URL_FILES_MAX], bool *is_abstract)
{
    PQconninfoOption *options = PQconninfoParse(url, NULL);
    PQconninfoOption *defaults = defaults_with(value_of(options, "service"));
    const char *service_file = getenv("PGSERVICEFILE"), *folder = getenv("PGSYSCONFDIR"),
               *hosts = value_of(options, "host");
    size_t count = 0;
    *is_abstract = has_abstract_host(hosts != NULL ? hosts : value_of(defaults, "host"));
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        const char *path = value_of(options, keywords[i]);
        path = path != NULL ? path : value_of(defaults, keywords[i]);
        if (path != NULL)
            out[count++] = mem_copy_text(path);
    }
    if (service_file != NULL)
        out[count++] = mem_copy_text(service_file);
    if (folder != NULL)
        out[count++] = mem_format("%s/pg_service.conf", folder);
    PQconninfoFree(options);
    PQconninfoFree(defaults);
    return count;
}
