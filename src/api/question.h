/*
 * An endpoint whose answer only the database knows: it reads the request on the HTTP thread and asks on a
 * worker's. What differs between such endpoints is a question_kind; who waits, who replies and who frees is
 * the same for all.
 */
#ifndef FAIRWAY_API_QUESTION_H
#define FAIRWAY_API_QUESTION_H

#include "context.h"

struct question {
    struct work work; /* first: the workers give it back */
    const struct question_kind *kind;
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
#define QUESTION_READ_MS 2000
#define QUESTION_WRITE_MS 5000

struct question_kind {
    int answer_ms; /* one of those */
    size_t size;   /* of the endpoint's own structure, zeroed, which begins with a struct question */
    /* Refuses what can be refused without asking. NULL: there is nothing to read. */
    enum err (*read)(struct question *question, struct detail *detail);
    enum err (*ask)(struct question *question, struct db *db, struct answer *answer, struct detail *detail);
    /* Frees what read has made. NULL: nothing. */
    void (*wipe)(struct question *question);
};

void question_begin(struct http_request *http, struct api *api, const struct question_kind *kind);

#endif
