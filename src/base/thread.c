/* Starts threads. */
#include "base/thread.h"

#include <signal.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"

int thread_try(pthread_t *out, void *(*run)(void *), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(out, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

void thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *context)
{
    char own[16] = "";
    pthread_getname_np(pthread_self(), own, sizeof own);
    pthread_setname_np(pthread_self(), name); /* a thread begins with the name of the one that starts it */
    const int failure = thread_try(out, run, context);
    pthread_setname_np(pthread_self(), own);
    if (failure != 0)
        log_fatal(EX_OSERR, "cannot create a thread", "reason=\"%s\"", strerror(failure));
}

void thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}
