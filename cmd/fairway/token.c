/* token: signs the token of one request, as a client does, with the secret seed in a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

#include "auth/auth.h"
#include "auth/token_sign.h"
#include "base/mem.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "commands.h"
#include "serve.h"

#define SEED_MAX 100

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "fairway token: %s %s: %s\n", what, path, strerror(errno));
    return EX_NOINPUT;
}

/* path: "-" is standard input; NULL: nothing. */
static int read_input(const char *what, const char *path, struct buf *out)
{
    if (path == NULL)
        return EX_OK;
    const bool opens = !text_equal(path, "-");
    FILE *file = opens ? fopen(path, "re") : stdin;
    char part[4096];
    if (file == NULL)
        return fail(what, path);
    for (size_t got; out->len <= API_BODY_MAX && (got = fread(part, 1, sizeof part, file)) > 0;)
        buf_add(out, part, got);
    const bool failed = ferror(file) != 0;
    if (opens)
        fclose(file);
    if (failed || out->len <= API_BODY_MAX)
        return failed ? fail(what, path) : EX_OK;
    fprintf(stderr, "fairway token: %s %s: larger than %d bytes\n", what, path, API_BODY_MAX);
    return EX_NOINPUT;
}

/* What the service cannot have received, so that no token for it could fit a request. */
static const char *unusable(const char *method, const char *target)
{
    if (!text_equal(method, "GET") && !text_equal(method, "POST"))
        return "the METHOD is GET or POST, in upper case";
    if (target[0] != '/')
        return "the TARGET is the path with its query, as it is sent: /v1/pool";
    return NULL;
}

static int print(const char *text)
{
    if (puts(text) >= 0 && fflush(stdout) == 0)
        return EX_OK;
    fprintf(stderr, "fairway token: cannot write the output: %s\n", strerror(errno));
    return EX_IOERR;
}

int cmd_token(const struct config *config)
{
    struct buf body CLEANUP(buf_free) = {0};
    struct detail detail = {0};
    char *seed = NULL, *token = NULL;
    struct token_request request = {.method = config_argument(config, 1),
        .target = config_argument(config, 2),
        .audience = config_text(config, "AUDIENCE"),
        .idempotency_key = config_text(config, "IDEMPOTENCY_KEY"),
        .now_s = time(NULL),
        .valid_s = AUTH_WINDOW_MAX_S};
    if (request.target == NULL)
        return command_usage_error("token", "give the KEY_FILE, the METHOD and the TARGET");
    if (unusable(request.method, request.target) != NULL)
        return command_usage_error("token", "%s", unusable(request.method, request.target));
    int code = read_input("cannot read the body", config_argument(config, 3), &body);
    if (code != EX_OK)
        return code;
    request.body = buf_bytes(&body);
    enum err e = secret_file_read("KEY_FILE", config_argument(config, 0), SEED_MAX, &seed, &detail);
    if (e == ERR_OK)
        e = token_sign(seed, &request, &token);
    if (e == ERR_MALFORMED)
        detail_set(&detail, e, "KEY_FILE: %s has no secret seed (S...)", config_argument(config, 0));
    else if (e == ERR_INVALID_REQUEST)
        detail_set(&detail, e, "METHOD, TARGET, --audience and --idempotency-key must be UTF-8");
    if (seed != NULL)
        explicit_bzero(seed, strlen(seed));
    free(seed);
    if (e != ERR_OK) {
        fprintf(stderr, "fairway token: %s\n", detail.text);
        return EX_CONFIG;
    }
    code = print(token);
    free(token);
    return code;
}
