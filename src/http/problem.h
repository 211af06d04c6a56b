/* Problem documents (RFC 9457). */
#ifndef FAIRWAY_HTTP_PROBLEM_H
#define FAIRWAY_HTTP_PROBLEM_H

#include "base/err.h"

/*
 * New text, which the caller frees. type is about:blank and title the phrase of the status (section 4.2.1);
 * code distinguishes the problems of one status. detail is used for a 4xx, else err_text(e). extra (may be
 * NULL): the text of a JSON object whose members are added, with names of their own.
 */
char *problem_text(enum err e, const struct detail *detail, const char *request_id, const char *extra);

#endif
