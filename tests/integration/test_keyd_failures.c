/*
 * DX5: the n-th allocation or the n-th library call of each request of the key process fails, for each n. The
 * answer is right or a clean refusal without a signature, or the process ends and every later call says so. A
 * process that goes on answers the next request rightly. tests/faults/fail.c makes the calls fail.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include <sodium.h>

#include "../../src/keys/seal.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"
#include "support/keyd.h"

#define MANY 1000000
#define ITEMS 3

static struct {
    int64_t allocations, calls;
} *volatile countdown; /* of tests/faults/fail.c */

static char folder[] = "/tmp/fairway-keyd-failures-XXXXXX";
static char *wrapper; /* starts the key process with fail.so */
static struct generated_key accounts[ITEMS];
static struct network_id network;

enum outcome {
    RIGHT,
    REFUSED, /* cleanly: no signature */
    WRONG,
    ENDED
};

/* ---- requests */

static struct keyd *start(enum keyd_mode mode, struct keyd_secrets secrets)
{
    struct keyd *keyd = NULL;
    struct detail detail = {0};
    const struct keyd_settings settings = keyd_test_settings();
    enum err e = keyd_start(wrapper, mode, &settings, &secrets, &keyd, &detail);
    return e == ERR_OK ? keyd : NULL;
}

static enum outcome load(struct keyd *keyd)
{
    const struct public_key expected = keyd_distribution();
    struct public_key distribution;
    struct master_key_row current;
    struct detail detail = {0};
    bool is_new;
    enum err e = keyd_load(keyd, NULL, 0, &current, &is_new, &distribution, &detail);
    if (e == ERR_KEYD_UNAVAILABLE)
        return ENDED;
    if (e != ERR_OK)
        return detail.text[0] != '\0' ? REFUSED : WRONG;
    return is_new && public_key_equal(&distribution, &expected) ? RIGHT : WRONG;
}

static bool is_zero(const struct signature *signature)
{
    const struct signature none = {0};
    return memcmp(signature, &none, sizeof none) == 0;
}

static enum outcome sign_leases(struct keyd *keyd)
{
    struct buf transactions[ITEMS] = {{0}};
    struct lease_signing items[ITEMS];
    enum outcome outcome = RIGHT;
    for (size_t i = 0; i < ITEMS; i++) {
        lease_transaction(&accounts[i].public_key, (uint64_t)time(NULL) + 60, &transactions[i]);
        items[i] = (struct lease_signing){.transaction = buf_bytes(&transactions[i]),
            .signer = accounts[i].public_key,
            .sealed = accounts[i].sealed};
    }
    if (keyd_sign_leases(keyd, (uint64_t)time(NULL), 0, items, ITEMS) != ERR_OK)
        outcome = ENDED;
    for (size_t i = 0; i < ITEMS && outcome != ENDED && outcome != WRONG; i++) {
        const struct hash hash = transaction_hash(&network, items[i].transaction);
        if (items[i].result != ERR_OK)
            outcome = is_zero(&items[i].signature) ? REFUSED : WRONG;
        else if (!hash_equal(&hash, &items[i].hash) ||
                 !signature_valid(&items[i].signature, &hash, &items[i].signer))
            outcome = WRONG;
    }
    for (size_t i = 0; i < ITEMS; i++)
        buf_free(&transactions[i]);
    return outcome;
}

/* Whether the envelope decodes, has this hash, and its first signature is the distribution account's. */
static bool is_paid(const struct buf *xdr, const struct hash *hash, size_t signatures)
{
    const struct public_key distribution = keyd_distribution();
    struct envelope view;
    struct detail detail;
    struct signature signature;
    if (envelope_decode(buf_bytes(xdr), &view, &detail) != ERR_OK)
        return false;
    /* the last signature of a fee bump is its own */
    const uint8_t *at =
        xdr->data + xdr->len - sizeof signature - (signatures - 1) * (4 + 4 + sizeof signature);
    memcpy(signature.bytes, at, sizeof signature);
    return signature_valid(&signature, hash, &distribution);
}

static enum outcome sign_bumps(struct keyd *keyd)
{
    uint8_t master[MASTER_KEY_SIZE];
    struct key_pair pair;
    CLEANUP(buf_free) struct buf transaction = {0}, inner = {0}, out = {0};
    struct signature signature;
    memset(master, 7, sizeof master);
    lease_transaction(&accounts[0].public_key, (uint64_t)time(NULL) + 60, &transaction);
    const struct hash hash = transaction_hash(&network, buf_bytes(&transaction));
    assert_int_equal(
        seal_open(master, &network, &accounts[0].public_key, &accounts[0].sealed, &pair), ERR_OK);
    crypto_sign_detached(signature.bytes, NULL, hash.bytes, sizeof hash.bytes, pair.secret);
    envelope_build(buf_bytes(&transaction), &accounts[0].public_key, &signature, 1, &inner);
    struct bump_signing item = {
        .inner = buf_bytes(&inner), .sealed = accounts[0].sealed, .fee_stroops = 500, .envelope = &out};
    if (keyd_sign_fee_bumps(keyd, 0, &item, 1) != ERR_OK)
        return ENDED;
    if (item.result != ERR_OK)
        return out.len == 0 ? REFUSED : WRONG;
    return is_paid(&out, &item.hash, 1) ? RIGHT : WRONG;
}

static enum outcome generate(struct keyd *keyd)
{
    uint8_t master[MASTER_KEY_SIZE];
    struct generated_key keys[ITEMS];
    struct key_pair pair;
    memset(master, 7, sizeof master);
    if (keyd_generate(keyd, ITEMS, keys) != ERR_OK)
        return ENDED;
    for (size_t i = 0; i < ITEMS; i++)
        if (seal_open(master, &network, &keys[i].public_key, &keys[i].sealed, &pair) != ERR_OK)
            return WRONG;
    return RIGHT;
}

static enum outcome provision(struct keyd *keyd)
{
    const struct provisioning_tx creation = {.distribution = keyd_distribution(),
        .sequence = 5,
        .fee_stroops = 500,
        .max_time_s = (uint64_t)time(NULL) + 60,
        .account_count = ITEMS,
        .accounts = {accounts[0].public_key, accounts[1].public_key, accounts[2].public_key}};
    const struct sealed_seed sealed[ITEMS] = {accounts[0].sealed, accounts[1].sealed, accounts[2].sealed};
    struct buf out CLEANUP(buf_free) = {0};
    struct hash hash;
    struct detail detail;
    uint32_t broken;
    enum err e =
        keyd_sign_provisioning(keyd, (uint64_t)time(NULL), &creation, sealed, &out, &hash, &broken, &detail);
    if (e == ERR_KEYD_UNAVAILABLE)
        return ENDED;
    if (e != ERR_OK)
        return out.len == 0 ? REFUSED : WRONG;
    return is_paid(&out, &hash, ITEMS + 1) ? RIGHT : WRONG;
}

static enum outcome refuse(struct keyd *keyd)
{
    const uint8_t rubbish[8] = {1};
    struct lease_signing item = {.transaction = {rubbish, sizeof rubbish}, .signer = accounts[0].public_key};
    if (keyd_sign_leases(keyd, (uint64_t)time(NULL), 0, &item, 1) != ERR_OK)
        return ENDED;
    return item.result != ERR_OK && is_zero(&item.signature) ? RIGHT : WRONG;
}

/* ---- failures */

static struct keyd_secrets with_passphrase(void)
{
    struct keyd_secrets secrets = keyd_known_secrets();
    close(secrets.fd[SECRET_MASTER_KEY]);
    secrets.fd[SECRET_MASTER_KEY] = -1;
    secrets.fd[SECRET_PASSPHRASE] = secret_of_text("a passphrase of this test");
    return secrets;
}

static const struct kind {
    const char *name;
    enum keyd_mode mode;
    struct keyd_secrets (*secrets)(void);
    enum outcome (*request)(struct keyd *keyd);
    bool is_first; /* load, on a process of its own each time */
} kinds[] = {
    {"load", KEYD_SERVE, keyd_known_secrets, load, true},
    {"load with a passphrase", KEYD_SERVE, with_passphrase, load, true},
    {"leases", KEYD_SERVE, keyd_known_secrets, sign_leases, false},
    {"a refused lease", KEYD_SERVE, keyd_known_secrets, refuse, false},
    {"a fee bump", KEYD_SERVE, keyd_known_secrets, sign_bumps, false},
    {"keys", KEYD_PROVISION, keyd_known_secrets, generate, false},
    {"a creation", KEYD_PROVISION, keyd_known_secrets, provision, false},
};

static struct keyd *ready(const struct kind *kind)
{
    struct keyd *keyd = start(kind->mode, kind->secrets());
    assert_non_null(keyd);
    if (!kind->is_first)
        assert_int_equal(load(keyd), RIGHT);
    return keyd;
}

static void arm(bool allocation, int64_t n)
{
    countdown->allocations = allocation ? n : 0;
    countdown->calls = allocation ? 0 : n;
}

static int64_t left(bool allocation)
{
    return allocation ? countdown->allocations : countdown->calls;
}

static void assert_ended(struct keyd *keyd)
{
    struct detail end;
    for (int tries = 0; !keyd_ended(keyd, &end) && tries < 1000; tries++)
        usleep(10000);
    assert_true(keyd_ended(keyd, &end));
}

/* Returns whether the process has ended. After the answer it may end too, because the wait for the next
 * request is a call that fails. */
static bool fail_at(const struct kind *kind, struct keyd *keyd, bool allocation, int64_t n)
{
    arm(allocation, n);
    const enum outcome outcome = kind->request(keyd);
    arm(false, 0);
    if (outcome == WRONG)
        fail_msg("%s, %s %d: a wrong answer", kind->name, allocation ? "allocation" : "call", (int)n);
    const enum outcome next = !kind->is_first ? kind->request(keyd) : outcome == RIGHT ? refuse(keyd) : ENDED;
    if (next != ENDED && (outcome == ENDED || next != RIGHT))
        fail_msg("%s, %s %d: outcome %d, then %d", kind->name, allocation ? "allocation" : "call", (int)n,
            (int)outcome, (int)next);
    if (next == ENDED)
        assert_ended(keyd);
    return next == ENDED;
}

static void fail_everywhere(const struct kind *kind, bool allocation)
{
    struct keyd *keyd = ready(kind);
    int ends = 0;
    arm(allocation, MANY);
    assert_int_equal(kind->request(keyd), RIGHT);
    const int64_t total = MANY - left(allocation);
    arm(false, 0);
    for (int64_t n = 1; n <= total; n++) {
        keyd_stop(keyd);
        keyd = ready(kind);
        ends += fail_at(kind, keyd, allocation, n);
    }
    keyd_stop(keyd);
    print_message("%s: %d of %d %s failed, the process ended %d times\n", kind->name, (int)total, (int)total,
        allocation ? "allocations" : "calls", ends);
}

TEST(DX5_an_allocation_that_fails_gives_a_clean_refusal_or_ends_the_key_process)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        fail_everywhere(&kinds[i], true);
}

TEST(DX5_a_library_call_that_fails_gives_a_clean_refusal_or_ends_the_key_process)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        fail_everywhere(&kinds[i], false);
}

/* From its first instruction until it is ready. */
TEST(DX5_a_start_that_fails_is_refused)
{
    for (int allocation = 0; allocation < 2; allocation++) {
        arm(allocation != 0, MANY);
        keyd_stop(start(KEYD_SERVE, keyd_known_secrets()));
        const int64_t total = MANY - left(allocation != 0);
        for (int64_t n = 1; n <= total; n++) {
            arm(allocation != 0, n);
            AUTO_KEYD keyd = start(KEYD_SERVE, keyd_known_secrets());
            arm(false, 0);
            const enum outcome outcome = keyd != NULL ? load(keyd) : ENDED; /* it may end when it is ready */
            assert_true(outcome == RIGHT || outcome == ENDED);
        }
        assert_true(total > 0);
    }
}

static int set_up(void **state)
{
    const char *given = getenv("FAIRWAY_FAIL_SO");
    AUTO_FREE char *library = realpath(given != NULL ? given : "build/release/tests/faults/fail.so", NULL);
    AUTO_FREE char *program = realpath(keyd_program(), NULL);
    if (library == NULL || program == NULL || mkdtemp(folder) == NULL)
        return -1;
    AUTO_FREE char *control = mem_format("%s/control", folder);
    int fd = open(control, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *countdown) != 0)
        return -1;
    countdown = mmap(NULL, sizeof *countdown, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    wrapper = mem_format("%s/fairway-keyd", folder);
    FILE *script = fopen(wrapper, "we");
    if (script == NULL)
        return -1;
    fprintf(script,
        "#!/bin/sh\nLD_PRELOAD='%s' FAIRWAY_FAIL='%s' FAIRWAY_FAIL_PROGRAM=fairway-keyd exec '%s' \"$@\"\n",
        library, control, program);
    fclose(script);
    network = network_id_of(KEYD_TEST_PASSPHRASE);
    keyd_accounts(accounts, ITEMS);
    return chmod(wrapper, 0700);
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = mem_format("rm -rf '%s'", folder);
    free(wrapper);
    return system(command);
}

GROUP_FIXTURE(set_up, tear_down)

int main(void)
{
    if (sodium_init() < 0)
        return 1;
#ifdef FAIRWAY_SANITIZED
    return check_skip(); /* a sanitizer has its own allocator */
#else
    return check_run();
#endif
}
