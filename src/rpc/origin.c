/* The part of a URL that may be shown. A path, a query and a password never are. */
#include "origin.h"

#include <curl/curl.h>
#include <stdbool.h>

#include "base/mem.h"

char *origin_of(const char *url)
{
    CURLU *parsed = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    const bool known = parsed != NULL && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                       curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                       curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    if (known)
        (void)curl_url_get(parsed, CURLUPART_PORT, &port, 0); /* most URLs have none */
    char *origin =
        known ? mem_format("%s://%s%s%s", scheme, host, port != NULL ? ":" : "", port != NULL ? port : "")
              : mem_copy_text("an address");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
    return origin;
}
