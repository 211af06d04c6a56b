/* Rules of embed.sh: files are embedded byte for byte, in order, and a wrong name fails the build. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "db/migrate.h"
#include "embedded.h"

static char folder[] = "/tmp/fairway-embed-XXXXXX";

static int make_folder(void **state)
{
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    AUTO_FREE char *command = mem_format("rm -rf '%s'", folder);
    return system(command);
}

static void put(const char *name, const char *data, size_t len)
{
    AUTO_FREE char *path = mem_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* Runs embed.sh on a folder with the named files of this one (separated by spaces), with its output in out.c.
 * Returns its exit code. */
static int embed(const char *files)
{
    AUTO_FREE char *command =
        mem_format("here=$PWD; cd '%s' && rm -rf in && mkdir -p in/functions && for f in %s;"
                   " do case $f in f_*) cp $f in/functions ;; *) cp $f in ;; esac; done;"
                   " sh \"$here/src/db/embed.sh\" in >out.c 2>err",
            folder, files);
    return WEXITSTATUS(system(command));
}

/* Reads the array of the first migration: its bytes and the terminator. */
static size_t read_array(uint8_t out[], size_t size)
{
    AUTO_FREE char *path = mem_format("%s/out.c", folder);
    char line[256];
    size_t len = 0;
    bool inside = false;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        for (char *at = line, *end; inside && len < size; at = end + strspn(end, ", \n")) {
            unsigned long byte = strtoul(at, &end, 10);
            if (end == at)
                break;
            out[len++] = (uint8_t)byte;
        }
        inside = strstr(line, "migrations_1[]") != NULL || (inside && strchr(line, '}') == NULL);
    }
    fclose(file);
    return len;
}

TEST(every_byte_is_embedded)
{
    char all[3 * 255];
    uint8_t out[sizeof all + 1];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)(1 + i / 3); /* with repeated lines, which od would fold */
    put("0001_all.sql", all, sizeof all);
    assert_int_equal(embed("0001_all.sql"), 0);
    assert_int_equal(read_array(out, sizeof out), sizeof out);
    assert_memory_equal(out, all, sizeof all);
    assert_int_equal(out[sizeof all], 0);
}

TEST(an_empty_file_is_an_empty_text)
{
    uint8_t out[4];
    put("0001_empty.sql", "", 0);
    assert_int_equal(embed("0001_empty.sql"), 0);
    assert_int_equal(read_array(out, sizeof out), 1);
}

TEST(the_generated_source_compiles_and_has_the_count)
{
    put("0001_a.sql", "SELECT 1;\n", 10);
    put("0002_b.sql", "SELECT 2;\n", 10);
    put("f_one.sql", "SELECT 3;\n", 10);
    static const struct {
        const char *files, *table;
        int count;
    } cases[] = {{"0001_a.sql 0002_b.sql", "migrations", 2}, {"", "migrations", 0},
        {"f_one.sql 0001_a.sql", "functions", 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(embed(cases[i].files), 0);
        AUTO_FREE char *command = mem_format(
            "echo '_Static_assert(sizeof %s / sizeof %s[0] == %d + 1, \"\");' >>'%s/out.c' &&"
            " ${CC:-cc} -std=c17 -Wall -Werror -pedantic -Iinclude -Isrc/db -c -o /dev/null '%s/out.c'",
            cases[i].table, cases[i].table, cases[i].count, folder, folder);
        assert_int_equal(system(command), 0);
    }
}

TEST(a_wrong_number_or_name_stops_the_build)
{
    static const char *const bad[] = {"0002_b.sql", "0001_a.sql 0003_c.sql", "0001_a.sql 0001_b.sql",
        "1_a.sql", "0001.sql", "0001_.sql", "a.sql"};
    static const char *const names[] = {
        "0001_a.sql", "0001_b.sql", "0002_b.sql", "0003_c.sql", "1_a.sql", "0001.sql", "0001_.sql", "a.sql"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        put(names[i], "SELECT 1", 8);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(embed(bad[i]), 1);
}

static void check_files(const char *pattern, const struct embedded_sql files[], size_t count)
{
    assert_true(count >= 1);
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *path = mem_format("%s/%s.sql", pattern, files[i].name);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        size_t len = strlen(files[i].sql);
        AUTO_FREE char *text = NEW_ARRAY(len + 2, char);
        assert_int_equal(fread(text, 1, len + 1, file), len);
        assert_string_equal(text, files[i].sql);
        fclose(file);
    }
}

TEST(this_binary_has_its_files)
{
    check_files("migrations", embedded_schema.migrations, embedded_schema.migration_count);
    check_files("migrations/functions", embedded_schema.functions, embedded_schema.function_count);
}

GROUP_FIXTURE(make_folder, remove_folder)
