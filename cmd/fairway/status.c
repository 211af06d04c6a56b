/* status, health: ask the serve process on this host, which answers an operator's first questions, and the
 * probes of containers. Need PORT, LISTEN, ADMIN_PORT and ADMIN_LISTEN as serve has them, and nothing else.
 */
#include <curl/curl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/bytes.h"
#include "base/deadlines.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands.h"
#include "serve.h"

#define EVENTS_SHOWN 8

static size_t receive(char *data, size_t size, size_t count, void *body)
{
    buf_add(body, data, size * count);
    return size * count;
}

/* Returns the HTTP status. 0: no answer, and message says why. */
static int get(const char *url, struct buf *body, char message[static CURL_ERROR_SIZE])
{
    long status = 0;
    CURL *easy = curl_easy_init();
    message[0] = '\0';
    buf_clear(body);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)HEALTH_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, message);
    if (curl_easy_perform(easy) == CURLE_OK)
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(easy);
    buf_add(body, "", 1);
    return (int)status;
}

/* GET path of its admin listener, or of the API's when that is off. Returns the HTTP status, and the reply's
 * body, which stays. 0: no answer; -1: the port is not configured; both are printed to standard error. */
static int ask_serve(const struct config *config, const char *name, const char *path, const char **body)
{
    static struct buf answer;
    char message[CURL_ERROR_SIZE];
    const bool admin = listeners_want_admin(config);
    const char *host = admin ? config_text(config, "ADMIN_LISTEN") : authentication_listen(config);
    const unsigned port = admin ? listeners_admin_port(config) : (unsigned)config_number(config, "PORT");
    if (port == 0) {
        fprintf(stderr,
            "fairway %s: the port is not known: set PORT or ADMIN_PORT to the port that serve uses\n", name);
        return -1;
    }
    AUTO_FREE char *url = mem_format("http://%s:%u%s", host, port, path);
    const int status = get(url, &answer, message);
    if (status == 0)
        fprintf(stderr, "fairway %s: no answer from %s port %u: %s\n", name, host, port, message);
    *body = (const char *)answer.data;
    return status;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static void print_status(const json_t *status)
{
    const json_t *answers = json_object_get(status, "answers"), *events = json_object_get(status, "events"),
                 *item;
    size_t i;
    AUTO_FREE char *head = mem_format(
        "fairway %s, %s, %s", text_of(status, "version"), text_of(status, "network"), text_of(status, "at"));
    command_print(0, head);
    putchar('\n');
    json_array_foreach(answers, i, item)
    {
        const char *level = text_of(item, "level");
        printf("%s  %-21s ",
            strcmp(level, "ok") == 0     ? "ok  "
            : strcmp(level, "warn") == 0 ? "look"
                                         : "ACT ",
            text_of(item, "question"));
        command_print(28, text_of(item, "answer"));
    }
    json_array_foreach(events, i, item)
    {
        if (i == EVENTS_SHOWN)
            break;
        const char *why = text_of(item, "why");
        AUTO_FREE char *event = mem_format(
            "%s%s%s (%s)", text_of(item, "what"), why[0] != '\0' ? ": " : "", why, text_of(item, "who"));
        command_print(printf("%s%s  ", i == 0 ? "\n" : "", text_of(item, "at")) - (i == 0), event);
    }
}

/* Exit code 0: a request for a lease is granted, or waits for an account; 1: it is refused, or there is no
 * answer. */
int cmd_status(const struct config *config)
{
    const char *body;
    const int code = ask_serve(config, "status", "/status.json", &body);
    if (code <= 0)
        return code < 0 ? EX_CONFIG : 1;
    AUTO_JSON json_t *status = json_loads(body, 0, NULL);
    if (code != 200 || status == NULL) {
        fprintf(stderr, "fairway status: the reply has the HTTP status %d: %s\n", code, body);
        return 1;
    }
    if (config_is_on(config, "JSON"))
        puts(body);
    else
        print_status(status);
    return json_is_true(json_object_get(status, "leases")) ? EX_OK : 1;
}

int cmd_health(const struct config *config)
{
    const char *which = config_argument(config, 0), *body;
    if (which != NULL && !text_equal(which, "live") && !text_equal(which, "ready"))
        return command_usage_error("health", "unknown probe \"%s\"", which);
    const int status = ask_serve(config, "health", text_equal(which, "live") ? "/livez" : "/readyz", &body);
    if (status <= 0)
        return status < 0 ? EX_CONFIG : 1;
    puts(body);
    return status == 200 ? EX_OK : 1;
}
