/*
 * The thread that watches deadlines, one for the process: about every 50 ms it calls each function, while any
 * has something to watch. None may wait for the database, for a network or for another thread's work: the
 * others would wait too.
 */
#pragma once

#include <stdbool.h>

/* Returns whether it watches anything. If not, it need not be called before ticker_wake. */
typedef bool (*ticker_fn)(void *context);

/* Calls fn(context) from now on. The first call starts the thread. */
void ticker_add(ticker_fn fn, void *context);
/* A function has something to watch from now on. Never blocks. */
void ticker_wake(void);
/* Ends the calls with this context; returns after one that runs has ended. Not from a function of the ticker.
 */
void ticker_remove(void *context);
