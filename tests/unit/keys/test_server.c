/*
 * DS7: the key process answers every message or ends with a violation; it never crashes. Frames that the
 * client sends are altered at random (the seed is fixed, so that a failure repeats).
 * tests/integration/test_keyd_walls.c tests the exit code of each violation with the real program.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "check.h"
#include "frames.h"
#include <sodium.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"
#include "client.h"
#include "slowness.h"
#include "ring.h"
#include "keys/server.h"

#ifdef FAIRWAY_SANITIZED
#define CONVERSATIONS 300
#else
#define CONVERSATIONS 1500
#endif
#define FRAMES_MAX 6

static uint64_t random_state = 20261121;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 16) % limit);
}

/* ---- a key process without sandbox, in a child */

static int fd_of(const void *data, size_t len)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], data, len), len);
    close(ends[1]);
    return ends[0];
}

static struct ring ring;
static const struct keyd_settings settings = {.budget = {1000000, INT64_MAX},
    .limits = {.base_fee_stroops = 100},
    .max_lease_fee_stroops = 1000,
    .max_bump_fee_stroops = 1000};

static struct spawn_child serve(enum keyd_mode mode)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        exit(server_run(pair[1], mode, &settings, &ring));
    }
    close(pair[1]);
    return (struct spawn_child){.fd = pair[0], .pid = pid, .pidfd = -1};
}

static int end_of(struct spawn_child *child)
{
    uint8_t answers[4096];
    int status;
    shutdown(child->fd, SHUT_WR);
    while (recv(child->fd, answers, sizeof answers, 0) > 0)
        ;
    close(child->fd);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- frames of the client, recorded by a peer that never answers */

enum {
    LOAD,
    GENERATE,
    LEASES,
    FEE_BUMP,
    PROVISIONING,
    FRAMES
};
static struct buf frames[FRAMES];
static struct generated_key account;

static struct keyd *deaf(int *other_end)
{
    int pair[2];
    struct keyd *keyd = NEW(struct keyd);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    shutdown(pair[1], SHUT_WR);
    keyd->child.fd = pair[0];
    keyd->lost_event = eventfd(0, EFD_CLOEXEC);
    client_init(keyd);
    *other_end = pair[1];
    return keyd;
}

static void record(struct keyd *keyd, int other_end, struct buf *frame)
{
    buf_reserve(frame, 1u << 16);
    ssize_t len = recv(other_end, frame->data, frame->cap, 0);
    assert_true(len > 0);
    frame->len = (size_t)len;
    close(keyd->child.fd);
    close(other_end);
    client_free(keyd);
    free(keyd);
}

static void record_load(void)
{
    struct master_key_row current;
    struct public_key distribution;
    bool is_new;
    int other_end;
    struct keyd *keyd = deaf(&other_end);
    assert_int_equal(keyd_load(keyd, NULL, 0, &current, &is_new, &distribution, NULL), ERR_KEYD_UNAVAILABLE);
    record(keyd, other_end, &frames[LOAD]);
}

static struct provisioning_tx merge_with_source(const struct public_key *source)
{
    return (struct provisioning_tx){.kind = PROVISIONING_MERGE,
        .distribution = *source,
        .fee_stroops = 100,
        .max_time_s = 100,
        .account_count = 1,
        .accounts = {account.public_key}};
}

static void record_signing(void)
{
    struct buf transaction = {0}, envelope = {0};
    struct hash hash;
    uint32_t broken;
    int other_end;
    /* any transaction that the policy accepts can be the lease */
    struct provisioning_tx lease = merge_with_source(&account.public_key),
                           merge = merge_with_source(&ring.distribution);
    lease.accounts[0] = (struct public_key){{7}}; /* the operation's source */
    provisioning_tx_build(&lease, &transaction);
    struct lease_signing leases[3];
    for (size_t i = 0; i < ARRAY_LEN(leases); i++)
        leases[i] = (struct lease_signing){.transaction = buf_bytes(&transaction),
            .signer = account.public_key,
            .sealed = account.sealed,
            .bid_fee_stroops = i == 1 ? 500 : 0};
    struct keyd *keyd = deaf(&other_end);
    assert_int_equal(keyd_sign_leases(keyd, 50, 0, leases, ARRAY_LEN(leases)), ERR_KEYD_UNAVAILABLE);
    record(keyd, other_end, &frames[LEASES]);

    struct signature signature;
    hash = transaction_hash(&ring.network, buf_bytes(&transaction));
    assert_int_equal(ring_sign(&ring, &account.public_key, &account.sealed, &hash, &signature), ERR_OK);
    envelope_build(buf_bytes(&transaction), &account.public_key, &signature, 1, &envelope);
    keyd = deaf(&other_end);
    struct bump_signing bumps[2];
    for (size_t i = 0; i < ARRAY_LEN(bumps); i++)
        bumps[i] = (struct bump_signing){.inner = buf_bytes(&envelope),
            .sealed = account.sealed,
            .fee_stroops = 500,
            .envelope = &transaction};
    assert_int_equal(keyd_sign_fee_bumps(keyd, 0, bumps, ARRAY_LEN(bumps)), ERR_KEYD_UNAVAILABLE);
    record(keyd, other_end, &frames[FEE_BUMP]);

    keyd = deaf(&other_end);
    assert_int_equal(
        keyd_sign_provisioning(keyd, 50, &merge, &account.sealed, &transaction, &hash, &broken, NULL),
        ERR_KEYD_UNAVAILABLE);
    record(keyd, other_end, &frames[PROVISIONING]);
    buf_free(&transaction);
    buf_free(&envelope);
}

static void record_generate(void)
{
    struct generated_key keys[2];
    int other_end;
    struct keyd *keyd = deaf(&other_end);
    assert_int_equal(keyd_generate(keyd, 2, keys), ERR_KEYD_UNAVAILABLE);
    record(keyd, other_end, &frames[GENERATE]);
}

/* ---- */

static bool say(const struct spawn_child *child, struct bytes frame)
{
    return send(child->fd, frame.data, frame.len, MSG_NOSIGNAL) == (ssize_t)frame.len;
}

TEST_THAT(recorded_frames_are_answered)
{
    const int serving[] = {LOAD, LEASES, FEE_BUMP, LEASES},
              provisioning[] = {LOAD, GENERATE, PROVISIONING, GENERATE};
    for (int mode = KEYD_SERVE; mode <= KEYD_PROVISION; mode++) {
        struct spawn_child child = serve((enum keyd_mode)mode);
        for (size_t i = 0; i < 4; i++) {
            struct buf answer = {0};
            uint32_t type;
            const struct buf *frame = &frames[mode == KEYD_SERVE ? serving[i] : provisioning[i]];
            assert_true(say(&child, buf_bytes(frame)));
            assert_int_equal(read_frame(child.fd, &type, &answer, clock_ms() + slower(5000)), WIRE_DONE);
            assert_int_equal(type, be32_get(frame->data + 4));
            if (type != WIRE_GENERATE)
                assert_int_equal(be32_get(answer.data), ERR_OK);
            buf_free(&answer);
        }
        assert_int_equal(end_of(&child), EX_OK);
    }
}

/* Makes one to eight changes: bits, words that are lengths or counts, the end. */
static void alter(struct buf *frame)
{
    static const uint32_t words[] = {0, 1, 3, 255, 256, 257, 4096, 0x7fffffff, 0x80000000, UINT32_MAX};
    for (uint32_t changes = 1 + random_below(8); changes > 0; changes--)
        switch (random_below(5)) {
        case 0:
            frame->len -= random_below((uint32_t)frame->len > 12 ? (uint32_t)frame->len / 4 : 1);
            break;
        case 1:
            buf_add_u32(frame, random_below(1000));
            break;
        case 2:
            if (frame->len >= 4)
                be32_put(frame->data + random_below((uint32_t)frame->len / 4) * 4,
                    words[random_below(ARRAY_LEN(words))]);
            break;
        default:
            frame->data[random_below((uint32_t)frame->len)] ^= (uint8_t)(1 << random_below(8));
        }
    /* mostly the right length, so that the change reaches the handlers */
    if (random_below(4) != 0 && frame->len >= WIRE_HEADER_SIZE)
        be32_put(frame->data, (uint32_t)frame->len - WIRE_HEADER_SIZE);
}

static bool is_proper_end(int code)
{
    return code == EX_OK || code == EX_CONFIG || code == EX_IOERR ||
           (code >= VIOLATION_UNKNOWN && code <= VIOLATION_MALFORMED);
}

TEST_THAT(DS7_altered_frames_are_answered_or_end_with_a_violation)
{
    size_t survived = 0, ended = 0;
    for (size_t round = 0; round < CONVERSATIONS; round++) {
        struct spawn_child child = serve(random_below(2) ? KEYD_SERVE : KEYD_PROVISION);
        bool heard = random_below(8) == 0 || say(&child, buf_bytes(&frames[LOAD]));
        for (uint32_t i = random_below(FRAMES_MAX); heard && i > 0; i--) {
            struct buf frame = {0};
            buf_add_bytes(&frame, buf_bytes(&frames[random_below(16) ? 1 + random_below(FRAMES - 1) : LOAD]));
            if (random_below(3) != 0)
                alter(&frame);
            heard = say(&child, buf_bytes(&frame));
            buf_free(&frame);
        }
        int code = end_of(&child);
        if (!is_proper_end(code))
            fail_msg("conversation %zu: exit code %d", round, code);
        survived += code == EX_OK;
        ended += code != EX_OK;
    }
    print_message("%zu conversations to their end, %zu ended by a violation\n", survived, ended);
    assert_true(survived > CONVERSATIONS / 20 && ended > CONVERSATIONS / 20);
}

static int set_up(void **state)
{
    const uint8_t master[MASTER_KEY_SIZE] = {7}, seed[SEED_SIZE] = {11};
    const struct keyd_secrets secrets = {.fd[SECRET_MASTER_KEY] = fd_of(master, sizeof master),
        .fd[SECRET_PASSPHRASE] = -1,
        .fd[SECRET_DISTRIBUTION] = -1};
    const struct network_id network = network_id_of("test");
    bool is_new;
    if (sodium_init() < 0 || ring_open(&ring, &network, NULL) != ERR_OK ||
        ring_read(&ring, &secrets, NULL) != ERR_OK)
        return -1;
    crypto_sign_seed_keypair(ring.distribution.bytes, ring.secrets->distribution.secret, seed);
    ring.secrets->has_distribution = true;
    const struct ring unloaded = ring;
    const struct ring_secrets unloaded_secrets = *ring.secrets;
    if (ring_load(&ring, NULL, 0, &is_new, NULL) != ERR_OK)
        return -1;
    ring_generate(&ring, &account);
    record_load();
    record_generate();
    record_signing();
    ring = unloaded; /* the children load it themselves */
    *ring.secrets = unloaded_secrets;
    return 0;
}

static int tear_down(void **state)
{
    for (size_t i = 0; i < FRAMES; i++)
        buf_free(&frames[i]);
    sodium_free(ring.secrets);
    return 0;
}

GROUP_FIXTURE(set_up, tear_down)
