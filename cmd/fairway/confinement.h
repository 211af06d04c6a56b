/* Confines a command (sandbox/confine.h). */
#ifndef FAIRWAY_CONFINEMENT_H
#define FAIRWAY_CONFINEMENT_H

#include "base/config.h"
#include "base/log.h"

/* To be called before the command opens a connection or starts a thread, and after it has started the key
 * process of keyd_pidfd (-1: none). Logs what is restricted, at level info or, for a command that ends by
 * itself, debug. Errors: confine_enter. */
MUST_CHECK enum err confinement_enter(
    const struct config *config, int keyd_pidfd, enum log_level level, struct detail *detail);

#endif
