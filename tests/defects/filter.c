/*
 * Preloaded into a cmocka program: runs only the tests that match DEFECT_ONLY (* and ?). The symbol is weak,
 * and the variables are removed at once, because processes that a test starts are not cmocka programs.
 */
#include <stdlib.h>

__attribute__((weak)) void cmocka_set_test_filter(const char *pattern);

__attribute__((constructor)) static void filter(void)
{
    const char *only = getenv("DEFECT_ONLY");
    unsetenv("LD_PRELOAD");
    if (only != NULL && cmocka_set_test_filter != NULL)
        cmocka_set_test_filter(only);
}
