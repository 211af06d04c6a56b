/*
 * An endpoint whose reply needs the database: a worker's thread reads the request and queries the database.
 * This file has what they share: the deadline, the reply, and who frees what.
 */
#pragma once

#include "context.h"
#include "reply.h"

struct db_query;
struct db_reply;

/* Reads the request, and queries the database. */
typedef enum err (*db_endpoint_run)(
    struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail);

/* One request on its way through an endpoint. */
struct db_query {
    struct worker_job job; /* first: the workers return it */
    db_endpoint_run run;
    bool judges; /* run says what is wrong without a session, too */
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

/* Returns at once; the reply is sent from this thread or from a worker's. */
void db_endpoint_begin(struct http_request *http, struct api *api, db_endpoint_run run);
/* The same for what judge.h says: when no session is free in time, db is NULL. Or replies with the last
 * report, which run sets; last may be NULL. */
void db_endpoint_report(
    struct http_request *http, struct api *api, db_endpoint_run run, struct last_report *last);
