/* The service manager's notifications (sd_notify(3)), for units with Type=notify. */
#ifndef FAIRWAY_SYSTEMD_H
#define FAIRWAY_SYSTEMD_H

/* Sends one state, such as "READY=1", to the socket that $NOTIFY_SOCKET names. Does nothing when that is not
 * set. Does not block. A failure is only logged: the service runs, but the manager does not know it. */
void systemd_notify(const char *state);

#endif
