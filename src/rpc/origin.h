/* What of a URL may be shown: its path and query may hold an API key, and what is before its host a password.
 */
#ifndef FAIRWAY_RPC_ORIGIN_H
#define FAIRWAY_RPC_ORIGIN_H

/* Scheme, host and port of the URL; "an address" when it cannot be parsed. The caller frees the text. */
char *origin_of(const char *url);

#endif
