/* Threads. */
#pragma once

#include <pthread.h>

/* Starts a thread that runs run(context) and takes no signals: the main thread alone does. If the system
 * refuses it, logs the reason and ends the process with EX_OSERR. name: at most 15 characters, for people. */
void thread_start(pthread_t *out, const char *name, void *(*run)(void *), void *context);

/* The same, but returns the error number; 0: it runs. */
int thread_try(pthread_t *out, void *(*run)(void *), void *context);

/* For pthread_cond_timedwait until a clock_timespec. */
void thread_cond_init(pthread_cond_t *cond);
