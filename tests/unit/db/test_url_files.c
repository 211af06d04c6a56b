/* Rules of db/url_files.h: a confined process is told of every file that libpq will read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "db/url_files.h"

static const char *const variables[] = {"PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGPASSFILE",
    "PGSSLCERT", "PGSSLKEY", "PGSSLROOTCERT", "PGSSLCRL", "PGSSLCRLDIR"};

static int clean_environment(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        unsetenv(variables[i]);
    return 0;
}

/* files: the expected paths, each followed by a space. */
static void expect(const char *url, const char *files)
{
    char *found[URL_FILES_MAX], text[512] = "";
    bool is_abstract;
    const size_t count = url_files(url, found, &is_abstract);
    for (size_t i = 0; i < count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", found[i]);
        free(found[i]);
    }
    assert_string_equal(text, files);
}

TEST_WITH(files_of_the_url_override_those_of_the_environment, clean_environment, NULL)
{
    setenv("PGSSLROOTCERT", "/e/root", 1);
    setenv("PGPASSFILE", "/e/pass", 1);
    expect("postgresql://u@h/d", "/e/pass /e/root ");
    expect("postgresql://u@h/d?sslrootcert=/u/root&sslcert=/u/cert&sslkey=/u/key&sslcrl=/u/crl&sslcrldir=/u/"
           "crls",
        "/e/pass /u/cert /u/key /u/root /u/crl /u/crls ");
    expect("host=h passfile='/u/a b'", "/u/a b /e/root ");
    setenv("PGSYSCONFDIR", "/s", 1);
    expect("postgresql://u@h/d", "/e/pass /e/root /s/pg_service.conf ");
}

TEST_WITH(files_that_a_service_names_are_found, clean_environment, NULL)
{
    char path[] = "/tmp/fairway-service-XXXXXX", files[128];
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fputs("[one]\nsslrootcert=/one/root\n[two]\npassfile=/two/pass\nsslrootcert=/two/root\n", file);
    fclose(file);
    setenv("PGSERVICEFILE", path, 1);
    snprintf(files, sizeof files, "/one/root %s ", path);
    expect("postgresql:///?service=one", files);
    snprintf(files, sizeof files, "/two/pass /two/root %s ", path);
    expect("service=two", files);
    setenv("PGSERVICE", "one", 1);
    expect("service=two", files);
    assert_string_equal(getenv("PGSERVICE"), "one");
    unsetenv("PGSERVICE");
    expect("service=two", files);
    assert_null(getenv("PGSERVICE"));
    snprintf(files, sizeof files, "%s ", path);
    expect("service=three", files);
    unlink(path);
}

TEST_WITH(a_malformed_url_names_no_file, clean_environment, NULL)
{
    expect("postgresql://u@h:port:port/d?sslcert", "");
}

static bool url_is_abstract(const char *url)
{
    char *found[URL_FILES_MAX];
    bool is_abstract;
    assert_int_equal(url_files(url, found, &is_abstract), 0);
    return is_abstract;
}

TEST_WITH(abstract_sockets_are_found, clean_environment, NULL)
{
    assert_true(url_is_abstract("postgresql:///d?host=@postgres"));
    assert_true(url_is_abstract("postgresql://%40postgres/d"));
    assert_true(url_is_abstract("host=db,@postgres"));
    assert_false(url_is_abstract("postgresql://u@h/d"));
    assert_false(url_is_abstract("postgresql:///d?host=/run/postgresql"));
    assert_false(url_is_abstract("postgresql:///d"));
    setenv("PGHOST", "@postgres", 1);
    assert_true(url_is_abstract("postgresql:///d"));
    assert_false(url_is_abstract("postgresql://h/d"));
    unsetenv("PGHOST");
}
