/*
 * Preloaded into a cmocka program: runs only the tests that match one of the patterns of DEFECT_ONLY (* and
 * ?), which are separated by spaces. The variables are removed at once, because processes that a test starts
 * are not cmocka programs.
 */
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static char *only;

__attribute__((constructor)) static void start(void)
{
    const char *patterns = getenv("DEFECT_ONLY");
    only = patterns == NULL ? NULL : strdup(patterns);
    unsetenv("LD_PRELOAD");
    unsetenv("DEFECT_ONLY");
}

static int is_chosen(const char *name)
{
    char *rest = strdup(only), *all = rest;
    int found = 0;
    for (const char *pattern; !found && (pattern = strsep(&rest, " ")) != NULL;)
        found = fnmatch(pattern, name, 0) == 0;
    free(all);
    return found;
}

int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
    CMFixtureFunction setup, CMFixtureFunction teardown)
{
    int (*run)(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction, CMFixtureFunction) =
        dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    struct CMUnitTest *chosen = calloc(count, sizeof *chosen);
    size_t number = 0;
    for (size_t i = 0; i < count; i++)
        if (only == NULL || is_chosen(tests[i].name))
            chosen[number++] = tests[i];
    if (number == 0)
        fprintf(stderr, "%s: no test matches %s\n", group, only);
    return number == 0 ? 0 : run(group, chosen, number, setup, teardown);
}
