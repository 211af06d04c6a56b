/*
 * DA5, DA6 and H11: transactions at random, with the accounts of fairway in every role that the schema
 * allows. None may be signed that could use their authority, and none may be refused because of an account
 * that authorizes nothing. The test decides by itself what authority a transaction uses: by the roles in
 * which it has put an account.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "generate.h"
#include "policy_parts.h"
#include "operation.h"
#include "sample.h"
#include "stellar/envelope_build.h"

#define TRANSACTIONS 100000
#define TRANSACTIONS_LONG 10000000 /* FAIRWAY_SIZE=long */
#define POOL 3
#define DISTRIBUTION 120       /* sample_key: of the distribution account */
#define FIRST_POOL_ACCOUNT 121 /* and those of the pool */
#define CLIENTS 100

static const struct policy_limits limits = {.base_fee_stroops = 100,
    .max_resource_fee_stroops = (int64_t)2 << 32,
    .distribution = {{[0 ... 31] = DISTRIBUTION}},
    .bump_base_fee_stroops = 100,
    .max_bump_fee_stroops = 300};

/* ---- roles */

/* The roles in which an account authorizes something, or gets a say in what another account does. */
static const struct authority_role {
    enum xdr_type container;
    unsigned index;
} authority_roles[] = {
    {XDR_Operation, 0},       /* the source */
    {XDR_PreconditionsV2, 4}, /* an extra signer */
    {XDR_Signer, 0},          /* SetOptions adds it as a signer */
    {XDR_ContractIdPreimageFromAddress, 0},
    {XDR_SorobanAddressCredentials, 0},
    {XDR_SorobanDelegateSignature, 0},
};

/* The others: accounts that receive, are paid from by a contract that has to ask them, or are only spoken of.
 * A new role must be added to one of the two lists. */
static const enum xdr_type harmless[] = {XDR_Transaction, XDR_CreateAccountOp, XDR_PaymentOp, XDR_AlphaNum4,
    XDR_AlphaNum12, XDR_PathPaymentStrictReceiveOp, XDR_SetOptionsOp, XDR_AllowTrustOp, XDR_OperationBody,
    XDR_PathPaymentStrictSendOp, XDR_ClaimantV0, XDR_BeginSponsoringFutureReservesOp, XDR_LedgerKeyAccount,
    XDR_LedgerKeyTrustLine, XDR_LedgerKeyOffer, XDR_LedgerKeyData, XDR_LedgerKeyContractData, XDR_ScVal,
    XDR_ContractExecutableExternalRef, XDR_RevokeSponsorshipOpSigner, XDR_ClawbackOp, XDR_SetTrustLineFlagsOp,
    XDR_InvokeContractArgs};

static bool is_authority(const struct role *role)
{
    for (size_t i = 0; i < ARRAY_LEN(authority_roles); i++)
        if (authority_roles[i].container == role->container && authority_roles[i].index == role->index)
            return true;
    return false;
}

static bool is_harmless(const struct role *role)
{
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (harmless[i] == role->container)
            return !is_authority(role);
    return false;
}

/* ---- one random transaction */

struct world {
    struct generator generator; /* first */
    struct buf body, xdr;
    bool uses[1 + POOL]; /* authority of the distribution account and of each pool account */
    bool no_source;      /* an operation would act for the channel account */
    bool by_entries;     /* it is the only one, and calls a contract */
    bool keys_matter;    /* false inside a Signer of weight 0, which is removed */
};

static struct public_key choose_account(struct generator *generator, struct role *role)
{
    struct world *world = (struct world *)generator;
    if (!generate_once_in(generator, 14))
        return sample_key((uint8_t)generate_below(generator, CLIENTS));
    const uint32_t which = generate_below(generator, 1 + POOL);
    role->hits++;
    world->uses[which] |= is_authority(role) && world->keys_matter;
    return sample_key((uint8_t)(DISTRIBUTION + which));
}

static void add_account(struct world *world, enum xdr_type container, unsigned index)
{
    struct role *role = role_find(&world->generator, container, index);
    generate_account(&world->generator, role->holds, role);
}

static void add_extra_signers(struct world *world)
{
    struct generator *generator = &world->generator;
    struct buf *out = generator->out;
    const uint32_t count = generate_below(generator, 3);
    buf_add_u32(out, count);
    size_t first = out->len;
    for (uint32_t i = 0; i < count; i++)
        add_account(world, XDR_PreconditionsV2, 4);
    if (count != 2 || !generate_once_in(generator, 20))
        return;
    out->len = first; /* the same twice */
    for (int i = 0; i < 2; i++) {
        buf_add_u32(out, 2);
        buf_add(out, sample_key(5).bytes, 32);
    }
}

static void add_preconditions(struct world *world, bool v0)
{
    struct generator *generator = &world->generator;
    struct buf *out = generator->out;
    const uint32_t kind = generate_below(generator, v0 ? 2 : 3); /* PreconditionType, or an option for V0 */
    buf_add_u32(out, kind);
    if (kind == 0)
        return;
    if (kind == 2)
        buf_add_u32(out, 1);
    buf_add_u64(out, 0);
    buf_add_u64(out, 2000);
    if (kind == 1)
        return;
    buf_add_u32(out, 1);
    buf_add_u32(out, generate_once_in(generator, 40) ? 50 : 10);
    buf_add_u32(out, 20);
    const uint32_t sequence = generate_below(generator, 40);
    buf_add_u32(out, sequence == 0);
    if (sequence == 0)
        buf_add_u64(out, 5);
    buf_add_u64(out, sequence == 1);
    buf_add_u32(out, sequence == 2);
    add_extra_signers(world);
}

/* Wasm that is as large as, or larger than, a transaction may be. */
static void add_large_upload(struct world *world)
{
    struct buf *out = world->generator.out;
    const uint32_t len = 130000 + 4 * generate_below(&world->generator, 1000);
    buf_add_u32(out, 2);
    buf_add_u32(out, len);
    for (uint32_t i = 0; i < len; i += 4)
        buf_add_u32(out, 0);
    buf_add_u32(out, 0); /* auth */
}

/* More entries than accounts can be named. */
static void add_many_entries(struct world *world)
{
    struct buf *out = world->generator.out;
    buf_add_u32(out, 0);
    add_contract_call(out);
    buf_add_u32(out, POLICY_NAMED_MAX + 1);
    world->generator.credentials[1] += POLICY_NAMED_MAX + 1;
    for (uint32_t i = 0; i <= POLICY_NAMED_MAX; i++) {
        size_t start = out->len;
        add_address_entry(out, 1, ACCOUNT, 1);
        be32_put(out->data + start + 12, i);
    }
}

static void add_body(struct world *world, uint32_t kind)
{
    struct generator *generator = &world->generator;
    const struct xdr_type_info *bodies = &xdr_types[XDR_OperationBody];
    buf_add_u32(generator->out, kind);
    if (kind == INVOKE_HOST_FUNCTION && generate_once_in(generator, 100))
        add_large_upload(world);
    else if (kind == INVOKE_HOST_FUNCTION && generate_once_in(generator, 200))
        add_many_entries(world);
    else if (kind == SET_OPTIONS && generate_once_in(generator, 4)) {
        world->keys_matter = false; /* the signer's weight is 0 */
        for (int i = 0; i < 8; i++)
            buf_add_u32(generator->out, 0);
        buf_add_u32(generator->out, 1);
        add_account(world, XDR_Signer, 0);
        buf_add_u32(generator->out, 0);
        world->keys_matter = true;
    } else
        for (unsigned i = 0; i < bodies->arm_count; i++)
            if (bodies->arms[i].value == (int32_t)kind)
                generate_step(generator, XDR_OperationBody, i, &bodies->arms[i].step, 2);
}

static void add_random_operation(struct world *world, uint32_t kind)
{
    struct generator *generator = &world->generator;
    const bool has_source = !generate_once_in(generator, kind == INVOKE_HOST_FUNCTION ? 3 : 30);
    buf_add_u32(generator->out, has_source);
    if (has_source)
        add_account(world, XDR_Operation, 0);
    world->no_source |= !has_source;
    add_body(world, kind);
}

static void add_soroban_data(struct world *world, uint32_t kind)
{
    struct generator *generator = &world->generator;
    static const int64_t fees[] = {-1, (int64_t)3 << 32, (int64_t)1 << 32};
    const uint32_t fee = generate_below(generator, 60);
    const bool any = generate_once_in(generator, 10);
    buf_add_u32(generator->out, 0);
    for (uint32_t entries = 0; entries < 2; entries++) {
        const bool none =
            (kind == EXTEND_FOOTPRINT_TTL && entries == 1) || (kind == RESTORE_FOOTPRINT && entries == 0);
        const uint32_t count = none && !any ? 0 : generate_below(generator, 3);
        buf_add_u32(generator->out, count);
        for (uint32_t i = 0; i < count; i++)
            generate_type(generator, XDR_LedgerKey, 4);
    }
    generate_bytes(generator, 12);
    buf_add_u64(generator->out, fee < ARRAY_LEN(fees) ? (uint64_t)fees[fee] : 1000);
}

static uint32_t any_kind(struct generator *generator)
{
    const struct xdr_type_info *bodies = &xdr_types[XDR_OperationBody];
    return (uint32_t)bodies->arms[generate_below(generator, bodies->arm_count)].value;
}

/* Memo, operations and ext; returns whether the transaction can be a V0. */
static bool add_tail(struct world *world)
{
    struct generator *generator = &world->generator;
    const uint32_t first = generate_once_in(generator, 3)
                               ? INVOKE_HOST_FUNCTION + generate_below(generator, 3)
                               : any_kind(generator);
    bool soroban = first >= INVOKE_HOST_FUNCTION;
    uint32_t count = generate_once_in(generator, 100) ? 0 : 1 + generate_below(generator, 3);
    if (soroban && !generate_once_in(generator, 20))
        count = 1;
    if (soroban && !generate_once_in(generator, 10))
        buf_add_u32(generator->out, 0);
    else
        generate_type(generator, XDR_Memo, 1);
    buf_add_u32(generator->out, count);
    for (uint32_t i = 0; i < count; i++)
        add_random_operation(world, i == 0 ? first : any_kind(generator));
    world->by_entries = count == 1 && first == INVOKE_HOST_FUNCTION;
    if (generate_once_in(generator, 30))
        soroban = !soroban;
    buf_add_u32(generator->out, soroban);
    if (soroban)
        add_soroban_data(world, first);
    return !soroban;
}

/* Puts the head, whose form depends on what follows it, before the tail. */
static void make_transaction(struct world *world)
{
    static const uint8_t fee_and_sequence[12] = {0, 0, 0, 100};
    struct generator *generator = &world->generator;
    memset(world->uses, 0, sizeof world->uses);
    world->no_source = generator->unknown_arm = false;
    generator->credentials[0] = generator->credentials[1] = 0;
    buf_clear(&world->body);
    buf_clear(&world->xdr);
    generator->out = &world->body;
    const bool v0 = add_tail(world) && generate_once_in(generator, 5);
    const bool bumped = !v0 && generate_once_in(generator, 5);
    generator->out = &world->xdr;
    if (bumped) {
        buf_add_u32(&world->xdr, 5);
        add_muxed_account(&world->xdr, PLAIN, DISTRIBUTION);
        buf_add_u64(&world->xdr, 1000);
    }
    buf_add_u32(&world->xdr, v0 ? 0 : 2);
    if (v0)
        buf_add(&world->xdr, sample_key(FIRST_POOL_ACCOUNT).bytes, 32);
    else
        add_account(world, XDR_Transaction, 0);
    buf_add(&world->xdr, fee_and_sequence, sizeof fee_and_sequence);
    add_preconditions(world, v0);
    buf_add_bytes(&world->xdr, buf_bytes(&world->body));
    buf_add_u32(&world->xdr, 0); /* signatures */
    if (bumped) {
        buf_add_u32(&world->xdr, 0);
        buf_add_u32(&world->xdr, 0);
    }
}

/* ---- the rules that refuse */

struct rule {
    enum err error;
    const char *words; /* in the detail */
    uint64_t hits;
};

static struct rule rules[] = {
    {ERR_INVALID_TRANSACTION_XDR, "unknown union arm", 0},
    {ERR_INVALID_OPERATION_STRUCTURE, "has no operation", 0},
    {ERR_INVALID_OPERATION_STRUCTURE, "has no source account", 0},
    {ERR_SOURCE_CREDENTIALS_NOT_ALLOWED, "credentials of the source account", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "must have exactly one operation", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "lacks the SorobanTransactionData", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "has SorobanTransactionData, but", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "must not have a memo", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "cannot be a muxed account", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "must not have read-write entries", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "must not have read-only entries", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "resource fee is negative", 0},
    {ERR_INVALID_SOROBAN_TRANSACTION, "more than 256 accounts", 0},
    {ERR_INVALID_TRANSACTION, "minSeqNum", 0},
    {ERR_INVALID_TRANSACTION, "minSeqAge", 0},
    {ERR_INVALID_TRANSACTION, "minSeqLedgerGap", 0},
    {ERR_INVALID_TRANSACTION, "admit no ledger", 0},
    {ERR_INVALID_TRANSACTION, "payload of an extra signer is empty", 0},
    {ERR_INVALID_TRANSACTION, "no transaction contains its own hash", 0},
    {ERR_INVALID_TRANSACTION, "two extra signers are the same", 0},
    {ERR_INVALID_TRANSACTION, "bytes with two signatures", 0},
    {ERR_FORBIDDEN_SIGNER, "the authority of the distribution account", 0},
    {ERR_FORBIDDEN_SIGNER, "the authority of a channel account", 0},
    {ERR_FORBIDDEN_SIGNER, "the channel account that signs", 0},
    {ERR_FEE_EXCEEDS_MAXIMUM, "resource fee of", 0},
    {ERR_FEE_EXCEEDS_MAXIMUM, "transaction's fee of", 0},
    {ERR_FEE_EXCEEDS_MAXIMUM, "fee bump for this transaction", 0},
};

static void count_refusal(enum err e, const struct detail *detail)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].error == e && strstr(detail->text, rules[i].words) != NULL) {
            rules[i].hits++;
            return;
        }
    fail_msg("no rule of the table: %s %s", err_code(e), detail->text);
}

/* The front process: policy_check, and the look-up of the named accounts in the pool. */
static enum err judge_request(const struct envelope *envelope, struct detail *detail)
{
    struct named_accounts named;
    enum err e = policy_check(envelope, &limits, &named, detail);
    for (uint8_t i = 0; e == ERR_OK && i < POOL; i++) {
        const struct public_key account = sample_key(FIRST_POOL_ACCOUNT + i);
        if (named_has(&named, &account))
            e = policy_refuse_account(&limits, &account, detail);
    }
    return e;
}

/* The key process, which knows the pool only by the account that signs. */
static enum err judge_lease(const struct envelope *envelope, uint8_t account, struct detail *detail)
{
    CLEANUP(buf_free) struct buf transaction = {0};
    const struct transaction_head head = {sample_key(FIRST_POOL_ACCOUNT + account), 100, 5, 1300};
    struct envelope decoded;
    transaction_build(envelope, &head, &transaction);
    assert_int_equal(transaction_decode(buf_bytes(&transaction), &decoded, NULL), ERR_OK);
    return policy_check_lease(&decoded, &head.source, &limits, 1000, 1000, detail);
}

/* What was accepted, by the kind of the first operation, and how many of them had no source. */
static uint64_t accepted, accepted_kinds[64], accepted_by_entries;

/* Without a source, only a call's entries give authority, and without one that has the credentials of the
 * source nobody borrows that of the channel account. */
static bool acts_for_channel_account(const struct world *world)
{
    return world->no_source && !(world->by_entries && world->generator.credentials[0] == 0);
}

static void judge_transaction(struct world *world)
{
    struct envelope envelope;
    struct detail detail = {0};
    const bool acts = acts_for_channel_account(world);
    bool uses_any = acts;
    for (size_t i = 0; i < ARRAY_LEN(world->uses); i++)
        uses_any |= world->uses[i];
    enum err e = envelope_decode(buf_bytes(&world->xdr), &envelope, &detail);
    if (e == ERR_OK)
        e = judge_request(&envelope, &detail);
    else
        assert_true(world->generator.unknown_arm);
    if (e != ERR_OK)
        count_refusal(e, &detail);
    assert_false(e == ERR_OK && (uses_any || world->generator.unknown_arm));
    assert_false(e == ERR_FORBIDDEN_SIGNER && !uses_any);
    if (world->generator.unknown_arm)
        return;
    const uint8_t signer = (uint8_t)generate_below(&world->generator, POOL);
    const enum err lease = judge_lease(&envelope, signer, &detail);
    assert_false(lease == ERR_OK && (acts || world->uses[0] || world->uses[1 + signer]));
    assert_false(e == ERR_OK && lease != ERR_OK);
    if (lease == ERR_FORBIDDEN_SIGNER)
        count_refusal(lease, &detail);
    if (e != ERR_OK)
        return;
    const uint8_t *operation = envelope.operations.data + 4;
    const size_t source = be32_get(operation) == 0 ? 0 : be32_get(operation + 4) == 0 ? 36 : 44;
    accepted++;
    accepted_kinds[be32_get(operation + 4 + source) % ARRAY_LEN(accepted_kinds)]++;
    accepted_by_entries += world->no_source;
}

static void print_hits(struct generator *generator)
{
    printf("# %zu of %zu rules fired:", ARRAY_LEN(rules), ARRAY_LEN(rules));
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        printf(" \"%s\" %llu,", rules[i].words, (unsigned long long)rules[i].hits);
    printf(" accepted %llu, %llu of them by entries alone\n# %zu of %zu roles had an account of fairway's:",
        (unsigned long long)accepted, (unsigned long long)accepted_by_entries, generator->role_count,
        generator->role_count);
    for (size_t i = 0; i < generator->role_count; i++)
        printf(" %s/%u %llu%s", xdr_types[generator->roles[i].container].name, generator->roles[i].index,
            (unsigned long long)generator->roles[i].hits, i + 1 < generator->role_count ? "," : "\n");
}

TEST(DA5_H11_no_transaction_is_signed_that_could_use_the_authority_of_our_accounts)
{
    struct world world = {
        .generator = {.state = 0x9E3779B97F4A7C15, .account = choose_account, .unknown_arm_in = 4000},
        .keys_matter = true};
    bool seen[XDR_TYPE_COUNT] = {false};
    const char *size = getenv("FAIRWAY_SIZE");
    const unsigned long transactions =
        size != NULL && strcmp(size, "long") == 0 ? TRANSACTIONS_LONG : TRANSACTIONS;
    collect_roles(&world.generator, XDR_Transaction, seen);
    for (unsigned long i = 0; i < transactions; i++) {
        make_transaction(&world);
        judge_transaction(&world);
    }
    for (size_t i = 0; i < world.generator.role_count; i++)
        if (world.generator.roles[i].hits == 0)
            fail_msg("no account in role %s/%u", xdr_types[world.generator.roles[i].container].name,
                world.generator.roles[i].index);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].hits == 0)
            fail_msg("the rule \"%s\" never fired", rules[i].words);
    for (unsigned i = 0; i < xdr_types[XDR_OperationBody].arm_count; i++)
        if (accepted_kinds[xdr_types[XDR_OperationBody].arms[i].value] == 0)
            fail_msg("no operation of kind %d was accepted", xdr_types[XDR_OperationBody].arms[i].value);
    assert_true(accepted_by_entries > 0);
    print_hits(&world.generator);
    buf_free(&world.body);
    buf_free(&world.xdr);
}

/* When the schema gains a place for an account, somebody has to decide what it means. */
TEST(DA5_every_role_of_the_schema_is_authority_or_harmless)
{
    static struct generator generator;
    bool seen[XDR_TYPE_COUNT] = {false};
    size_t authority = 0;
    collect_roles(&generator, XDR_Transaction, seen);
    for (size_t i = 0; i < generator.role_count; i++) {
        authority += is_authority(&generator.roles[i]);
        if (!is_authority(&generator.roles[i]) && !is_harmless(&generator.roles[i]))
            fail_msg("%s/%u holds an account, and no list says what for",
                xdr_types[generator.roles[i].container].name, generator.roles[i].index);
    }
    assert_int_equal(authority, ARRAY_LEN(authority_roles));
}

/* The arms of a type are 0 to count - 1. */
static void assert_arms(enum xdr_type type, uint32_t count)
{
    const struct xdr_type_info *info = &xdr_types[type];
    if (info->arm_count != count)
        fail_msg("%s has %u arms, the rules name %u", info->name, info->arm_count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(info->arms[i].value, i);
}

/* When the schema gains an arm that no rule names, this fails. Of credentials 0 is the operation's source; 1
 * and 2 (CAP-71-02) have an address, 3 (CAP-71-01) an address and delegates. A contract id comes from an
 * address (0), whose authority is needed, or from an asset (1). */
TEST(DA6_the_rules_name_every_kind_of_operation_credentials_host_function_and_address)
{
    assert_arms(XDR_OperationBody, RESTORE_FOOTPRINT + 1);
    assert_arms(XDR_SorobanCredentials, 4);
    assert_arms(XDR_HostFunction, 4);
    assert_arms(XDR_SorobanAuthorizedFunction, 3);
    assert_arms(XDR_ContractIdPreimage, 2);
    assert_arms(XDR_ContractExecutable, 3);
    assert_arms(XDR_ScAddress, MUXED_CONTRACT + 1);
    assert_arms(XDR_SignerKey, 4);
    assert_arms(XDR_Preconditions, 3);
    assert_arms(XDR_SorobanTransactionDataExt, 2);
    assert_arms(XDR_TransactionExt, 2);
    assert_int_equal(xdr_types[XDR_MuxedAccount].arm_count, 2);
    assert_int_equal(xdr_types[XDR_TransactionEnvelope].arm_count, 3);
}
