/*
 * INVARIANT(condition): what the code around it has made true, checked also in release builds. Never a
 * condition of input, of the world or of another process: those have errors. A process that ends here has
 * lost nothing: no state that matters is in memory.
 */
#pragma once

#include <errno.h>
#include <pthread.h>

#define INVARIANT(condition) ((condition) ? (void)0 : invariant_broken(__FILE__, __LINE__, #condition))
/* A thread holds the mutex; its caller says that it is this one. */
#define INVARIANT_LOCKED(mutex) INVARIANT(pthread_mutex_trylock(mutex) == EBUSY)

/* Logs it and aborts. */
_Noreturn void invariant_broken(const char *file, int line, const char *condition);
