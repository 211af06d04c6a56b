/*
 * The thread that watches deadlines, one for the process: about every 50 ms it calls each function. None may
 * wait for the database, for a network or for another thread's work: the others would wait too.
 */
#ifndef FAIRWAY_BASE_TICKER_H
#define FAIRWAY_BASE_TICKER_H

typedef void (*ticker_fn)(void *context);

/* Calls fn(context) from now on. The first call starts the thread. */
void ticker_add(ticker_fn fn, void *context);
/* Ends the calls with this context; returns after one that runs has ended. Not from a function of the ticker.
 */
void ticker_remove(void *context);

#endif
