/* Asks the serve process on this host. Needs PORT, LISTEN, ADMIN_PORT and ADMIN_LISTEN as `serve` has them,
 * and nothing else. */
#include "ask_serve.h"

#include <curl/curl.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "serve.h"

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

int ask_serve(const struct config *config, const char *name, const char *path, const char **body)
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
