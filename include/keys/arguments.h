/*
 * The command line of fairway-keyd: its mode, the descriptors that it inherits, and what it may sign. fairway
 * writes it before it opens its first connection, and no message changes any of it. So a fairway that is
 * captured later cannot choose its own limits, network or distribution account.
 */
#ifndef FAIRWAY_KEYS_ARGUMENTS_H
#define FAIRWAY_KEYS_ARGUMENTS_H

#include "keys/keyd.h"

struct arguments {
    enum keyd_mode mode;
    int socket_fd;
    struct keyd_secrets secrets;
    struct keyd_settings settings; /* of its limits only what keyd.h calls a setting of keyd */
    bool json_log;                 /* it logs JSON, as fairway does */
};

#define ARGUMENTS_MAX 17
#define ARGUMENT_SIZE 80
struct arguments_text {
    char *argv[ARGUMENTS_MAX + 1]; /* for execve: ends with NULL; points into text */
    char text[ARGUMENTS_MAX][ARGUMENT_SIZE];
};

void arguments_write(const struct arguments *arguments, struct arguments_text *out);

/* False unless argv is what arguments_write gives for values in their ranges. */
bool arguments_read(int argc, char *const argv[], struct arguments *out);

#endif
