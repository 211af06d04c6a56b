/* The main of a test program: it runs the tests that TEST (check.h) has added before. */
#include <assert.h>
#include <errno.h>

#include "check.h"

static struct {
    int lines[200];
    struct CMUnitTest tests[200];
    size_t count;
    struct fixture {
        CMFixtureFunction set_up, tear_down;
    } each, all;
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

void test_each(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    group.each = (struct fixture){set_up, tear_down};
}

void test_group(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    group.all = (struct fixture){set_up, tear_down};
}

int check_run(void)
{
    for (size_t i = 0; i < group.count; i++)
        if (group.tests[i].setup_func == NULL && group.tests[i].teardown_func == NULL) {
            group.tests[i].setup_func = group.each.set_up;
            group.tests[i].teardown_func = group.each.tear_down;
        }
    return _cmocka_run_group_tests(
        program_invocation_name, group.tests, group.count, group.all.set_up, group.all.tear_down);
}

static void skipped(void **state)
{
    skip();
}

int check_skip(void)
{
    return _cmocka_run_group_tests(
        program_invocation_name, &(struct CMUnitTest)cmocka_unit_test(skipped), 1, NULL, NULL);
}

__attribute__((weak)) int main(void)
{
    return check_run();
}
