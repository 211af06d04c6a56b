/*
 * fairway-keyd: the process that holds the keys: the master key, the distribution account's key and, during a
 * signature, one channel account's seed. It can reach one socket, to the fairway that started it, and no
 * file, network or database. It signs only what it has decoded and checked itself. It exits when the socket
 * closes or when a message is not permitted.
 *
 * Started by fairway: fairway-keyd serve|provision SOCKET MASTER_KEY PASSPHRASE DISTRIBUTION
 * SIGNATURES_PER_SECOND FEES_PER_HOUR. The middle four are inherited descriptors; -1 means none. The last two
 * are the budget.
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

static bool budget(char *const text[static 2], struct keyd_budget *out)
{
    int64_t signatures;
    if (text_to_i64(text[0], &signatures) != ERR_OK ||
        text_to_i64(text[1], &out->fee_stroops_per_hour) != ERR_OK ||
        signatures < KEYD_SIGNATURES_PER_SECOND_MIN || signatures > UINT32_MAX ||
        out->fee_stroops_per_hour < 0)
        return false;
    out->signatures_per_second = (uint32_t)signatures;
    return true;
}

int main(int argc, char **argv)
{
    struct keyd_secrets secrets;
    struct keyd_budget limits;
    int socket_fd;
    /* Ctrl-C and a service manager signal the whole process group. fairway drains first, then closes the
       socket. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (argc != 8 || (strcmp(argv[1], "serve") != 0 && strcmp(argv[1], "provision") != 0) ||
        !descriptor(argv[2], &socket_fd) || socket_fd < 0 || !descriptor(argv[3], &secrets.master_key_fd) ||
        !descriptor(argv[4], &secrets.passphrase_fd) || !descriptor(argv[5], &secrets.distribution_fd) ||
        !budget(argv + 6, &limits))
        log_fatal(EX_USAGE, "fairway-keyd must be started by fairway", NULL);
    enum keyd_mode mode = strcmp(argv[1], "serve") == 0 ? KEYD_SERVE : KEYD_PROVISION;
    _exit(server_main(socket_fd, mode, &limits, &secrets)); /* nothing else may run in the sandbox */
}
