/* Threads. */
#ifndef FAIRWAY_BASE_THREAD_H
#define FAIRWAY_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread that runs run(context). If the system refuses it, logs the reason and ends the process with
 * EX_OSERR. */
void thread_start(pthread_t *out, void *(*run)(void *), void *context);

#endif
