/* Reads RPC_HEADERS_FILE, and says where RPC_CA_FILE is: libcurl reads that itself. */
#include "files.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/watched_file.h"
#include "rpc/rpc.h"

#define LOOK_MS 1000

/* A list for each address. 0: the headers for all of them. */
struct headers {
    struct curl_slist *of[RPC_ADDRESSES_MAX + 1];
};

static struct watched_file headers_file = {.option = "RPC_HEADERS_FILE", .is_secret = true};
static struct watched_file authorities_file = {.option = "RPC_CA_FILE"};
static struct headers headers;
static size_t addresses; /* in RPC_URL */

static void headers_free(struct headers *old)
{
    for (size_t i = 0; i <= RPC_ADDRESSES_MAX; i++)
        curl_slist_free_all(old->of[i]);
}

struct curl_slist *files_append(struct curl_slist *list, const char *header)
{
    struct curl_slist *longer = curl_slist_append(list, header);
    if (longer == NULL)
        log_fatal(EX_OSERR, "libcurl is out of memory", NULL);
    return longer;
}

/* "Name: value": a token of RFC 9110, and text. */
static bool is_header(const char *text)
{
    const size_t name =
        strspn(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const size_t start = name + strspn(text + name, ": ");
    bool good = name > 0 && text[name] == ':' && text[start] != '\0';
    for (const char *at = text; *at != '\0'; at++)
        good &= (unsigned char)*at >= ' ' && *at != 0x7f;
    return good;
}

/* "2: Name: value", or * instead of 2; a comment; or nothing. False: none of these. */
static bool read_line(char *line, struct headers *out)
{
    for (size_t len = strlen(line); len > 0 && strchr(" \t\r", line[len - 1]) != NULL;)
        line[--len] = '\0';
    if (line[0] == '\0' || line[0] == '#')
        return true;
    char *header = line;
    const char *number = strsep(&header, ":");
    uint64_t address = 0;
    if (header == NULL ||
        (!text_equal(number, "*") && (text_to_u64(number, addresses, &address) != ERR_OK || address == 0)))
        return false;
    header += strspn(header, " \t");
    if (!is_header(header))
        return false;
    out->of[address] = files_append(out->of[address], header);
    return true;
}

static enum err read_headers(struct detail *detail)
{
    struct buf text CLEANUP(buf_free) = {0};
    struct headers fresh = {0};
    enum err e = watched_file_read(&headers_file, &text, detail);
    buf_add(&text, "", 1);
    unsigned number = 0;
    for (char *at = (char *)text.data, *line; e == ERR_OK && (line = strsep(&at, "\n")) != NULL;)
        if (number++, !read_line(line, &fresh))
            e = detail_set(detail, ERR_CONFIG,
                "RPC_HEADERS_FILE: line %u is not \"N: Name: value\", where N is * or the number of one of "
                "the "
                "%zu addresses of RPC_URL",
                number, addresses);
    if (e == ERR_OK) {
        headers_free(&headers);
        headers = fresh;
    } else {
        headers_free(&fresh);
    }
    return e;
}

enum err rpc_set_files(
    const char *headers_path, const char *authorities_path, const char *url, struct detail *detail)
{
    struct buf unused CLEANUP(buf_free) = {0};
    enum err e = ERR_OK;
    addresses = rpc_address_count(url) < RPC_ADDRESSES_MAX ? rpc_address_count(url) : RPC_ADDRESSES_MAX;
    if (authorities_path != NULL) {
        authorities_file.path = mem_copy_text(authorities_path);
        e = watched_file_read(&authorities_file, &unused, detail);
    }
    if (e == ERR_OK && headers_path != NULL) {
        headers_file.path = mem_copy_text(headers_path);
        e = read_headers(detail);
    }
    return e;
}

const char *files_authorities(void)
{
    return authorities_file.path;
}

/* The previous headers stay while the file is wrong. That is logged once. */
static void look(void)
{
    static int64_t again_ms;
    static bool was_wrong;
    struct detail detail = {""};
    if (clock_left_ms(again_ms) > 0)
        return;
    again_ms = clock_ms() + LOOK_MS;
    if (!watched_file_changed(&headers_file))
        return;
    const bool is_wrong = read_headers(&detail) != ERR_OK;
    if (!is_wrong)
        log_info("headers for RPCs read again", NULL);
    else if (!was_wrong)
        log_error(
            "cannot read the headers for RPCs again; the previous ones stay", "detail=\"%s\"", detail.text);
    was_wrong = is_wrong;
}

struct curl_slist *files_add_headers(struct curl_slist *list, unsigned address)
{
    look();
    for (const struct curl_slist *at = headers.of[0]; at != NULL; at = at->next)
        list = files_append(list, at->data);
    for (const struct curl_slist *at = address > 0 ? headers.of[address] : NULL; at != NULL; at = at->next)
        list = files_append(list, at->data);
    return list;
}
