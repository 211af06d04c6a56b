/* Starts threads. A thread that does not start ends the process. */
#include "base/thread.h"

#include <string.h>
#include <sysexits.h>

#include "base/log.h"

void thread_start(pthread_t *out, void *(*run)(void *), void *context)
{
    int failure = pthread_create(out, NULL, run, context);
    if (failure != 0)
        log_fatal(EX_OSERR, "cannot create a thread", "reason=\"%s\"", strerror(failure));
}
