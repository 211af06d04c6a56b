/*
 * Watches the sockets of requests that wait for their reply, and calls back when the client closes its
 * connection. One thread watches all sockets; it holds no lock during a callback. The functions may be called
 * from any thread.
 */
#ifndef FAIRWAY_HTTP_HANGUPS_H
#define FAIRWAY_HTTP_HANGUPS_H

struct hangups;

/* One request that waits. The caller's memory, unchanged from hangups_watch to the end of hangups_unwatch. */
struct hangup {
    int fd;
    void (*callback)(void *context);
    void *context;
};

/* Starts the thread. Ends the process when the system has no descriptors or threads left. */
struct hangups *hangups_start(void);
/* Ends the thread. No watch may be left. Frees hangups. */
void hangups_free(struct hangups *hangups);

/*
 * Calls callback(context) from the thread when the client closes its connection or its sending side, or has
 * done so already: once, or not at all when hangups_unwatch comes first. Bytes that the client sends do not
 * matter. A socket has one watch at a time.
 */
void hangups_watch(struct hangups *hangups, struct hangup *hangup);
/* Ends the watch. If the callback is running, waits until it has returned, unless the caller is the callback
 * itself. */
void hangups_unwatch(struct hangups *hangups, const struct hangup *hangup);
/* Must be called before a socket that was ever watched is closed. Does nothing for other sockets. */
void hangups_forget(struct hangups *hangups, int fd);

#endif
