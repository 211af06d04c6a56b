/*
 * An endpoint whose reply needs the database: the request is read on the HTTP thread, the database is queried
 * on a worker's thread. Each such endpoint is one constant struct db_endpoint. This file has what they share:
 * the deadline, the reply, and who frees what.
 */
#pragma once

#include "context.h"
#include "reply.h"

/* One request on its way through a db_endpoint. */
struct db_query {
    struct worker_job job; /* first: the workers return it */
    const struct db_endpoint *endpoint;
    struct api *api;
    const struct api_settings *settings;
    struct http_request *http;
};

/* What a query replies, unless it fails. db_endpoint frees the text. */
struct db_reply {
    int status;            /* 200 if run does not change it */
    char *text;            /* of json_write_end, or of text_type */
    const char *text_type; /* NULL: JSON */
};

struct db_endpoint {
    size_t
        query_size; /* of the endpoint's own structure, which begins with a struct db_query; it is zeroed */
    bool judges; /* run says what is wrong when no session is free in time: it is called without one, NULL */
    /* Reads the request and refuses what can be refused without the database. NULL: there is nothing to read.
     */
    enum err (*read)(struct db_query *query, struct detail *detail);
    enum err (*run)(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail);
};

/* Returns at once; the reply is sent from this thread or from a worker's. */
void db_endpoint_begin(struct http_request *http, struct api *api, const struct db_endpoint *endpoint);
/* The same, or replies with the last report. The endpoint's run sets that. */
void db_endpoint_report(
    struct http_request *http, struct api *api, const struct db_endpoint *endpoint, struct last_report *last);
