/*
 * The vectors of tests/stellar/vectors.mjs, from the file FAIRWAY_VECTORS or else from the script itself (run
 * from the root of the checkout). Without them the test fails.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "stellar/ids.h"

#define VECTOR_COLUMNS_MAX 32

struct vectors {
    FILE *in;
    bool pipe;
    char *line;
    size_t cap;
    char *columns[VECTOR_COLUMNS_MAX];
    size_t column;
};

static inline void vectors_open(struct vectors *vectors)
{
    const char *path = getenv("FAIRWAY_VECTORS");
    *vectors = (struct vectors){.pipe = path == NULL};
    vectors->in =
        path ? fopen(path, "r") : popen("tests/node_modules/.bin/node tests/stellar/vectors.mjs", "r");
    assert_non_null(vectors->in);
}

/* The next line whose first column is kind; false at the end. */
static inline bool vectors_next(struct vectors *vectors, const char *kind)
{
    ssize_t len;
    while ((len = getline(&vectors->line, &vectors->cap, vectors->in)) > 0) {
        vectors->line[strcspn(vectors->line, "\n")] = '\0';
        char *rest = vectors->line;
        size_t count = 0;
        while (rest != NULL && count < VECTOR_COLUMNS_MAX)
            vectors->columns[count++] = strsep(&rest, "\t");
        while (count < VECTOR_COLUMNS_MAX)
            vectors->columns[count++] = NULL;
        vectors->column = 1;
        if (strcmp(vectors->columns[0], kind) == 0)
            return true;
    }
    return false;
}

static inline void vectors_close(struct vectors *vectors)
{
    assert_int_equal(vectors->pipe ? pclose(vectors->in) : fclose(vectors->in), 0);
    free(vectors->line);
}

static inline const char *vector_text(struct vectors *vectors)
{
    const char *text = vectors->columns[vectors->column++];
    assert_non_null(text);
    return text;
}

static inline int64_t vector_i64(struct vectors *vectors)
{
    int64_t value;
    assert_int_equal(text_to_i64(vector_text(vectors), &value), ERR_OK);
    return value;
}

static inline struct public_key vector_key(struct vectors *vectors)
{
    struct public_key key;
    assert_int_equal(address_decode(vector_text(vectors), &key), ERR_OK);
    return key;
}

/* The caller frees it. */
static inline struct buf vector_bytes(struct vectors *vectors)
{
    struct buf out = {0};
    const char *text = vector_text(vectors);
    assert_int_equal(base64_decode(text, strlen(text), &out), ERR_OK);
    return out;
}

static inline struct hash vector_hash(struct vectors *vectors)
{
    CLEANUP(buf_free) struct buf bytes = vector_bytes(vectors);
    struct hash hash;
    assert_int_equal(bytes.len, sizeof hash.bytes);
    memcpy(hash.bytes, bytes.data, sizeof hash.bytes);
    return hash;
}

static inline struct signature vector_signature(struct vectors *vectors)
{
    CLEANUP(buf_free) struct buf bytes = vector_bytes(vectors);
    struct signature signature;
    assert_int_equal(bytes.len, sizeof signature.bytes);
    memcpy(signature.bytes, bytes.data, sizeof signature.bytes);
    return signature;
}

static inline void assert_bytes(struct bytes actual, struct bytes expected)
{
    assert_int_equal(actual.len, expected.len);
    assert_memory_equal(actual.data, expected.data, expected.len);
}

static inline void assert_same_hash(struct hash actual, struct hash expected)
{
    assert_memory_equal(actual.bytes, expected.bytes, sizeof expected.bytes);
}
