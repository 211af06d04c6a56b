/* The options of all subcommands: name, kind, default, meaning with unit, and which command reads them. */
#pragma once

#include "base/config.h"

/* The commands that read an option; ORed. */
enum option_reader {
    FOR_SERVE = 1,
    FOR_ENSURE_ACCOUNTS = 2,
    FOR_ACCOUNTS = 4,
    FOR_HOLD = 8,
    FOR_LOCKS = 16,
    FOR_MIGRATE = 32,
    FOR_KEYGEN = 64,
    FOR_HEALTH = 128,
    FOR_TOKEN = 256,
    FOR_IMPORT_ACCOUNTS = 512,
    FOR_ROTATE_MASTER_KEY = 1024,
    FOR_PAUSE = 2048,
    FOR_RESUME = 4096,
    FOR_STATUS = 8192,
    FOR_CHECK = 16384
};

/* Refuses options that contradict each other. ERR_CONFIG: detail names both and what to change. */
MUST_CHECK enum err options_check(const struct config *config, struct detail *detail);

/* The options that any of these commands reads, in the order of the table; the caller frees the array. */
struct config_option *options_of(unsigned readers, size_t *count);
