/*
 * The C decoder as a program, for tests in other languages. Each line of standard input gives one line of
 * output.
 *
 * "check TYPE BASE64": OK, or the error code and the byte position of the fault.
 *
 * "edges TYPE BASE64": OK N, when each of the N proper prefixes of this valid value is refused as truncated,
 * and the value followed by one to four bytes as trailing; else what was not refused.
 *
 * "types": the names of all types.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "xdr/xdr.h"

static void check(enum xdr_type type, struct bytes xdr)
{
    struct xdr_reader reader = xdr_reader(xdr);
    xdr_take(&reader, type);
    enum err e = xdr_end(&reader);
    if (e == ERR_OK)
        puts("OK");
    else
        printf("%s %zu\n", err_code(e), (size_t)(reader.at - xdr.data));
}

/* Each prefix has memory of its own, so that a sanitizer detects a read past its end. */
static void edges(enum xdr_type type, struct bytes xdr)
{
    for (size_t len = 0; len < xdr.len; len++) {
        AUTO_FREE uint8_t *prefix = malloc(len != 0 ? len : 1);
        if (prefix == NULL)
            abort();
        memcpy(prefix, xdr.data, len);
        enum err e = xdr_check(type, (struct bytes){prefix, len});
        if (e != ERR_XDR_TRUNCATED) {
            printf("prefix %zu: %s\n", len, err_code(e));
            return;
        }
    }
    for (size_t more = 1; more <= 4; more++) {
        AUTO_FREE uint8_t *longer = mem_new(xdr.len + more, 1);
        memcpy(longer, xdr.data, xdr.len);
        enum err e = xdr_check(type, (struct bytes){longer, xdr.len + more});
        if (e != ERR_XDR_TRAILING) {
            printf("%zu bytes behind: %s\n", more, err_code(e));
            return;
        }
    }
    printf("OK %zu\n", xdr.len);
}

static int judge(char *line)
{
    char *rest = line;
    const char *verb = strsep(&rest, " ");
    if (strcmp(verb, "types") == 0) {
        for (int type = 0; type < XDR_TYPE_COUNT; type++)
            printf("%s%s", xdr_type_name((enum xdr_type)type), type + 1 < XDR_TYPE_COUNT ? " " : "\n");
        return 0;
    }
    const char *name = strsep(&rest, " ");
    int type = name != NULL ? XDR_TYPE_COUNT - 1 : -1;
    while (type >= 0 && strcmp(xdr_type_name((enum xdr_type)type), name) != 0)
        type--;
    CLEANUP(buf_free) struct buf xdr = {0};
    bool edges_too = strcmp(verb, "edges") == 0;
    if (type < 0 || rest == NULL || (!edges_too && strcmp(verb, "check") != 0) ||
        base64_decode(rest, strlen(rest), &xdr) != ERR_OK) {
        fprintf(stderr, "xdr_judge: what is \"%.20s %.40s\"?\n", verb, name != NULL ? name : "");
        return 1;
    }
    (edges_too ? edges : check)((enum xdr_type)type, buf_bytes(&xdr));
    return 0;
}

int main(void)
{
    AUTO_FREE char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    while ((len = getline(&line, &cap, stdin)) > 0) {
        if (line[len - 1] == '\n')
            line[len - 1] = '\0';
        if (judge(line) != 0)
            return 1;
    }
    return 0;
}
