/* status: shows what the serve process on this host answers to an operator's first questions. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "ask_serve.h"
#include "base/json.h"
#include "commands.h"

#define EVENTS_SHOWN 8

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* Control characters, which an operator's reason may have, are not sent to the terminal. */
static void print_text(const char *text)
{
    for (; *text != '\0'; text++)
        putchar((unsigned char)*text < ' ' || *text == 127 ? '?' : *text);
}

static void print_status(const json_t *status)
{
    const json_t *answers = json_object_get(status, "answers"), *events = json_object_get(status, "events"),
                 *item;
    size_t i;
    printf("fairway %s, %s\n\n", text_of(status, "version"), text_of(status, "at"));
    json_array_foreach(answers, i, item)
    {
        const char *level = text_of(item, "level");
        printf("%s  %-21s ",
            strcmp(level, "ok") == 0     ? "ok  "
            : strcmp(level, "warn") == 0 ? "look"
                                         : "ACT ",
            text_of(item, "question"));
        print_text(text_of(item, "answer"));
        putchar('\n');
    }
    json_array_foreach(events, i, item)
    {
        if (i == EVENTS_SHOWN)
            break;
        printf("%s%s  ", i == 0 ? "\n" : "", text_of(item, "at"));
        print_text(text_of(item, "what"));
        if (text_of(item, "why")[0] != '\0') {
            fputs(": ", stdout);
            print_text(text_of(item, "why"));
        }
        fputs(" (", stdout);
        print_text(text_of(item, "who"));
        puts(")");
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
    print_status(status);
    return json_is_true(json_object_get(status, "leases")) ? EX_OK : 1;
}
