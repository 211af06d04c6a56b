/* cmocka, and the headers that it needs before it. */
#ifndef FAIRWAY_TESTS_CHECK_H
#define FAIRWAY_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
