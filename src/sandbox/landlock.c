/* Calls of Landlock, for kernels of all versions. Which files and denials, is never decided here. */
#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 1 ? 0 : (int)version;
}

/* The rights are given as numbers because the headers of older Debian releases lack the later ones. */
int landlock_rules(int version, unsigned denials)
{
    static const uint64_t file_rights[] = {
        0, (1u << 13) - 1, (1u << 14) - 1, (1u << 15) - 1, (1u << 15) - 1, (1u << 16) - 1};
    const struct {
        uint64_t files, network, scopes;
    } denied = {
        .files = (denials & LANDLOCK_DENY_FILES) != 0 ? file_rights[version < 5 ? version : 5] : 0,
        .network = (denials & LANDLOCK_DENY_TCP) != 0 && version >= 4 ? 3 : 0,
        .scopes = version < 6 ? 0
                              : ((denials & LANDLOCK_DENY_ABSTRACT) != 0 ? 1u : 0) |
                                    ((denials & LANDLOCK_DENY_SIGNALS) != 0 ? 2u : 0),
    };
    const size_t size = version < 4 ? 8 : version < 6 ? 16 : 24;
    return (int)syscall(SYS_landlock_create_ruleset, &denied, size, 0u);
}

void landlock_allow_read(int rules, const char *path)
{
    struct stat status;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE, .parent_fd = fd};
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0u);
    close(fd);
}

enum err landlock_restrict(int rules, struct detail *detail)
{
    const bool restricted = syscall(SYS_landlock_restrict_self, rules, 0u) == 0;
    const int reason = errno;
    close(rules);
    return restricted
               ? ERR_OK
               : detail_set(detail, ERR_CONFIG, "sandbox: cannot apply Landlock: %s", strerror(reason));
}
