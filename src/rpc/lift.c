/* Finds the values of one member in the bytes of a JSON text. Everything else is copied as it is, not judged.
 */
#include "lift.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Returns the quote that ends the string which begins at `at`: an even number of backslashes is before it. */
static uint8_t *closing_quote(uint8_t *at, const uint8_t *end)
{
    for (uint8_t *quote = at; (quote = memchr(quote, '"', (size_t)(end - quote))) != NULL; quote++) {
        const uint8_t *slash = quote;
        while (slash > at && slash[-1] == '\\')
            slash--;
        if ((quote - slash) % 2 == 0)
            return quote;
    }
    return NULL;
}

/* Whether there is a colon between two strings, and else only white space. */
static bool is_colon(const uint8_t *at, const uint8_t *end)
{
    unsigned colons = 0;
    for (; at < end; at++)
        if (*at == ':')
            colons++;
        else if (*at != ' ' && *at != '\t' && *at != '\n' && *at != '\r')
            return false;
    return colons == 1;
}

/* Adds to the rest. Returns false, and leaves it empty, when that is too much. */
static bool keep(struct lift *lifted, const void *data, size_t len)
{
    if (len > LIFT_REST_MAX - lifted->rest.len) {
        buf_clear(&lifted->rest);
        return false;
    }
    buf_add(&lifted->rest, data, len);
    return true;
}

/* Decodes the string from at to end in place, and adds what stands for it. */
static bool take(struct lift *lifted, uint8_t *at, const uint8_t *end)
{
    char place[24];
    size_t len;
    if (lifted->count == LIFT_MAX ||
        base64_decode_to((const char *)at, (size_t)(end - at), at, &len) != ERR_OK)
        return keep(lifted, "null", 4);
    snprintf(place, sizeof place, "\"%zu\"", lifted->count);
    lifted->items[lifted->count++] = (struct bytes){at, len};
    return keep(lifted, place, strlen(place));
}

void lift_values(struct lift *lifted, struct buf text)
{
    lift_free(lifted);
    lifted->text = text;
    const struct bytes member = {(const uint8_t *)lifted->member, strlen(lifted->member)};
    const uint8_t *end = text.len > 0 ? text.data + text.len : text.data, *named = NULL, *kept = text.data;
    uint8_t *open = text.data, *close;
    while (open < end && (open = memchr(open, '"', (size_t)(end - open))) != NULL &&
           (close = closing_quote(open + 1, end)) != NULL) {
        const struct bytes string = {open + 1, (size_t)(close - open - 1)};
        if (named != NULL && is_colon(named, open)) {
            if (!keep(lifted, kept, (size_t)(open - kept)) || !take(lifted, open + 1, close))
                return;
            kept = close + 1;
            named = NULL;
        } else {
            named = bytes_equal(string, member) ? close + 1 : NULL;
        }
        open = close + 1;
    }
    (void)!keep(lifted, kept, (size_t)(end - kept));
}

void lift_free(struct lift *lifted)
{
    const char *member = lifted->member;
    buf_free(&lifted->text);
    buf_free(&lifted->rest);
    *lifted = (struct lift){.member = member};
}
