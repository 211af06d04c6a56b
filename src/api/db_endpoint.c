#include "db_endpoint.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

static void end(
    struct db_query *question, enum err e, const struct answer *answer, const struct detail *detail)
{
    if (e == ERR_OK && answer->text != NULL)
        http_reply_text(question->http, answer->status, answer->text_type, answer->text);
    else if (e == ERR_OK)
        reply(question->http, answer->status, answer->body);
    else
        refuse_with(question->http, e, detail, answer->body);
    if (question->kind->wipe != NULL)
        question->kind->wipe(question);
    free(question);
}

static void run(struct work *work, enum err e, struct db *db)
{
    struct db_query *question = (struct db_query *)work;
    struct answer answer = {.status = 200};
    struct detail detail = {0};
    if (e == ERR_OK)
        e = question->kind->ask(question, db, &answer, &detail);
    end(question, e, &answer, &detail);
}

void db_endpoint_begin(struct http_request *http, struct api *api, const struct db_endpoint *kind)
{
    struct db_query *question = mem_new(1, kind->size);
    struct detail detail = {0};
    question->work.run = run;
    question->work.deadline_ms = clock_ms() + kind->answer_ms;
    question->kind = kind;
    question->settings = &api->settings;
    question->http = http;
    enum err e = kind->read == NULL ? ERR_OK : kind->read(question, &detail);
    if (e == ERR_OK)
        e = workers_submit(api->workers, &question->work);
    if (e != ERR_OK)
        end(question, e, &(struct answer){0}, &detail);
}
