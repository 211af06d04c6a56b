/* The main of a test program: it runs the tests that TEST (check.h) has added before. */
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

int check_run(
    CMFixtureFunction set_up, CMFixtureFunction tear_down, CMFixtureFunction start, CMFixtureFunction stop)
{
    for (size_t i = 0; i < group.count; i++)
        if (group.tests[i].setup_func == NULL && group.tests[i].teardown_func == NULL) {
            group.tests[i].setup_func = set_up;
            group.tests[i].teardown_func = tear_down;
        }
    return _cmocka_run_group_tests(program_invocation_name, group.tests, group.count, start, stop);
}

static void skipped(void **state)
{
    (void)state;
    skip();
}

int check_skip(void)
{
    group.count = 0;
    test_add(0, (struct CMUnitTest)cmocka_unit_test(skipped));
    return check_run(NULL, NULL, NULL, NULL);
}

__attribute__((weak)) int main(void)
{
    return check_run(NULL, NULL, group.set_up, group.tear_down);
}
