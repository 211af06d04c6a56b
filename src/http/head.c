/* Checks the framing of a request. What two readers could understand differently is refused. */
#include "head.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

/* Fields of which a second one changes the meaning for some readers, or that must not be ambiguous. */
enum field {
    AUTHORIZATION,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    EXPECT, /* read by the library */
    HOST,
    IDEMPOTENCY_KEY,
    TRANSFER_ENCODING,
    X_REQUEST_ID,
    FIELD_COUNT
};

static const char *const field_names[FIELD_COUNT] = {
    [AUTHORIZATION] = "Authorization",
    [CONTENT_LENGTH] = "Content-Length",
    [CONTENT_TYPE] = "Content-Type",
    [EXPECT] = "Expect",
    [HOST] = "Host",
    [IDEMPOTENCY_KEY] = "Idempotency-Key",
    [TRANSFER_ENCODING] = "Transfer-Encoding",
    [X_REQUEST_ID] = "X-Request-Id",
};

struct scan {
    const char *values[FIELD_COUNT]; /* NULL: absent */
    const char *twice;               /* a field that occurs more than once */
    const char *next;                /* where the next line of the head begins, if no NUL is in it */
    bool malformed, has_gap;
};

/* RFC 9110 section 5.6.2. A name such as "Content-Length " is a length for one reader and not for another. */
static bool is_token(const char *name)
{
    size_t len = strlen(name);
    return len > 0 &&
           strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
               len;
}

static bool has_control(const char *value)
{
    for (; *value != '\0'; value++)
        if ((*value > 0 && *value < ' ' && *value != '\t') || *value == 0x7f)
            return true;
    return false;
}

/*
 * Notes a gap when text is not where the part of the head before it has ended.
 *
 * libmicrohttpd before 1.0 takes a NUL for the end of a method, target, name or value and ignores the rest of
 * the line; a line that begins with a NUL ends the head. It keeps a head where it has read it and writes NULs
 * over the delimiters. So in a head that is read whole, each part begins directly after the delimiter of the
 * one before. Extra spaces, folded lines and lines that end in a bare LF leave gaps too; they are refused as
 * well (RFC 9112 sections 2.2, 3 and 5.2). A NUL before a bare LF looks exactly like CR LF here, and is
 * accepted as such.
 */
static void expect_next(struct scan *scan, const char *text, size_t len, size_t delimiter_len)
{
    scan->has_gap |= text != scan->next;
    scan->next = text + len + delimiter_len;
}

static enum MHD_Result scan_field(void *closure, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct scan *scan = closure;
    value = value == NULL ? "" : value;
    expect_next(scan, name, strlen(name), strlen(":"));
    scan->next += strspn(scan->next, " \t");
    expect_next(scan, value, strlen(value), strlen("\r\n"));
    if (!is_token(name) || has_control(value))
        scan->malformed = true;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (strcasecmp(name, field_names[i]) != 0)
            continue;
        if (scan->values[i] != NULL)
            scan->twice = field_names[i];
        scan->values[i] = value;
    }
    return MHD_YES;
}

static void scan_head(struct scan *scan, struct MHD_Connection *connection, const struct head_line *line)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    scan->next = line->method;
    expect_next(scan, line->method, strlen(line->method), strlen(" "));
    expect_next(scan, line->target, line->target_len, strlen(" "));
    expect_next(scan, line->version, strlen(line->version), strlen("\r\n"));
    scan->has_gap |= memchr(line->target, ' ', line->target_len) != NULL;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, scan_field, scan);
    scan->next += strlen("\r\n");
    expect_next(scan, line->method + size->header_size, 0, 0);
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    if (strncasecmp(type, json, strlen(json)) != 0)
        return false;
    type += strlen(json);
    type += strspn(type, " \t");
    return *type == '\0' || *type == ';';
}

enum err head_read(
    struct MHD_Connection *connection, const struct head_line *line, struct head *head, struct detail *detail)
{
    struct scan scan = {0};
    *head = (struct head){0};
    scan_head(&scan, connection, line);
    const char *length = scan.values[CONTENT_LENGTH], *encoding = scan.values[TRANSFER_ENCODING];
    /* Later versions of the library refuse such heads themselves, and move strings. */
    if (scan.has_gap && MHD_get_version()[0] == '0')
        return detail_set(detail, ERR_INVALID_REQUEST,
            "The head has a NUL, a folded line, a line without CR LF, or spaces where none belong.");
    if (scan.malformed)
        return detail_set(detail, ERR_INVALID_REQUEST, "A header field is malformed.");
    if (scan.values[HOST] == NULL && strcmp(line->version, "HTTP/1.0") != 0)
        return detail_set(detail, ERR_INVALID_REQUEST, "Host is missing.");
    if (scan.twice != NULL)
        return detail_set(detail, ERR_INVALID_REQUEST, "%s occurs more than once.", scan.twice);
    if (length != NULL && encoding != NULL)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "Content-Length and Transfer-Encoding exclude each other.");
    /* libmicrohttpd before 1.0 reads lines of a chunked body that end in a bare LF, or in CR CR, and shows us
     * none of them. RFC 9112 section 6.3 allows 411 in place of reading such bodies. */
    if (encoding != NULL)
        return detail_set(detail, ERR_LENGTH_REQUIRED,
            "Transfer-Encoding is not supported; send the body with a Content-Length.");
    if (length != NULL && text_to_u64(length, UINT64_MAX, &head->length) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST, "Content-Length is not a number.");
    head->json = scan.values[CONTENT_TYPE] != NULL && is_json(scan.values[CONTENT_TYPE]);
    return ERR_OK;
}
