/*
 * What providers and houses ask for besides URLs: the headers of RPC_HEADERS_FILE, which often hold keys, and
 * the certificates of RPC_CA_FILE. Both files are read again when they change. No log line and no error says
 * what a header says.
 */
#pragma once

#include <curl/curl.h>

/* Appends a header, or all for an address of RPC_URL, counted from 1, and returns the list. The loop's thread
 * calls the second one. */
struct curl_slist *files_append(struct curl_slist *list, const char *header);
struct curl_slist *files_add_headers(struct curl_slist *list, unsigned address);
/* NULL: those of the system. */
const char *files_authorities(void);
