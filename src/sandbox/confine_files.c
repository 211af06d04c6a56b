/* Finds what a confined fairway may read. Nothing is ever allowed to be written. */
#include "confine_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "landlock.h"

struct rules {
    int fd;
    const struct secret_files *secrets;
    char *hidden[SECRET_FILES_MAX]; /* their real paths */
};

/* Everything that these directories hold is public on a system that fairway shares with others, except where
 * file modes say otherwise. Rules name inodes: a file that is replaced, as DHCP clients replace
 * /etc/resolv.conf, stays readable by the rule of its directory only. */
static const char *const system_directories[] = {"/etc", "/usr", "/lib", "/lib64"};
/* These may be links to elsewhere. */
static const char *const system_files[] = {
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/localtime", "/etc/ssl/certs",
    "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/openssl.cnf", "/dev/urandom",
#ifdef FAIRWAY_SANITIZED
    "/proc", /* sanitizers read their own memory map */
#endif
};
static const char *const variables[] = {"SSL_CERT_FILE", "SSL_CERT_DIR", "OPENSSL_CONF", "OPENSSL_MODULES"};
/* libpq's, in the home directory */
static const char *const home_files[] = {".pgpass", ".pg_service.conf", ".postgresql"};

static bool is_beneath(const char *path, const char *directory)
{
    const size_t len = text_equal(directory, "/") ? 0 : strlen(directory);
    return strncmp(path, directory, len) == 0 && path[len] == '/';
}

static void allow_tree(struct rules *rules, const char *path);

static void allow_entries(struct rules *rules, const char *directory)
{
    DIR *entries = opendir(directory);
    for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, "..") || entry->d_type == DT_LNK)
            continue;
        AUTO_FREE char *path =
            mem_format("%s/%s", text_equal(directory, "/") ? "" : directory, entry->d_name);
        allow_tree(rules, path);
    }
    if (entries != NULL)
        closedir(entries);
}

/* path is a real path. Allows it and what is beneath it, except secret files. */
static void allow_tree(struct rules *rules, const char *path)
{
    for (size_t i = 0; i < rules->secrets->count; i++) {
        if (text_equal(path, rules->hidden[i]))
            return;
        if (rules->hidden[i] != NULL && is_beneath(rules->hidden[i], path)) {
            allow_entries(rules, path);
            return;
        }
    }
    landlock_allow_read(rules->fd, path);
}

/* path: absolute or not, and possibly a link. Allows what it leads to. */
static void allow_target(struct rules *rules, const char *path)
{
    char real[PATH_MAX];
    if (path != NULL && path[0] != '\0' && realpath(path, real) != NULL)
        allow_tree(rules, real);
}

/*
 * As allow_target. A file behind a link may be replaced: Kubernetes switches a link between the mounted link
 * and the file, in the same directory; a resolver replaces the file that /etc/resolv.conf links to. So one
 * more directory is allowed: that of the link when the file is beneath it, else that of the file.
 */
static void allow_file(struct rules *rules, const char *path)
{
    char real[PATH_MAX], parent[PATH_MAX];
    struct stat link, file;
    allow_target(rules, path);
    if (path == NULL || lstat(path, &link) != 0 || !S_ISLNK(link.st_mode) || stat(path, &file) != 0 ||
        !S_ISREG(file.st_mode))
        return;
    AUTO_FREE char *copy = mem_copy_text(path);
    if (realpath(path, real) == NULL || realpath(dirname(copy), parent) == NULL)
        return;
    allow_tree(rules, !text_equal(parent, "/") && is_beneath(real, parent) ? parent : dirname(real));
}

/* Where glibc looks for the modules that it loads late, for example for name resolution. */
static int allow_library(struct dl_phdr_info *library, size_t size, void *context)
{
    (void)size;
    AUTO_FREE char *path = mem_copy_text(library->dlpi_name);
    if (path[0] == '/')
        allow_target(context, dirname(path));
    return 0;
}

static void allow_home(struct rules *rules, const char *home)
{
    for (size_t i = 0; home != NULL && i < ARRAY_LEN(home_files); i++) {
        AUTO_FREE char *path = mem_format("%s/%s", home, home_files[i]);
        allow_target(rules, path); /* allow_file would open the whole home directory for a link */
    }
}

static void allow_all(struct rules *rules, const struct confine_settings *settings)
{
    const struct passwd *user = getpwuid(geteuid());
    for (size_t i = 0; i < ARRAY_LEN(system_directories); i++)
        allow_target(rules, system_directories[i]);
    for (size_t i = 0; i < ARRAY_LEN(system_files); i++)
        allow_file(rules, system_files[i]);
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        allow_file(rules, getenv(variables[i]));
    dl_iterate_phdr(allow_library, rules);
    allow_home(rules, getenv("HOME"));
    allow_home(rules, user != NULL ? user->pw_dir : NULL);
    for (size_t i = 0; i < settings->file_count; i++)
        allow_file(rules, settings->files[i]);
}

/* A hard link or a second mount of a secret file is not found by its path. */
static enum err check_hidden(const struct secret_files *secrets, struct detail *detail)
{
    for (size_t i = 0; i < secrets->count; i++) {
        int fd = open(secrets->paths[i], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
            continue;
        close(fd);
        return detail_set(detail, ERR_CONFIG,
            "%s: %s can still be read by another path (a hard link or a second mount) in a directory that"
            " fairway needs: move it",
            secrets->variables[i], secrets->paths[i]);
    }
    return ERR_OK;
}

enum err confine_files(const struct confine_settings *settings, int *landlock, struct detail *detail)
{
    struct rules rules = {.secrets = &settings->secrets};
    *landlock = landlock_version();
    if (*landlock == 0)
        return ERR_OK;
    rules.fd = landlock_rules(*landlock,
        settings->abstract_sockets ? LANDLOCK_DENY_FILES : LANDLOCK_DENY_FILES | LANDLOCK_DENY_ABSTRACT);
    if (rules.fd < 0)
        return detail_set(detail, ERR_CONFIG, "sandbox: cannot set up Landlock: %s", strerror(errno));
    for (size_t i = 0; i < rules.secrets->count; i++)
        rules.hidden[i] = realpath(rules.secrets->paths[i], NULL);
    allow_all(&rules, settings);
    for (size_t i = 0; i < rules.secrets->count; i++)
        free(rules.hidden[i]);
    enum err e = landlock_restrict(rules.fd, detail);
    return e == ERR_OK ? check_hidden(rules.secrets, detail) : e;
}
