/* Rules of params.h, byte by byte: the binary formats of PostgreSQL's *_recv functions. */
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "check.h"
#include "params.h"

#define ASSERT_VALUE(params, i, bytes)                                                                       \
    do {                                                                                                     \
        assert_int_equal((params).lengths[i], sizeof(bytes) - 1);                                            \
        assert_non_null((params).values[i]);                                                                 \
        assert_memory_equal((params).values[i], bytes, sizeof(bytes) - 1);                                   \
        assert_int_equal((params).formats[i], 1);                                                            \
    } while (0)

TEST(scalars_are_big_endian_and_typed)
{
    struct params params CLEANUP(params_free) = {0};
    const struct db_param from[] = {DB_I64(-2), DB_I32(258), DB_BOOL(true), DB_BOOL(false), DB_TEXT("ab"),
        DB_BYTEA(((struct bytes){(const uint8_t *)"\0\xff", 2}))};
    const uint32_t types[] = {20, 23, 16, 16, 25, 17};
    params_encode(&params, from, 6);
    assert_int_equal(params.count, 6);
    assert_memory_equal(params.types, types, sizeof types);
    ASSERT_VALUE(params, 0, "\xff\xff\xff\xff\xff\xff\xff\xfe");
    ASSERT_VALUE(params, 1, "\0\0\1\2");
    ASSERT_VALUE(params, 2, "\1");
    ASSERT_VALUE(params, 3, "\0");
    ASSERT_VALUE(params, 4, "ab");
    ASSERT_VALUE(params, 5, "\0\xff");
}

TEST(null_has_no_value_and_empty_has_one)
{
    struct params params CLEANUP(params_free) = {0};
    const struct db_param from[] = {DB_BYTEA(((struct bytes){(const uint8_t *)"", 0})), DB_TEXT(""), DB_NONE,
        DB_TEXT(NULL), DB_BYTEA((struct bytes){0})};
    params_encode(&params, from, 5);
    ASSERT_VALUE(params, 0, "");
    ASSERT_VALUE(params, 1, "");
    for (int i = 2; i < 5; i++)
        assert_null(params.values[i]);
    assert_int_equal(params.types[2], 0);
    assert_int_equal(params.types[3], 25);
    assert_int_equal(params.types[4], 17);
}

TEST(arrays_state_dimension_nulls_and_item_type)
{
    struct params params CLEANUP(params_free) = {0};
    const int64_t longs[] = {1};
    const char *const texts[] = {"a", NULL};
    const struct bytes byteas[] = {{NULL, 0}, {(const uint8_t *)"", 0}};
    const struct db_param from[] = {DB_I64S(longs, 1), DB_TEXTS(texts, 2), DB_BYTEAS(byteas, 2)};
    const uint32_t types[] = {1016, 1009, 1001};
    params_encode(&params, from, 3);
    assert_memory_equal(params.types, types, sizeof types);
    /*                 dimensions | any NULL  | item type   | length    | bound     | items */
    ASSERT_VALUE(params, 0,
        "\0\0\0\1"
        "\0\0\0\0"
        "\0\0\0\x14"
        "\0\0\0\1"
        "\0\0\0\1"
        "\0\0\0\x8"
        "\0\0\0\0\0\0\0\1");
    ASSERT_VALUE(params, 1,
        "\0\0\0\1"
        "\0\0\0\1"
        "\0\0\0\x19"
        "\0\0\0\2"
        "\0\0\0\1"
        "\0\0\0\1"
        "a"
        "\xff\xff\xff\xff");
    ASSERT_VALUE(params, 2,
        "\0\0\0\1"
        "\0\0\0\1"
        "\0\0\0\x11"
        "\0\0\0\2"
        "\0\0\0\1"
        "\xff\xff\xff\xff"
        "\0\0\0\0");
}

TEST(an_empty_array_has_no_dimension)
{
    struct params params CLEANUP(params_free) = {0};
    const struct db_param from = DB_I64S(NULL, 0);
    params_encode(&params, &from, 1);
    ASSERT_VALUE(params, 0,
        "\0\0\0\0"
        "\0\0\0\0"
        "\0\0\0\x14");
}

TEST(storage_is_reused)
{
    struct params params CLEANUP(params_free) = {0};
    const struct db_param first = DB_TEXT("a long text, which is the first"), second = DB_TEXT("second");
    params_encode(&params, &first, 1);
    params_encode(&params, &second, 1);
    ASSERT_VALUE(params, 0, "second");
}

TEST(more_than_the_maximum_ends_the_process)
{
    static struct params params;
    static const struct db_param from[DB_PARAMS_MAX + 1];
    params_encode(&params, from, DB_PARAMS_MAX);
    params_free(&params);
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        params_encode(&params, from, DB_PARAMS_MAX + 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), EX_SOFTWARE);
}
