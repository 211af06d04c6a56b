/*
 * fairway-keyd: the process that holds the keys: the master key, the distribution account's key and, during a
 * signature, one channel account's seed. It can reach one socket, to the fairway that started it, and no
 * file, network or database. It signs only what it has decoded and checked itself. It exits when the socket
 * closes or when a message is not permitted.
 *
 * Only fairway starts it. Its command line (keys/arguments.h) has its mode, its descriptors and all limits of
 * what it signs.
 */
#include <signal.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "keys/server.h"

int main(int argc, char **argv)
{
    struct arguments arguments;
    /* Ctrl-C and a service manager signal the whole process group. fairway drains first, then closes the
       socket. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (argc != 2 || !arguments_read(argv[1], &arguments))
        log_fatal(EX_USAGE, "fairway-keyd must be started by fairway", NULL);
    if (log_set_format(arguments.json_log ? "json" : "logfmt") != ERR_OK)
        _exit(EX_SOFTWARE);
    _exit(server_main(&arguments)); /* nothing else may run in the sandbox */
}
