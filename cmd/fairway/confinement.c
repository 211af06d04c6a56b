#include "confinement.h"

#include <libgen.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "database.h"
#include "db/url_files.h"
#include "keys/secrets.h"
#include "sandbox/confine.h"

enum {
    URLS = 2
};

static void log_report(const struct confine_report *report, enum log_level level)
{
    if (report->landlock == 0)
        log_warn("this kernel has no Landlock: a captured fairway can read the files of its user, also keys",
            NULL);
    log_line(level, "this process is confined",
        "landlock=%d readable_paths=%zu hidden_secrets=%zu system_calls=%s"
        " capabilities=none debuggers=refused",
        report->landlock, report->files, report->hidden, report->filter ? "filtered" : "all");
}

/* The file is read again, and editors replace it by another file of that name: a rule for the file would not
 * be one for its successor. */
static char *directory_of(const char *path)
{
    AUTO_FREE char *copy = mem_copy_text(path);
    return mem_copy_text(dirname(copy));
}

enum err confinement_enter(
    const struct config *config, int keyd_pidfd, enum log_level level, struct detail *detail)
{
    char *files[URLS * URL_FILES_MAX + 1];
    size_t count = 0;
    struct confine_report report;
    const char *const urls[URLS] = {config_text(config, "DATABASE_URL"), database_direct_url(config)};
    for (size_t i = 0; i < URLS; i++)
        if (urls[i] != NULL)
            count += url_files(urls[i], files + count);
    if (config_knows(config, "CLIENTS_FILE") && config_text(config, "CLIENTS_FILE") != NULL)
        files[count++] = directory_of(config_text(config, "CLIENTS_FILE"));
    const char *service_manager = getenv("NOTIFY_SOCKET");
    bool abstract = service_manager != NULL && service_manager[0] == '@';
    for (size_t i = 0; i < URLS; i++)
        abstract |= urls[i] != NULL && url_is_abstract(urls[i]);
    const struct confine_settings settings = {.files = (const char *const *)files,
        .file_count = count,
        .secrets = secrets_files(),
        .abstract_sockets = abstract,
        .keyd_pidfd = keyd_pidfd};
    enum err e = confine_enter(&settings, &report, detail);
    for (size_t i = 0; i < count; i++)
        free(files[i]);
    if (e == ERR_OK)
        log_report(&report, level);
    /* serve listens later, and then calls this itself */
    return e == ERR_OK && !config_knows(config, "PORT") ? confine_listening(detail) : e;
}
