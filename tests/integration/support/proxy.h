/* A TCP proxy on a loopback port in front of the test server, for up to four connections, which it breaks on
 * demand. */
#pragma once

enum proxy_fault {
    PROXY_NONE,
    PROXY_CUT_BEFORE,  /* closes both sides instead of forwarding the client's data */
    PROXY_CUT_AFTER,   /* forwards it, waits for the server's answer, and closes both sides without
                          forwarding the answer */
    PROXY_SILENT,      /* from then on forwards nothing in either direction, until the client closes */
    PROXY_SILENT_AFTER /* forwards it, and from then on nothing in either direction */
};

struct proxy;

struct proxy *proxy_new(unsigned target_port);
/* Ends the test program when a fault was armed and nothing triggered it. */
void proxy_free(struct proxy *proxy);
unsigned proxy_port(const struct proxy *proxy);

/* The next data from a client that contains text, or executes a prepared statement that does, triggers the
 * fault on its connection, once. text is borrowed. */
void proxy_arm(struct proxy *proxy, enum proxy_fault fault, const char *text);
