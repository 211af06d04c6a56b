#include "head.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

struct scan {
    unsigned lengths, encodings, hosts, types;
    const char *length, *encoding, *type;
    bool malformed, expects_continue;
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

static enum MHD_Result scan_field(void *closure, enum MHD_ValueKind kind, const char *name, const char *value)
{
    (void)kind;
    struct scan *scan = closure;
    value = value == NULL ? "" : value;
    if (!is_token(name) || has_control(value))
        scan->malformed = true;
    if (strcasecmp(name, "Content-Length") == 0) {
        scan->lengths++;
        scan->length = value;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        scan->encodings++;
        scan->encoding = value;
    } else if (strcasecmp(name, "Content-Type") == 0) {
        scan->types++;
        scan->type = value;
    } else if (strcasecmp(name, "Host") == 0) {
        scan->hosts++;
    } else if (strcasecmp(name, "Expect") == 0) {
        scan->expects_continue = true;
    }
    return MHD_YES;
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

enum err head_read(struct MHD_Connection *connection, struct head *head, struct detail *detail)
{
    struct scan scan = {0};
    *head = (struct head){0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, scan_field, &scan);
    if (scan.malformed)
        return detail_set(detail, ERR_INVALID_REQUEST, "A header field is malformed.");
    if (scan.hosts > 1)
        return detail_set(detail, ERR_INVALID_REQUEST, "Host occurs more than once.");
    if (scan.lengths > 1)
        return detail_set(detail, ERR_INVALID_REQUEST, "Content-Length occurs more than once.");
    if (scan.lengths > 0 && scan.encodings > 0)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "Content-Length and Transfer-Encoding exclude each other.");
    if (scan.encodings > 1 || (scan.encodings == 1 && strcasecmp(scan.encoding, "chunked") != 0))
        return detail_set(detail, ERR_INVALID_REQUEST, "The only Transfer-Encoding is chunked.");
    if (scan.lengths == 1 && text_to_u64(scan.length, UINT64_MAX, &head->length) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST, "Content-Length is not a number.");
    head->chunked = scan.encodings == 1;
    head->expects_continue = scan.expects_continue;
    head->json = scan.types == 1 && is_json(scan.type);
    return ERR_OK;
}
