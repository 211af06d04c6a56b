/* Which signatures show that the user has signed this transaction for this network. */
#include "check.h"
#include "sample.h"
#include "stellar/authority.h"

enum {
    CHANNEL = 251, /* sample keys from SIGNER on can sign */
    USER = 252,
    COSIGNER = 253,
};

/* A leased transaction with the signatures that were added to it. */
struct leased {
    struct envelope envelope;
    struct hash hash;
    struct signature signatures[SIGNATURES_MAX];
};

static struct leased lease_of(struct sample *sample)
{
    struct leased leased = {0};
    assert_int_equal(sample_decode(sample, NULL), ERR_OK);
    leased.envelope = sample->view;
    leased.envelope.source = sample_key(CHANNEL);
    leased.hash = sha256(leased.envelope.body);
    return leased;
}

static void add_bytes(struct leased *leased, struct public_key key, struct bytes signature)
{
    struct decorated_signature *decorated = &leased->envelope.signatures[leased->envelope.signature_count++];
    memcpy(decorated->hint, key.bytes + 28, 4);
    decorated->signature = signature;
}

static void sign(struct leased *leased, uint8_t n)
{
    struct signature *signature = &leased->signatures[leased->envelope.signature_count];
    *signature = sample_sign(n, BYTES_OF(leased->hash.bytes));
    add_bytes(leased, sample_key(n), BYTES_OF(signature->bytes));
}

static void assert_authority(const struct leased *leased, enum authority expected)
{
    assert_int_equal(authority_of(&leased->envelope, &leased->hash), expected);
}

TEST(somebody_besides_the_channel_account_must_have_signed)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, USER);
    struct leased leased = lease_of(&sample);
    assert_authority(&leased, AUTHORITY_UNSIGNED);
    sign(&leased, CHANNEL);
    assert_authority(&leased, AUTHORITY_CHANNEL_ONLY);
    sign(&leased, USER);
    assert_authority(&leased, AUTHORITY_PROVED);
    struct leased foreign = lease_of(&sample);
    sign(&foreign, COSIGNER);
    assert_authority(&foreign, AUTHORITY_CHANNEL_MISSING);
    sign(&foreign, COSIGNER);
    assert_authority(&foreign, AUTHORITY_CHANNEL_MISSING);
}

TEST(the_source_of_any_operation_may_have_signed)
{
    for (enum sample_source form = PLAIN; form <= MUXED; form++) {
        AUTO_SAMPLE sample = SAMPLE;
        add_payment(&sample, PLAIN, 3);
        add_payment(&sample, PLAIN, 3);
        add_payment(&sample, form, USER);
        struct leased leased = lease_of(&sample);
        sign(&leased, CHANNEL);
        sign(&leased, USER);
        assert_authority(&leased, AUTHORITY_PROVED);
    }
}

/* The user's consent is in the authorization entries: nobody has to sign the transaction. */
TEST(a_call_without_a_source_needs_the_channel_account_alone)
{
    AUTO_SAMPLE sample = SAMPLE, with_source = SAMPLE, extra = SAMPLE;
    AUTO_BUF auth = {0}, signers = {0};
    add_address_entry(&auth, 2, ACCOUNT, USER);
    add_invoke(&sample, NO_SOURCE, 0, 1, &auth);
    struct leased leased = lease_of(&sample);
    assert_authority(&leased, AUTHORITY_UNSIGNED);
    sign(&leased, CHANNEL);
    assert_authority(&leased, AUTHORITY_PROVED);
    struct leased foreign = lease_of(&sample);
    sign(&foreign, USER);
    assert_authority(&foreign, AUTHORITY_CHANNEL_MISSING);
    add_invoke(&with_source, PLAIN, USER, 1, &auth);
    struct leased unsigned_source = lease_of(&with_source);
    sign(&unsigned_source, CHANNEL);
    assert_authority(&unsigned_source, AUTHORITY_CHANNEL_ONLY);
    buf_add_u32(&signers, 0);
    add_key(&signers, COSIGNER);
    set_v2(&extra, (struct sample_v2){.signer_count = 1, .signers = &signers});
    add_invoke(&extra, NO_SOURCE, 0, 1, &auth);
    struct leased unsigned_extra = lease_of(&extra);
    sign(&unsigned_extra, CHANNEL);
    assert_authority(&unsigned_extra, AUTHORITY_CHANNEL_ONLY);
    sign(&unsigned_extra, COSIGNER);
    assert_authority(&unsigned_extra, AUTHORITY_PROVED);
}

/* The hint is right, and the key is, but another hash was signed. */
TEST(a_signature_for_another_network_proves_nothing)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, USER);
    struct leased leased = lease_of(&sample);
    const struct hash other = sha256(BYTES_OF(leased.hash.bytes));
    const struct signature signature = sample_sign(USER, BYTES_OF(other.bytes));
    sign(&leased, CHANNEL);
    add_bytes(&leased, sample_key(USER), BYTES_OF(signature.bytes));
    assert_authority(&leased, AUTHORITY_UNKNOWN);
}

TEST(no_other_bytes_prove_anything)
{
    static const uint8_t zeros[64];
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, USER);
    for (size_t len = 0; len <= sizeof zeros; len += 16) {
        struct leased leased = lease_of(&sample);
        sign(&leased, CHANNEL);
        add_bytes(&leased, sample_key(USER), (struct bytes){zeros, len});
        assert_authority(&leased, AUTHORITY_UNKNOWN);
    }
    struct leased stranger = lease_of(&sample), twice = lease_of(&sample);
    sign(&stranger, CHANNEL);
    sign(&stranger, COSIGNER);
    assert_authority(&stranger, AUTHORITY_UNKNOWN);
    sign(&twice, CHANNEL);
    sign(&twice, CHANNEL);
    assert_authority(&twice, AUTHORITY_UNKNOWN);
}

/* A SignerKey; the payload of kind 3 is "payload". */
static void add_signer_key(struct buf *out, uint32_t kind, struct bytes key)
{
    buf_add_u32(out, kind);
    buf_add_bytes(out, key);
    if (kind == 3) {
        buf_add_u32(out, 7);
        buf_add(out, "payload", 8);
    }
}

/* Adds what satisfies a signer of this kind, and returns the key in it. */
static struct public_key satisfy(struct leased *leased, uint32_t kind)
{
    static const uint8_t preimage[] = "secret words";
    struct public_key key = sample_key(COSIGNER), hint = key;
    struct signature *signature = &leased->signatures[leased->envelope.signature_count];
    struct hash hash;
    switch (kind) {
    case 0:
        sign(leased, COSIGNER);
        break;
    case 1:
        memcpy(key.bytes, leased->hash.bytes, sizeof key.bytes);
        break;
    case 2:
        hash = sha256(BYTES_OF(preimage));
        memcpy(key.bytes, hash.bytes, sizeof key.bytes);
        add_bytes(leased, key, BYTES_OF(preimage));
        break;
    default:
        *signature = sample_sign(COSIGNER, (struct bytes){(const uint8_t *)"payload", 7});
        for (size_t i = 0; i < 4; i++)
            hint.bytes[28 + i] ^= (uint8_t) "load"[i];
        add_bytes(leased, hint, BYTES_OF(signature->bytes));
    }
    return key;
}

TEST(an_extra_signer_of_every_kind_may_have_signed)
{
    static const uint32_t kinds[] = {0, 2, 3}; /* no transaction has its own hash (1) */
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO_SAMPLE sample = SAMPLE;
        AUTO_BUF signers = {0};
        struct leased none = {0};
        add_payment(&sample, PLAIN, 3);
        add_signer_key(&signers, kinds[i], BYTES_OF(satisfy(&none, kinds[i]).bytes));
        set_v2(&sample, (struct sample_v2){.signer_count = 1, .signers = &signers});
        struct leased leased = lease_of(&sample);
        sign(&leased, CHANNEL);
        (void)satisfy(&leased, kinds[i]);
        assert_authority(&leased, AUTHORITY_PROVED);
        leased.envelope.signature_count = 1;
        sign(&leased, USER);
        assert_authority(&leased, AUTHORITY_UNKNOWN);
    }
}

/* LedgerEntryData of an account with one signer. */
static void add_account_with_signer(struct buf *out, uint32_t kind, struct bytes key)
{
    static const uint8_t zeros[32];
    buf_add_u32(out, 0); /* ACCOUNT */
    buf_add_u32(out, 0); /* key type */
    add_key(out, USER);
    buf_add(out, zeros, 20); /* balance, sequence, numSubEntries */
    buf_add(out, zeros, 12); /* inflationDest, flags, homeDomain */
    buf_add(out, zeros, 4);  /* thresholds */
    buf_add_u32(out, 1);
    add_signer_key(out, kind, key);
    buf_add_u32(out, 1); /* weight */
    buf_add_u32(out, 0); /* ext */
}

static bool proved_by(const struct leased *leased, struct bytes account_entry)
{
    unsigned verifications = AUTHORITY_VERIFICATIONS_MAX;
    return authority_proved_by(&leased->envelope, &leased->hash, account_entry, &verifications);
}

TEST(a_signer_of_an_operations_source_may_have_signed)
{
    for (uint32_t kind = 0; kind <= 3; kind++) {
        AUTO_SAMPLE sample = SAMPLE;
        AUTO_BUF account = {0}, other = {0};
        add_payment(&sample, PLAIN, USER);
        struct leased leased = lease_of(&sample);
        sign(&leased, CHANNEL);
        const struct public_key key = satisfy(&leased, kind), stranger = sample_key(3);
        if (kind == 1) /* approved before, which needs no signature */
            sign(&leased, 254);
        assert_authority(&leased, AUTHORITY_UNKNOWN);
        add_account_with_signer(&account, kind, BYTES_OF(key.bytes));
        add_account_with_signer(&other, kind, BYTES_OF(stranger.bytes));
        assert_true(proved_by(&leased, buf_bytes(&account)));
        assert_false(proved_by(&leased, buf_bytes(&other)));
        assert_false(proved_by(&leased, (struct bytes){account.data, account.len - 1}));
        assert_false(proved_by(&leased, (struct bytes){0}));
    }
}

/* An account of which the channel account is a signer: what fairway has signed is not the user's consent. */
TEST(the_channel_accounts_own_signature_never_counts)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF account = {0};
    const struct public_key channel = sample_key(CHANNEL);
    add_payment(&sample, PLAIN, USER);
    struct leased leased = lease_of(&sample);
    sign(&leased, CHANNEL);
    sign(&leased, COSIGNER);
    add_account_with_signer(&account, 0, BYTES_OF(channel.bytes));
    assert_false(proved_by(&leased, buf_bytes(&account)));
}

/* 100 operations with sources that differ, but end like the key of USER. */
static void add_sources_of_one_hint(struct sample *sample)
{
    for (uint8_t i = 0; i < OPERATIONS_MAX; i++) {
        const size_t source = sample->operations.len + 8; /* after its presence and the kind of key */
        add_payment(sample, PLAIN, USER);
        sample->operations.data[source] = i;
    }
}

TEST(DX3_signatures_that_could_be_of_many_sources_are_verified_a_bounded_number_of_times)
{
    AUTO_SAMPLE sample = SAMPLE;
    const struct public_key user = sample_key(USER);
    add_sources_of_one_hint(&sample);
    struct leased leased = lease_of(&sample);
    const struct hash other = sha256(BYTES_OF(leased.hash.bytes));
    const struct signature wrong = sample_sign(USER, BYTES_OF(other.bytes));
    sign(&leased, CHANNEL);
    while (leased.envelope.signature_count < SIGNATURES_MAX)
        add_bytes(&leased, user, BYTES_OF(wrong.bytes));
    /* After a bounded number, the channel account's is not looked for either. */
    assert_authority(&leased, AUTHORITY_CHANNEL_MISSING);
    leased.envelope.signature_count = 5;
    assert_authority(&leased, AUTHORITY_CHANNEL_MISSING);
}

TEST(DX3_signers_of_all_accounts_together_cause_a_bounded_number_of_verifications)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF account = {0};
    const struct public_key cosigner = sample_key(COSIGNER);
    unsigned verifications = 3;
    add_payment(&sample, PLAIN, USER);
    add_account_with_signer(&account, 0, BYTES_OF(cosigner.bytes));
    struct leased leased = lease_of(&sample);
    const struct signature wrong = sample_sign(USER, BYTES_OF(leased.hash.bytes));
    add_bytes(&leased, cosigner, BYTES_OF(wrong.bytes));
    add_bytes(&leased, cosigner, BYTES_OF(wrong.bytes));
    assert_false(authority_proved_by(&leased.envelope, &leased.hash, buf_bytes(&account), &verifications));
    assert_int_equal(verifications, 1);
    sign(&leased, COSIGNER);
    assert_false(authority_proved_by(&leased.envelope, &leased.hash, buf_bytes(&account), &verifications));
    assert_int_equal(verifications, 0);
    assert_true(proved_by(&leased, buf_bytes(&account)));
}

TEST(sources_are_listed_once)
{
    AUTO_SAMPLE sample = SAMPLE;
    struct public_key sources[OPERATIONS_MAX];
    for (int i = 0; i < 99; i++)
        add_payment(&sample, i % 2 == 0 ? PLAIN : MUXED, (uint8_t)(i % 3));
    struct leased leased = lease_of(&sample);
    assert_int_equal(authority_sources(&leased.envelope, sources), 3);
    for (uint8_t i = 0; i < 3; i++) {
        const struct public_key key = sample_key(i);
        assert_true(public_key_equal(&sources[i], &key));
    }
}
