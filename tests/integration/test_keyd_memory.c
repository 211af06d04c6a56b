/*
 * DS6: searches all memory of the key process for its secrets. The master key and the distribution key are
 * only in locked pages that are not in core dumps; the key of a channel account is nowhere after it has
 * signed. Skipped in instrumented builds, which lock nothing and keep freed memory.
 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include <sodium.h>

#include "../../src/keys/seal.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"
#include "support/keyd.h"
#include "support/keyd_raw.h"

#define NOW_S ((uint64_t)time(NULL))

struct sought {
    const char *name;
    const uint8_t *data;
    size_t len;
    size_t outside, inside; /* hits in ordinary pages, and in locked pages that are not dumped */
};

static void search(
    FILE *memory, unsigned long from, unsigned long to, bool guarded, struct sought *sought, size_t count)
{
    size_t len = to - from;
    AUTO_FREE uint8_t *page = NEW_ARRAY(len, uint8_t);
    if (fseek(memory, (long)from, SEEK_SET) != 0 || fread(page, 1, len, memory) != len) {
        clearerr(memory); /* guard pages cannot be read */
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (uint8_t *at = page;
             (at = memmem(at, len - (size_t)(at - page), sought[i].data, sought[i].len)) != NULL; at++)
            *(guarded ? &sought[i].inside : &sought[i].outside) += 1;
}

static void search_memory(const struct spawn_child *child, struct sought *sought, size_t count)
{
    AUTO_FREE char *path = mem_format("/proc/%d/mem", (int)child->pid);
    AUTO_FREE char *maps = raw_proc(child, "smaps", NULL);
    unsigned long from = 0, to = 0, low, high;
    size_t searched = 0;
    FILE *memory = fopen(path, "re");
    assert_non_null(memory);
    for (char *rest = maps, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char permissions[8];
        if (sscanf(line, "%lx-%lx %7s", &low, &high, permissions) == 3) {
            from = permissions[0] == 'r' ? low : 0;
            to = high;
        } else if (strncmp(line, "VmFlags:", 8) == 0 && from != 0) {
            search(
                memory, from, to, strstr(line, " lo") != NULL && strstr(line, " dd") != NULL, sought, count);
            searched++;
        }
    }
    fclose(memory);
    assert_in_range(searched, 5, 10000);
}

/*
 * The scalar that signs is a hash of the seed (RFC 8032 section 5.1.5). libsodium's fixed-base multiplication
 * splits it into 64 signed digits of 4 bits, which it leaves on the stack.
 */
static void scalar_of(const uint8_t seed[32], uint8_t hashed[64], int8_t digits[64])
{
    crypto_hash_sha512(hashed, seed, 32);
    hashed[0] &= 248;
    hashed[31] = (uint8_t)((hashed[31] & 63) | 64);
    int carry = 0;
    for (int i = 0; i < 64; i++) {
        int digit = (hashed[i / 2] >> 4 * (i % 2) & 15) + carry;
        carry = i < 63 && digit >= 8;
        digits[i] = (int8_t)(digit - 16 * carry);
    }
}

/* The forms in which a key is in memory. */
struct forms {
    uint8_t seed[32], scalar[64];
    int8_t digits[64];
};

static struct forms forms_of(const uint8_t seed[32])
{
    struct forms forms;
    memcpy(forms.seed, seed, sizeof forms.seed);
    scalar_of(seed, forms.scalar, forms.digits);
    return forms;
}

static void assert_nowhere(const struct spawn_child *child, const struct forms *forms)
{
    struct sought sought[] = {{"the seed", forms->seed, sizeof forms->seed, 0, 0},
        {"the scalar", forms->scalar, sizeof forms->scalar, 0, 0},
        {"the scalar's digits", (const uint8_t *)forms->digits, sizeof forms->digits, 0, 0}};
    search_memory(child, sought, ARRAY_LEN(sought));
    for (size_t i = 0; i < ARRAY_LEN(sought); i++)
        if (sought[i].inside + sought[i].outside != 0)
            fail_msg("%s: %zu in guarded pages, %zu elsewhere", sought[i].name, sought[i].inside,
                sought[i].outside);
}

static struct forms open_account(const struct generated_key *account)
{
    uint8_t master[32];
    struct key_pair open;
    const struct network_id network = network_id_of(KEYD_TEST_PASSPHRASE);
    memset(master, 7, sizeof master);
    assert_int_equal(seal_open(master, &network, &account->public_key, &account->sealed, &open), ERR_OK);
    return forms_of(open.secret);
}

static void assert_own_keys_guarded(const struct spawn_child *child, const char *when)
{
    uint8_t master[32], seed[32];
    memset(master, 7, sizeof master);
    memset(seed, 11, sizeof seed);
    const struct forms forms = forms_of(seed);
    struct sought sought[] = {{"the master key", master, sizeof master, 0, 0},
        {"the distribution seed", seed, sizeof seed, 0, 0},
        {"the distribution seed as text", (const uint8_t *)"SAFQWCYLBMFQWCYL", 16, 0, 0},
        {"the distribution scalar", forms.scalar, sizeof forms.scalar, 0, 0},
        {"the distribution scalar's digits", (const uint8_t *)forms.digits, sizeof forms.digits, 0, 0}};
    search_memory(child, sought, ARRAY_LEN(sought));
    for (size_t i = 0; i < ARRAY_LEN(sought); i++)
        if (sought[i].outside != 0 || (sought[i].inside != 0) != (i < 2))
            fail_msg("%s, %s: %zu in guarded pages, %zu elsewhere", sought[i].name, when, sought[i].inside,
                sought[i].outside);
}

TEST(DS6_its_own_keys_are_in_guarded_pages_only)
{
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    assert_own_keys_guarded(&child, "before it is loaded");
    raw_load(&child);
    assert_own_keys_guarded(&child, "loaded");
    assert_int_equal(raw_end(&child), EX_OK);
}

/* Has the fee bump of a lease signed; answer is that to the lease (result, hash, signature). */
static void bump_it(const struct spawn_child *child, const struct generated_key *account,
    const struct buf *transaction, struct buf *answer)
{
    struct buf inner CLEANUP(buf_free) = {0};
    struct signature signature;
    memcpy(signature.bytes, answer->data + 4 + sizeof(struct hash), sizeof signature);
    envelope_build(buf_bytes(transaction), &account->public_key, &signature, 1, &inner);
    buf_clear(answer);
    buf_add_u32(answer, 1);
    buf_add_u64(answer, 500);
    wire_put_sealed(answer, &account->sealed);
    wire_put_bytes(answer, buf_bytes(&inner));
    raw_send(child, WIRE_FEE_BUMPS, answer);
    raw_receive(child, WIRE_FEE_BUMPS, answer);
    assert_int_equal(be32_get(answer->data), ERR_OK);
}

TEST(no_secret_of_an_account_stays_in_memory_after_it_signed)
{
    struct generated_key account;
    CLEANUP(buf_free) struct buf transaction = {0}, message = {0};
    keyd_accounts(&account, 1);
    const struct forms forms = open_account(&account);
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    raw_load(&child);
    lease_transaction(&account.public_key, NOW_S + 60, &transaction);
    buf_add_u64(&message, NOW_S);
    buf_add_u32(&message, 1);
    buf_add(&message, account.public_key.bytes, sizeof account.public_key.bytes);
    wire_put_sealed(&message, &account.sealed);
    buf_add_u64(&message, 500); /* with a bid */
    wire_put_bytes(&message, buf_bytes(&transaction));
    raw_send(&child, WIRE_LEASES, &message);
    raw_receive(&child, WIRE_LEASES, &message);
    assert_int_equal(be32_get(message.data), ERR_OK);
    assert_nowhere(&child, &forms);
    bump_it(&child, &account, &transaction, &message);
    assert_nowhere(&child, &forms);
    assert_own_keys_guarded(&child, "after a fee bump");
    assert_int_equal(raw_end(&child), EX_OK);
}

/* A creation, which the distribution account and the new account sign. */
TEST(no_secret_stays_in_memory_after_a_creation)
{
    struct generated_key account;
    struct buf message CLEANUP(buf_free) = {0};
    const struct public_key distribution = keyd_distribution();
    keyd_accounts(&account, 1);
    const struct forms forms = open_account(&account);
    struct spawn_child child = raw_spawn(KEYD_PROVISION);
    raw_load(&child);
    buf_add_u64(&message, NOW_S);
    buf_add_u32(&message, PROVISIONING_CREATION);
    buf_add(&message, distribution.bytes, sizeof distribution.bytes);
    buf_add_u32(&message, 0);   /* not bumped */
    buf_add_u64(&message, 5);   /* sequence */
    buf_add_u32(&message, 500); /* fee */
    buf_add_u64(&message, NOW_S + 60);
    buf_add_u32(&message, 1);
    buf_add(&message, account.public_key.bytes, sizeof account.public_key.bytes);
    wire_put_sealed(&message, &account.sealed);
    raw_send(&child, WIRE_PROVISIONING, &message);
    raw_receive(&child, WIRE_PROVISIONING, &message);
    assert_int_equal(be32_get(message.data), ERR_OK);
    assert_nowhere(&child, &forms);
    assert_own_keys_guarded(&child, "after a creation");
    assert_int_equal(raw_end(&child), EX_OK);
}

TEST(no_secret_of_a_generated_account_stays_in_memory)
{
    struct generated_key account;
    struct buf message CLEANUP(buf_free) = {0};
    struct spawn_child child = raw_spawn(KEYD_PROVISION);
    raw_load(&child);
    buf_add_u32(&message, 1);
    raw_send(&child, WIRE_GENERATE, &message);
    raw_receive(&child, WIRE_GENERATE, &message);
    struct xdr_reader answer = xdr_reader(buf_bytes(&message));
    xdr_opaque(&answer, account.public_key.bytes, sizeof account.public_key.bytes);
    account.sealed = wire_get_sealed(&answer);
    assert_int_equal(answer.e, ERR_OK);
    const struct forms forms = open_account(&account);
    assert_nowhere(&child, &forms);
    assert_int_equal(raw_end(&child), EX_OK);
}

/* Tests the search itself on this process, which has the secret in ordinary memory. */
TEST(the_search_finds_a_secret_in_unguarded_memory)
{
    uint8_t known[32];
    memset(known, 13, sizeof known);
    struct sought sought[] = {{"a known value", known, sizeof known, 0, 0}};
    search_memory(&(struct spawn_child){.pid = getpid()}, sought, 1);
    assert_true(sought[0].outside > 0);
}

/* Only root can read the memory of a sandboxed process. */
static bool can_look(void)
{
#ifdef FAIRWAY_SANITIZED
    return false;
#else
    return geteuid() == 0;
#endif
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    return can_look() ? check_run() : check_skip();
}
