/*
 * What a signature costs the key process: CPU time in microseconds, user and system, for leases and fee bumps
 * in messages of several sizes.
 *
 *   sign_cost FAIRWAY_KEYD
 *
 * One line of JSON for each size: {"batch": 8, "lease_us": 52.1, "bump_us": 130.0}
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "keys/keyd.h"
#include "stellar/envelope_build.h"

#define SIGNATURES 8192

static double children_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage); /* counts children that have been reaped */
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void check(enum err e)
{
    if (e != ERR_OK) {
        fprintf(stderr, "sign_cost: %s\n", err_text(e));
        exit(1);
    }
}

static const char *program;

static int pipe_of(const char *text, size_t len)
{
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], text, len) != (ssize_t)len)
        check(ERR_INTERNAL);
    close(ends[1]);
    return ends[0];
}

static struct keyd *start(enum keyd_mode mode)
{
    static const char seed[] = "SAFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQX44I";
    const struct keyd_secrets secrets = {
        pipe_of("0123456789abcdef0123456789abcdef", 32), -1, pipe_of(seed, sizeof seed - 1)};
    const struct keyd_settings settings = {.budget = {1000000, INT64_MAX},
        .network = network_id_of("fairway bench"),
        .limits = {.base_fee_stroops = 100},
        .max_lease_fee_stroops = 10000,
        .max_bump_fee_stroops = 100000};
    struct keyd *keyd;
    struct master_key_row current;
    struct public_key distribution;
    bool is_new;
    check(keyd_start(program, mode, &settings, &secrets, &keyd, NULL));
    check(keyd_load(keyd, NULL, 0, &current, &is_new, &distribution, NULL));
    return keyd;
}

/* One operation with a source of its own. */
static void build_lease(const struct public_key *source, struct buf *out)
{
    const struct provisioning_tx merge = {.kind = PROVISIONING_MERGE,
        .distribution = *source,
        .sequence = 1,
        .fee_stroops = 100,
        .max_time_s = (uint64_t)time(NULL) + LEASE_SECONDS_MAX,
        .account_count = 1,
        .accounts = {{{1, 2, 3}}}};
    provisioning_tx_build(&merge, out);
}

static void sign_leases(struct keyd *keyd, struct lease_signing items[], size_t count)
{
    check(keyd_sign_leases(keyd, (uint64_t)time(NULL), 0, items, count));
    for (size_t i = 0; i < count; i++)
        check(items[i].result);
}

static void sign_bumps(struct keyd *keyd, struct bump_signing items[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_clear(items[i].envelope);
    check(keyd_sign_fee_bumps(keyd, 0, items, count));
    for (size_t i = 0; i < count; i++)
        check(items[i].result);
}

/* Returns the CPU time of each signature in a key process of its own, without what its start costs. */
static double cost(struct lease_signing leases[], struct bump_signing bumps[], size_t batch)
{
    double us[2];
    for (int signs = 0; signs < 2; signs++) {
        const double before_us = children_us();
        struct keyd *keyd = start(KEYD_SERVE);
        for (size_t done = 0; signs && done < SIGNATURES; done += batch)
            if (leases != NULL)
                sign_leases(keyd, leases, batch);
            else
                sign_bumps(keyd, bumps, batch);
        keyd_stop(keyd);
        us[signs] = children_us() - before_us;
    }
    return (us[1] - us[0]) / SIGNATURES;
}

int main(int argc, char **argv)
{
    static const size_t batches[] = {1, 2, 4, 8, 16, 64};
    static struct generated_key accounts[64];
    static struct lease_signing leases[64];
    static struct bump_signing bumps[64];
    static struct buf transactions[64], inner[64], envelopes[64];
    if (argc != 2) {
        fprintf(stderr, "usage: sign_cost FAIRWAY_KEYD\n");
        return 64;
    }
    program = argv[1];
    struct keyd *keyd = start(KEYD_PROVISION);
    check(keyd_generate(keyd, 64, accounts));
    keyd_stop(keyd);
    keyd = start(KEYD_SERVE);
    for (size_t i = 0; i < 64; i++) {
        build_lease(&accounts[i].public_key, &transactions[i]);
        leases[i] = (struct lease_signing){.transaction = buf_bytes(&transactions[i]),
            .signer = accounts[i].public_key,
            .sealed = accounts[i].sealed};
    }
    sign_leases(keyd, leases, 64);
    keyd_stop(keyd);
    for (size_t i = 0; i < 64; i++) {
        envelope_build(leases[i].transaction, &leases[i].signer, &leases[i].signature, 1, &inner[i]);
        bumps[i] = (struct bump_signing){.inner = buf_bytes(&inner[i]),
            .sealed = accounts[i].sealed,
            .fee_stroops = 1000,
            .envelope = &envelopes[i]};
    }
    for (size_t i = 0; i < ARRAY_LEN(batches); i++)
        printf("{\"batch\": %zu, \"lease_us\": %.1f, \"bump_us\": %.1f}\n", batches[i],
            cost(leases, NULL, batches[i]), cost(NULL, bumps, batches[i]));
    return 0;
}
