/*
 * fairway-keyd: the process that holds the keys. It has the master key, the distribution account's key and,
 * for the time of a signature, one channel account's seed. It can reach one socket, to the fairway that
 * started it; no file, no network, no database. It refuses to sign anything that it has not decoded and
 * judged itself, and it ends when that socket closes or when a message comes that should not.
 *
 * Started by fairway only: fairway-keyd serve|provision SOCKET MASTER_KEY PASSPHRASE DISTRIBUTION, the last
 * four being inherited descriptors, -1 for none.
 */
#include <signal.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "keys/server.h"

static bool descriptor(const char *text, int *out)
{
    int64_t value;
    if (text_to_i64(text, &value) != ERR_OK || value < -1 || value > 1023)
        return false;
    *out = (int)value;
    return true;
}

int main(int argc, char **argv)
{
    struct keyd_secrets secrets;
    int socket_fd;
    /* A terminal's Ctrl-C and a service manager's stop reach the whole group; fairway, which drains first,
       decides when this process ends. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (argc != 6 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "provision") != 0) ||
        !descriptor(argv[2], &socket_fd) || socket_fd < 0 || !descriptor(argv[3], &secrets.master_key_fd) ||
        !descriptor(argv[4], &secrets.passphrase_fd) || !descriptor(argv[5], &secrets.distribution_fd))
        log_fatal(EX_USAGE, "fairway-keyd is started by fairway", NULL);
    enum keyd_mode mode = strcmp(argv[1], "serve") == 0 ? KEYD_SERVE : KEYD_PROVISION;
    _exit(server_main(socket_fd, mode, &secrets)); /* nothing else may run in the sandbox */
}
