/* Confines fairway, step by step. The rules are in confine_files.c and confine_calls.c, never here. */
#include "sandbox/confine.h"

#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "confine_parts.h"

static enum err failed(struct detail *detail, const char *what)
{
    return detail_set(detail, ERR_CONFIG, "sandbox: cannot %s: %s", what, strerror(errno));
}

void confine_hide(void)
{
    const struct rlimit none = {0, 0};
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
}

/* True unless /proc says that there are more. Some sanitizers have a thread of their own. */
static bool is_one_thread(void)
{
#ifdef FAIRWAY_SANITIZED
    return true;
#endif
    unsigned threads = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;)
        threads += entry->d_name[0] != '.';
    if (tasks != NULL)
        closedir(tasks);
    return threads <= 1;
}

/*
 * Without CAP_SETPCAP the bounding set stays; it is then of no use, because no new privileges are given. A
 * process that holds no capability makes no call to drop them: a service manager may refuse the call.
 */
static enum err drop_capabilities(struct detail *detail)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2] = {0}, none[2] = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failed(detail, "forbid new privileges");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    if (syscall(SYS_capget, &header, held) != 0)
        return failed(detail, "drop capabilities");
    if (memcmp(held, none, sizeof none) != 0 && syscall(SYS_capset, &header, none) != 0)
        return failed(detail, "drop capabilities");
    return ERR_OK;
}

enum err confine_enter(const struct confine_settings *settings, int *landlock, struct detail *detail)
{
    enum err e;
    if (!is_one_thread())
        return detail_set(
            detail, ERR_INTERNAL, "sandbox: a process that has more than one thread cannot be confined");
    tzset(); /* reads the time zone file, wherever that is */
    confine_hide();
    if (prctl(PR_GET_DUMPABLE) != 0)
        return failed(detail, "turn off core dumps");
    if ((e = drop_capabilities(detail)) != ERR_OK ||
        (e = confine_files(settings, landlock, detail)) != ERR_OK)
        return e;
    return confine_calls(settings->keyd_pidfd, detail);
}
