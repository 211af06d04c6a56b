/* Confines a command: what its URL and its service manager need stays reachable, and nothing else does. The
 * walls themselves are in sandbox/confine. */
#include "start.h"

#include <libgen.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/text.h"
#include "db/url_files.h"
#include "ingest/ingest.h"
#include "keys/secrets.h"
#include "sandbox/confine.h"

static void log_confined(int landlock, enum log_level level)
{
    if (landlock == 0)
        log_warn("this kernel has no Landlock: a captured fairway can read the files of its user, also keys",
            NULL);
    log_line(level, "this process is confined",
        "landlock=%d system_calls=filtered capabilities=none debuggers=refused", landlock);
}

/* The file is read again, and editors replace it by another file of that name: a rule for the file would not
 * be one for its successor. But a home directory holds too much, and so does the root. */
static char *directory_of(const char *path)
{
    AUTO_FREE char *copy = mem_copy_text(path);
    const char *directory = dirname(copy);
    const bool is_large = text_equal(directory, getenv("HOME")) || text_equal(directory, "/");
    struct stat status; /* sslcrldir is a directory */
    const bool is_directory = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    return mem_copy_text(is_large || is_directory ? path : directory);
}

enum err confinement_enter(
    const struct config *config, int keyd_pidfd, enum log_level level, struct detail *detail)
{
    const char *const reread[] = {
        config_knows(config, "CLIENTS_FILE") ? config_text(config, "CLIENTS_FILE") : NULL,
        config_knows(config, "TRUSTED_VALIDATORS")
            ? ingest_validators_file(config_text(config, "TRUSTED_VALIDATORS"))
            : NULL,
        config_knows(config, "RPC_URL") ? config_text(config, "RPC_HEADERS_FILE") : NULL,
        config_knows(config, "RPC_URL") ? config_text(config, "RPC_CA_FILE") : NULL,
        getenv("DATABASE_URL_FILE")};
    char *files[URL_FILES_MAX + URL_FILES_MAX + ARRAY_LEN(reread)];
    int landlock;
    const char *url = config_text(config, "DATABASE_URL"), *service_manager = getenv("NOTIFY_SOCKET");
    bool abstract = false;
    size_t count = url != NULL ? url_files(url, files, &abstract) : 0;
    for (size_t i = count; i-- > 0;) /* beside the files, which may be links to elsewhere */
        files[count++] = directory_of(files[i]);
    for (size_t i = 0; i < ARRAY_LEN(reread); i++)
        if (reread[i] != NULL && reread[i][0] != '\0')
            files[count++] = directory_of(reread[i]);
    process_open();
    abstract |= service_manager != NULL && service_manager[0] == '@';
    const struct confine_settings settings = {.files = (const char *const *)files,
        .file_count = count,
        .secrets = secrets_files(),
        .abstract_sockets = abstract,
        .keyd_pidfd = keyd_pidfd};
    enum err e = confine_enter(&settings, &landlock, detail);
    for (size_t i = 0; i < count; i++)
        free(files[i]);
    if (e == ERR_OK)
        log_confined(landlock, level);
    /* serve listens later, and then calls this itself */
    return e == ERR_OK && !config_knows(config, "PORT") ? confine_listening(detail) : e;
}
