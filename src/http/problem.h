/* Problem documents (RFC 9457). */
#ifndef FAIRWAY_HTTP_PROBLEM_H
#define FAIRWAY_HTTP_PROBLEM_H

#include "base/err.h"

/*
 * New text, the caller frees. type is about:blank and title the status's phrase, as section 4.2.1 wants them
 * together; code tells the problems of one status apart. detail is shown for 4xx, else err_text stands in its
 * place. extra: a JSON object's text whose members are added behind the standard ones and never replace them;
 * may be NULL.
 */
char *problem_text(enum err e, const struct detail *detail, const char *request_id, const char *extra);

#endif
