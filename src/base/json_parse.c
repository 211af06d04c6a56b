/* A strict reader of JSON text: what could be read in two ways is refused. jansson's takes 7 to 14 times as
 * long for a long string, which is what a transaction is; numbers, true, false and null are left to it. */
#include "base/json.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

struct parser {
    const char *begin, *at, *end;
    unsigned depth, values;
    struct detail *detail;
};

static json_t *parse_value(struct parser *parser);

static json_t *fail_at(struct parser *parser, const char *at, const char *why)
{
    detail_write(parser->detail, "The body is not JSON: %s at byte %td.", why,
        at - parser->begin + (at < parser->end));
    return NULL;
}

/* The character at which the parser is, is not one that can follow. */
static json_t *fail(struct parser *parser)
{
    return fail_at(parser, parser->at, parser->at == parser->end ? "it ends early" : "a syntax error");
}

/* The next character that is no white space; NUL: the end. */
static char next(struct parser *parser)
{
    while (parser->at < parser->end &&
           (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n' || *parser->at == '\r'))
        parser->at++;
    return parser->at < parser->end ? *parser->at : '\0';
}

/* Passes over the character, when it is the next one. */
static bool take(struct parser *parser, char wanted)
{
    const bool found = next(parser) == wanted;
    parser->at += found;
    return found;
}

/* ---- strings (RFC 8259 section 7) */

/* Reads the four digits of \uXXXX at *at, and moves *at past them. Returns -1 when they are none. */
static int32_t read_unit(const char **at, const char *end)
{
    uint8_t bytes[2];
    if (end - *at < 4 || hex_decode(*at, 4, bytes, sizeof bytes) != ERR_OK)
        return -1;
    *at += 4;
    return bytes[0] << 8 | bytes[1];
}

/* The same for a code point, which may take two such escapes. */
static int32_t read_code_point(const char **at, const char *end)
{
    const int32_t high = read_unit(at, end);
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || end - *at < 2 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return -1;
    *at += 2;
    const int32_t low = read_unit(at, end);
    return low < 0xdc00 || low > 0xdfff ? -1 : 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
}

static void add_utf8(struct buf *out, int32_t code_point)
{
    uint8_t bytes[4];
    const size_t len = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; code_point >>= 6)
        bytes[i] = (uint8_t)(0x80 | (code_point & 0x3f));
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (uint8_t)(first[len - 1] | code_point);
    buf_add(out, bytes, len);
}

/* Reads what follows a backslash. Returns NULL, or why it is refused. */
static const char *unescape(struct parser *parser, const char *end, struct buf *out)
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *escape = strchr(escapes, *parser->at);
    if (escape == NULL && *parser->at != 'u')
        return "a syntax error";
    parser->at++;
    if (escape != NULL) {
        buf_add(out, &meanings[escape - escapes], 1);
        return NULL;
    }
    const int32_t code_point = read_code_point(&parser->at, end);
    if (code_point <= 0)
        return code_point == 0 ? "a string contains a NUL" : "a syntax error";
    add_utf8(out, code_point);
    return NULL;
}

/* A string between its quotes, where `end` is the second. A character follows each backslash in it. */
static json_t *parse_escaped(struct parser *parser, const char *end)
{
    struct buf out CLEANUP(buf_free) = {0};
    buf_reserve(&out, (size_t)(end - parser->at));
    while (parser->at < end) {
        const char *escape = memchr(parser->at, '\\', (size_t)(end - parser->at));
        const char *plain_end = escape == NULL ? end : escape;
        buf_add(&out, parser->at, (size_t)(plain_end - parser->at));
        parser->at = plain_end;
        if (escape == NULL)
            continue;
        parser->at++;
        const char *why = unescape(parser, end, &out);
        if (why != NULL)
            return fail_at(parser, escape, why);
    }
    json_t *value = json_stringn((const char *)out.data, out.len);
    return value != NULL ? value : fail_at(parser, end, "a string is not UTF-8");
}

/* The quote that ends a string which begins at `at`; NULL: none. No byte is searched twice for a quote. */
static const char *closing_quote(const char *at, const char *end, bool *escaped)
{
    const char *quote = at - 1;
    *escaped = false;
    while (at < end) {
        if (quote < at && (quote = memchr(at, '"', (size_t)(end - at))) == NULL)
            return NULL;
        const char *escape = memchr(at, '\\', (size_t)(quote - at));
        if (escape == NULL)
            return quote;
        *escaped = true;
        at = escape + 2;
    }
    return NULL;
}

static json_t *parse_string(struct parser *parser)
{
    bool escaped, control = false, ascii = true;
    const char *begin = ++parser->at, *end = closing_quote(begin, parser->end, &escaped);
    if (end == NULL)
        return fail_at(parser, parser->end, "it ends early");
    for (const char *c = begin; c < end; c++) {
        control |= (unsigned char)*c < ' ';
        ascii &= (unsigned char)*c < 0x80;
    }
    if (control)
        return fail_at(parser, begin, "a syntax error: a control character in a string");
    json_t *value = NULL;
    const size_t len = (size_t)(end - begin);
    if (escaped)
        value = parse_escaped(parser, end);
    else if ((value = ascii ? json_stringn_nocheck(begin, len) : json_stringn(begin, len)) == NULL)
        fail_at(parser, begin, "a string is not UTF-8");
    parser->at = end + 1;
    return value;
}

/* ---- other values */

static json_t *parse_word(struct parser *parser)
{
    const char *begin = parser->at;
    json_error_t error;
    while (
        parser->at < parser->end && strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *parser->at) != NULL)
        parser->at++;
    const size_t len = (size_t)(parser->at - begin);
    if (len == 0)
        return fail(parser);
    if (len > JSON_READ_NUMBER_MAX)
        return fail_at(parser, begin, "a number is too long");
    json_t *value = json_loadb(begin, len, JSON_DECODE_ANY, &error);
    if (value != NULL)
        return value;
    return fail_at(parser, begin,
        json_error_code(&error) == json_error_numeric_overflow ? "a number is too large" : "a syntax error");
}

static bool add_member(struct parser *parser, json_t *object)
{
    const char *begin = parser->at;
    json_t *name = next(parser) == '"' ? parse_string(parser) : fail(parser);
    if (name == NULL)
        return false;
    json_t *value = NULL;
    if (json_object_get(object, json_string_value(name)) != NULL)
        fail_at(parser, begin, "a member occurs twice");
    else
        value = take(parser, ':') ? parse_value(parser) : fail(parser);
    const bool added =
        value != NULL && json_object_set_new_nocheck(object, json_string_value(name), value) == 0;
    json_decref(name);
    return added;
}

static bool add_element(struct parser *parser, json_t *array)
{
    json_t *value = parse_value(parser);
    return value != NULL && json_array_append_new(array, value) == 0;
}

static bool within_limits(struct parser *parser)
{
    if (parser->depth > JSON_READ_DEPTH)
        detail_write(parser->detail, "The body is nested more than %d levels deep.", JSON_READ_DEPTH);
    else if (parser->values > JSON_READ_VALUES)
        detail_write(parser->detail, "The body has more than %d values.", JSON_READ_VALUES);
    else
        return true;
    return false;
}

/* An object or an array, whose first bracket has been passed over. */
static bool fill(
    struct parser *parser, json_t *container, char closing, bool (*add)(struct parser *, json_t *))
{
    parser->depth++;
    parser->values++;
    if (!within_limits(parser))
        return false;
    bool closed = take(parser, closing);
    while (!closed) {
        if (!add(parser, container))
            return false;
        closed = take(parser, closing);
        if (!closed && !take(parser, ',')) {
            fail(parser);
            return false;
        }
        parser->values += !closed;
        if (!within_limits(parser))
            return false;
    }
    parser->depth--;
    return true;
}

/* Recursive, to the depth that is allowed. */
static json_t *parse_value(struct parser *parser)
{
    if (next(parser) == '"')
        return parse_string(parser);
    const bool is_object = take(parser, '{');
    if (!is_object && !take(parser, '['))
        return parse_word(parser);
    json_t *container = is_object ? json_object() : json_array();
    if (fill(parser, container, is_object ? '}' : ']', is_object ? add_member : add_element))
        return container;
    json_decref(container);
    return NULL;
}

json_t *json_parse(struct bytes text, struct detail *detail)
{
    const char *begin = (const char *)text.data;
    const uint8_t *nul = memchr(text.data, 0, text.len);
    if (nul != NULL) {
        detail_write(detail, "The body is not JSON: a NUL at byte %td.", nul - text.data + 1);
        return NULL;
    }
    struct parser parser = {
        .begin = begin, .at = begin, .end = begin + text.len, .values = 1, .detail = detail};
    json_t *value = parse_value(&parser);
    if (value == NULL || next(&parser) == '\0')
        return value;
    json_decref(value);
    return fail_at(&parser, parser.at, "something follows its end");
}
