/*
 * An endpoint whose answer only the database knows: it reads the request on the HTTP thread and asks on a
 * worker's. What differs between such endpoints is a db_endpoint; who waits, who replies and who frees is
 * the same for all.
 */
#ifndef FAIRWAY_API_DB_ENDPOINT_H
#define FAIRWAY_API_DB_ENDPOINT_H

#include "context.h"

struct db_query {
    struct work work; /* first: the workers give it back */
    const struct db_endpoint *kind;
    const struct api_settings *settings;
    struct http_request *http;
};

struct answer {
    int status;   /* 200 unless said otherwise */
    json_t *body; /* or, beside an error, further members of the problem; NULL: none. Given away */
    char *text;   /* of text_type, in place of body; NULL: none. Given away */
    const char *text_type;
};

/* How long an answer may take, from the request on. What writes waits for a commit. */
#define DB_ENDPOINT_READ_MS 2000
#define DB_ENDPOINT_WRITE_MS 5000

struct db_endpoint {
    int answer_ms; /* one of those */
    size_t size;   /* of the endpoint's own structure, zeroed, which begins with a struct db_query */
    /* Refuses what can be refused without asking. NULL: there is nothing to read. */
    enum err (*read)(struct db_query *question, struct detail *detail);
    enum err (*ask)(struct db_query *question, struct db *db, struct answer *answer, struct detail *detail);
    /* Frees what read has made. NULL: nothing. */
    void (*wipe)(struct db_query *question);
};

void db_endpoint_begin(struct http_request *http, struct api *api, const struct db_endpoint *kind);

#endif
