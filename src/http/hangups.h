/*
 * Watches the sockets of requests that wait for their reply, and calls back when the client closes its
 * connection. The listener's thread looks at all of them several times a second; it holds no lock during a
 * callback. The functions may be called from any thread unless they say otherwise.
 */
#pragma once

#include <pthread.h>
#include <sys/queue.h>

/* One request that waits. The caller's memory, unchanged from hangups_watch to the end of hangups_unwatch. */
struct hangup {
    int fd;
    void (*callback)(void *context);
    void *context;
    LIST_ENTRY(hangup) entry; /* the list's */
};

struct hangups {
    pthread_mutex_t mutex;                        /* guards what follows, and the lists */
    pthread_cond_t returned;                      /* a callback has returned */
    LIST_HEAD(hangup_list, hangup) watched, gone; /* gone: to be called back */
    const struct hangup *running; /* its callback is running; only compared, it may have been freed */
    pthread_t caller;             /* the thread of that callback */
};

void hangups_init(struct hangups *hangups);
/* No watch may be left. */
void hangups_destroy(struct hangups *hangups);

/*
 * Has hangups_check call callback(context) when the client closes its connection or its sending side, or has
 * done so already: once, or not at all when hangups_unwatch comes first. Bytes that the client sends do not
 * matter.
 */
void hangups_watch(struct hangups *hangups, struct hangup *hangup);
/* Ends the watch, before the socket is closed. If the callback is running, waits until it has returned,
 * unless the caller is the callback itself. */
void hangups_unwatch(struct hangups *hangups, struct hangup *hangup);
/* Looks at the sockets and calls back. For one thread. */
void hangups_check(struct hangups *hangups);
