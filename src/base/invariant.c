/* What happens when an invariant does not hold: one line of log, and the end. Never an attempt to go on. */
#include "base/invariant.h"

#include <stdlib.h>

#include "base/log.h"

void invariant_broken(const char *file, int line, const char *condition)
{
    log_error(
        "stopping: a bug, an invariant does not hold", "at=%s:%d condition=\"%s\"", file, line, condition);
    abort();
}
