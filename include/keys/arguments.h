/*
 * The command line of fairway-keyd: its mode, the descriptors that it inherits, and what it may sign. fairway
 * writes it before it opens its first connection, and no message changes any of it. So a fairway that is
 * captured later cannot choose its own limits, network or distribution account.
 */
#pragma once

#include "keys/keyd.h"

struct arguments {
    enum keyd_mode mode;
    int socket_fd;
    struct keyd_secrets secrets;
    struct keyd_settings settings; /* of its limits only what keyd.h calls a setting of keyd */
    bool json_log;                 /* it logs JSON, as fairway does */
};

/* Room for the text of all arguments, which is one word of the command line, as NAME=value with a space
 * between them. */
#define ARGUMENTS_SIZE 640
void arguments_write(const struct arguments *arguments, char out[static ARGUMENTS_SIZE]);

/* False unless line is what arguments_write gives. The ranges of values are those of fairway's options. */
bool arguments_read(const char *line, struct arguments *out);
