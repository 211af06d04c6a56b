/*
 * cmocka, the headers that it needs before it, and how a test is written:
 *
 *     TEST(the_rule_that_it_guards)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 * The program runs its tests in the order of the file; main is in main.c, unless the program has its own. A
 * test may use `void **state`.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test that runs between two functions of cmocka's fixtures, of which each may be NULL. */
#define TEST_WITH(name, set_up, tear_down)                                                                   \
    static void name(void **state);                                                                          \
    __attribute__((constructor)) static void name##_is_a_test(void)                                          \
    {                                                                                                        \
        test_add(__LINE__, (struct CMUnitTest)cmocka_unit_test_setup_teardown(name, set_up, tear_down));     \
    }                                                                                                        \
    static void name(void **state)

/* Two functions between which runs each test that is not a TEST_WITH; each may be NULL. */
#define TEST_FIXTURE(set_up, tear_down)                                                                      \
    __attribute__((constructor)) static void tests_have_a_fixture(void)                                      \
    {                                                                                                        \
        test_each(set_up, tear_down);                                                                        \
    }

/* Two functions between which all tests of the program run. */
#define GROUP_FIXTURE(set_up, tear_down)                                                                     \
    __attribute__((constructor)) static void group_has_a_fixture(void)                                       \
    {                                                                                                        \
        test_group(set_up, tear_down);                                                                       \
    }

void test_add(int line, struct CMUnitTest test);
void test_each(CMFixtureFunction set_up, CMFixtureFunction tear_down);
void test_group(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* For a main of its own. Runs the tests; returns how many failed. */
int check_run(void);
/* Instead of check_run, where the tests cannot run. */
int check_skip(void);
