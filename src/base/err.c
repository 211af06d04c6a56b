/* The registry of errors: code, HTTP status, text. Which error a case is, is never decided here. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *code;
    int status;
    const char *text;
} registry[] = {
#define X(name, code, status, text) [ERR_##name] = {code, status, text},
    ERR_TABLE(X)
#undef X
};

const char *err_code(enum err e)
{
    return registry[e].code;
}

int err_status(enum err e)
{
    return registry[e].status;
}

const char *err_text(enum err e)
{
    return registry[e].text;
}

void detail_write(struct detail *detail, const char *format, ...)
{
    if (detail == NULL)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(detail->text, sizeof detail->text, format, args);
    va_end(args);
}

bool err_is_transient(enum err e)
{
    switch (e) {
    case ERR_DATABASE_UNAVAILABLE:
    case ERR_OUTCOME_UNKNOWN: /* the next try reads again what is stored */
    case ERR_NOT_REPLICATED:
    case ERR_SERIALIZATION:
    case ERR_NOT_YET:
    case ERR_RPC_UNAVAILABLE:
    case ERR_RPC_REFUSED: /* a node that is starting refuses requests for a while */
        return true;
    default:
        return false;
    }
}
