/* Transactions as clients may send them, built field by field so that each field can break a rule. */
#pragma once

#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "stellar/policy.h"

/* Whether one of the signatures has the hint of signer and is its signature of hash. */
static inline bool envelope_signed_by(
    const struct envelope *envelope, const struct public_key *signer, const struct hash *hash)
{
    unsigned verifications = SIGNATURES_MAX;
    return envelope_verify(envelope, public_key_hint(signer), BYTES_OF(hash->bytes), signer, &verifications);
}

enum sample_source {
    NO_SOURCE,
    PLAIN,
    MUXED
};

enum sample_address {
    ACCOUNT = 0,
    CONTRACT = 1,
    MUXED_ACCOUNT = 2,
    CLAIMABLE_BALANCE = 3,
    LIQUIDITY_POOL = 4,
    MUXED_CONTRACT = 5,
};

struct sample {
    enum envelope_form form;
    enum sample_source source; /* of the transaction; SAMPLE sets PLAIN */
    bool memo;
    struct buf preconditions; /* PRECOND_NONE when empty; for V0 the optional time bounds */
    uint32_t operation_count;
    struct buf operations; /* without the count */
    bool soroban;
    int64_t resource_fee_stroops;
    uint32_t read_only_count, read_write_count; /* entries in the footprint */
    struct buf xdr;
    struct envelope view; /* of xdr */
};

/* A client's transaction in form V1; sample_wipe frees it. */
#define SAMPLE                                                                                               \
    {                                                                                                        \
        .form = ENVELOPE_V1, .source = PLAIN                                                                 \
    }

static inline void sample_wipe(struct sample *sample)
{
    buf_free(&sample->preconditions);
    buf_free(&sample->operations);
    buf_free(&sample->xdr);
}

#define AUTO_SAMPLE CLEANUP(sample_wipe) struct sample
#define AUTO_BUF CLEANUP(buf_free) struct buf

enum {
    CLIENT = 7,  /* sample_key(CLIENT) is the source of sample transactions */
    SIGNER = 250 /* from here on sample_key(n) is the public key of a seed, so that sample_sign can sign */
};

static inline struct public_key sample_key(uint8_t n)
{
    struct public_key key;
    uint8_t secret[crypto_sign_SECRETKEYBYTES], seed[crypto_sign_SEEDBYTES];
    memset(key.bytes, n, sizeof key.bytes);
    memset(seed, n, sizeof seed);
    if (n >= SIGNER)
        crypto_sign_seed_keypair(key.bytes, secret, seed);
    return key;
}

static inline struct signature sample_sign(uint8_t n, struct bytes message)
{
    struct signature signature;
    struct public_key key;
    uint8_t secret[crypto_sign_SECRETKEYBYTES], seed[crypto_sign_SEEDBYTES];
    memset(seed, n, sizeof seed);
    crypto_sign_seed_keypair(key.bytes, secret, seed);
    crypto_sign_detached(signature.bytes, NULL, message.data, message.len, secret);
    return signature;
}

static inline void add_key(struct buf *out, uint8_t n)
{
    struct public_key key = sample_key(n);
    buf_add(out, key.bytes, sizeof key.bytes);
}

static inline void add_muxed_account(struct buf *out, enum sample_source form, uint8_t n)
{
    buf_add_u32(out, form == MUXED ? 0x100 : 0);
    if (form == MUXED)
        buf_add_u64(out, 99);
    add_key(out, n);
}

/* The head of an operation; its body follows. */
static inline void add_operation(struct sample *sample, enum sample_source source, uint8_t n, uint32_t kind)
{
    sample->operation_count++;
    buf_add_u32(&sample->operations, source != NO_SOURCE);
    if (source != NO_SOURCE)
        add_muxed_account(&sample->operations, source, n);
    buf_add_u32(&sample->operations, kind);
}

static inline void add_payment(struct sample *sample, enum sample_source source, uint8_t n)
{
    add_operation(sample, source, n, 1);
    add_muxed_account(&sample->operations, PLAIN, 200);
    buf_add_u32(&sample->operations, 0); /* native */
    buf_add_u64(&sample->operations, 1);
}

/* CreateClaimableBalance with the ten claimants that it can have, each with predicates four deep. */
static inline void add_large_claimable_balance(struct sample *sample, uint8_t n)
{
    struct buf *out = &sample->operations;
    add_operation(sample, PLAIN, n, 14);
    buf_add_u32(out, 0); /* native */
    buf_add_u64(out, 1);
    buf_add_u32(out, 10);
    for (int i = 0; i < 10; i++) {
        buf_add_u32(out, 0); /* claimant V0 */
        buf_add_u32(out, 0);
        add_key(out, (uint8_t)i);
        buf_add_u32(out, 1); /* and: two of { or: two times } */
        buf_add_u32(out, 2);
        for (int k = 0; k < 2; k++) {
            buf_add_u32(out, 2);
            buf_add_u32(out, 2);
            for (int l = 0; l < 2; l++) {
                buf_add_u32(out, 5); /* before a relative time */
                buf_add_u64(out, 60);
            }
        }
    }
}

static inline void add_extend(struct sample *sample, enum sample_source source, uint8_t n)
{
    sample->soroban = true;
    add_operation(sample, source, n, 25);
    buf_add_u32(&sample->operations, 0);
    buf_add_u32(&sample->operations, 1000);
}

static inline void add_address(struct buf *out, enum sample_address kind, uint8_t n)
{
    buf_add_u32(out, kind);
    if (kind == ACCOUNT || kind == CLAIMABLE_BALANCE)
        buf_add_u32(out, 0);
    if (kind == MUXED_ACCOUNT || kind == MUXED_CONTRACT)
        buf_add_u64(out, 99);
    add_key(out, n);
}

static inline void add_symbol_f(struct buf *out)
{
    buf_add_u32(out, 1);
    buf_add(out, "f\0\0", 4);
}

static inline void add_contract_call(struct buf *out)
{
    add_address(out, CONTRACT, 201);
    add_symbol_f(out);
    buf_add_u32(out, 1); /* argument: whom the call pays (CAP-84) */
    buf_add_u32(out, 18);
    add_address(out, MUXED_CONTRACT, 201);
}

/* InvokeHostFunction of a contract's function; auth has count SorobanAuthorizationEntry values. */
static inline void add_invoke(
    struct sample *sample, enum sample_source source, uint8_t n, uint32_t count, const struct buf *auth)
{
    sample->soroban = true;
    add_operation(sample, source, n, 24);
    buf_add_u32(&sample->operations, 0);
    add_contract_call(&sample->operations);
    buf_add_u32(&sample->operations, count);
    if (auth != NULL)
        buf_add_bytes(&sample->operations, buf_bytes(auth));
}

static inline void add_deployer(struct buf *out, enum sample_address kind, uint8_t n)
{
    buf_add_u32(out, 0); /* CONTRACT_ID_PREIMAGE_FROM_ADDRESS */
    add_address(out, kind, n);
    add_key(out, 202);   /* salt */
    buf_add_u32(out, 0); /* executable: Wasm */
    add_key(out, 203);
}

/* InvokeHostFunction, with the source sample_key(1), that creates a contract: function 1, or 3 with
 * constructor arguments. */
static inline void add_create_contract(
    struct sample *sample, uint32_t function, enum sample_address deployer, uint8_t n)
{
    sample->soroban = true;
    add_operation(sample, PLAIN, 1, 24);
    buf_add_u32(&sample->operations, function);
    add_deployer(&sample->operations, deployer, n);
    if (function == 3)
        buf_add_u32(&sample->operations, 0);
    buf_add_u32(&sample->operations, 0); /* auth */
}

/* The part of an authorization entry after its credentials. */
static inline void add_invocation(struct buf *auth)
{
    buf_add_u32(auth, 0);
    add_contract_call(auth);
    buf_add_u32(auth, 0); /* subInvocations */
}

static inline void add_source_account_entry(struct buf *auth)
{
    buf_add_u32(auth, 0);
    add_invocation(auth);
}

/* Credentials of kind 1, 2 or 3 up to where the delegates of kind 3 follow. */
static inline void add_credentials(struct buf *auth, uint32_t kind, enum sample_address address, uint8_t n)
{
    buf_add_u32(auth, kind);
    add_address(auth, address, n);
    buf_add_u64(auth, 1); /* nonce */
    buf_add_u32(auth, 2); /* signatureExpirationLedger */
    buf_add_u32(auth, 1); /* signature: void */
}

static inline void add_address_entry(struct buf *auth, uint32_t kind, enum sample_address address, uint8_t n)
{
    add_credentials(auth, kind, address, n);
    if (kind == 3)
        buf_add_u32(auth, 0);
    add_invocation(auth);
}

/* A SorobanDelegateSignature up to its nested delegates, whose count is nested. */
static inline void add_delegate(struct buf *auth, enum sample_address address, uint8_t n, uint32_t nested)
{
    add_address(auth, address, n);
    buf_add_u32(auth, 1); /* signature: void */
    buf_add_u32(auth, nested);
}

/* LedgerKeys of contract code. */
static inline void add_entries(struct buf *out, uint32_t count)
{
    buf_add_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        buf_add_u32(out, 7);
        add_key(out, (uint8_t)i);
    }
}

static inline void add_transaction(struct sample *sample, struct buf *out)
{
    if (sample->form == ENVELOPE_V0)
        add_key(out, CLIENT);
    else
        add_muxed_account(out, sample->source, CLIENT);
    buf_add_u32(out, 100);
    buf_add_u64(out, 17);
    if (sample->preconditions.len == 0)
        buf_add_u32(out, 0);
    buf_add_bytes(out, buf_bytes(&sample->preconditions));
    buf_add_u32(out, sample->memo ? 2 : 0);
    if (sample->memo)
        buf_add_u64(out, 5);
    buf_add_u32(out, sample->operation_count);
    buf_add_bytes(out, buf_bytes(&sample->operations));
    buf_add_u32(out, sample->soroban);
    if (sample->soroban) {
        static const uint8_t limits[12] = {0};
        buf_add_u32(out, 0); /* ext */
        add_entries(out, sample->read_only_count);
        add_entries(out, sample->read_write_count);
        buf_add(out, limits, sizeof limits);
        buf_add_u64(out, (uint64_t)sample->resource_fee_stroops);
    }
}

/* Fills sample->xdr and returns the result of envelope_decode. */
static inline enum err sample_decode(struct sample *sample, struct detail *detail)
{
    struct buf *out = &sample->xdr;
    buf_clear(out);
    if (sample->form == ENVELOPE_FEE_BUMP) {
        buf_add_u32(out, 5);
        add_muxed_account(out, PLAIN, 204);
        buf_add_u64(out, 1000);
    }
    buf_add_u32(out, sample->form == ENVELOPE_V0 ? 0 : 2);
    add_transaction(sample, out);
    buf_add_u32(out, 0); /* signatures */
    if (sample->form == ENVELOPE_FEE_BUMP) {
        buf_add_u32(out, 0); /* ext */
        buf_add_u32(out, 0); /* outer signatures */
    }
    return envelope_decode(buf_bytes(out), &sample->view, detail);
}

/* PRECOND_V2 with only the given fields. */
struct sample_v2 {
    bool times, ledgers, min_sequence;
    uint64_t min_time_s, max_time_s;
    uint32_t min_ledger, max_ledger;
    int64_t min_sequence_number;
    uint64_t min_sequence_age_s;
    uint32_t min_sequence_ledger_gap;
    uint32_t signer_count;
    const struct buf *signers;
};

static inline void set_times(struct sample *sample, uint64_t min_time_s, uint64_t max_time_s)
{
    buf_clear(&sample->preconditions);
    buf_add_u32(&sample->preconditions, 1);
    buf_add_u64(&sample->preconditions, min_time_s);
    buf_add_u64(&sample->preconditions, max_time_s);
}

static inline void set_v2(struct sample *sample, struct sample_v2 v2)
{
    struct buf *out = &sample->preconditions;
    buf_clear(out);
    buf_add_u32(out, 2);
    buf_add_u32(out, v2.times);
    if (v2.times) {
        buf_add_u64(out, v2.min_time_s);
        buf_add_u64(out, v2.max_time_s);
    }
    buf_add_u32(out, v2.ledgers);
    if (v2.ledgers) {
        buf_add_u32(out, v2.min_ledger);
        buf_add_u32(out, v2.max_ledger);
    }
    buf_add_u32(out, v2.min_sequence);
    if (v2.min_sequence)
        buf_add_u64(out, (uint64_t)v2.min_sequence_number);
    buf_add_u64(out, v2.min_sequence_age_s);
    buf_add_u32(out, v2.min_sequence_ledger_gap);
    buf_add_u32(out, v2.signer_count);
    if (v2.signers != NULL)
        buf_add_bytes(out, buf_bytes(v2.signers));
}
