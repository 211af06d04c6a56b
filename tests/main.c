/* The main of a test program: it runs the tests that TEST_THAT (check.h) has added before. */
#include <assert.h>
#include <errno.h>

#include "check.h"

static struct {
    int lines[200];
    struct CMUnitTest tests[200];
    size_t count;
    CMFixtureFunction set_up, tear_down;
} group;

/* Compilers do not keep the order of constructors. */
void test_add(int line, struct CMUnitTest test)
{
    size_t at = group.count++;
    assert(at < sizeof group.tests / sizeof *group.tests);
    for (; at > 0 && group.lines[at - 1] > line; at--) {
        group.lines[at] = group.lines[at - 1];
        group.tests[at] = group.tests[at - 1];
    }
    group.lines[at] = line;
    group.tests[at] = test;
}

void test_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    group.set_up = set_up;
    group.tear_down = tear_down;
}

int tests_run(void)
{
    return _cmocka_run_group_tests(
        program_invocation_name, group.tests, group.count, group.set_up, group.tear_down);
}

__attribute__((weak)) int main(void)
{
    return tests_run();
}
