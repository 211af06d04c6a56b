/* Rules of auth/auth.h: the matrix DA1 of tokens, of which exactly those that are meant may pass. */
#include "check.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"
#include "auth/token_sign.h"
#include "base/mem.h"
#include "base/text.h"
#include "stellar/strkey.h"

#define NOW 1800000000
#define NOW_TEXT "1800000000"
#define PASSPHRASE "auth test"
#define TARGET "/v1/transactions?a=1&b=2"
#define BODY "{\"transactionXdr\":\"AAAA\"}"
#define HEADER "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}"

struct key {
    uint8_t secret[crypto_sign_SECRETKEYBYTES];
    struct public_key public;
    char address[ADDRESS_SIZE];
};

static struct key alice, mallory;
static struct auth *auth;

static struct bytes text_bytes(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static void make_key(struct key *key, uint8_t first)
{
    uint8_t seed[crypto_sign_SEEDBYTES] = {first};
    crypto_sign_seed_keypair(key->public.bytes, key->secret, seed);
    address_encode(&key->public, key->address);
}

/* Returns header.claims.signature; the header and the claims are any text. The caller frees it. */
static char *sign_token(const struct key *key, const char *header, const char *claims)
{
    struct signature signature;
    AUTO_FREE char *first = base64_url_encode(text_bytes(header)),
                   *second = base64_url_encode(text_bytes(claims));
    AUTO_FREE char *signed_part = mem_format("%s.%s", first, second);
    crypto_sign_detached(signature.bytes, NULL, (uint8_t *)signed_part, strlen(signed_part), key->secret);
    AUTO_FREE char *third = base64_url_encode(BYTES_OF(signature.bytes));
    return mem_format("%s.%s", signed_part, third);
}

static const char *body_hash(void)
{
    static char text[HASH_HEX_SIZE];
    const struct hash hash = sha256(text_bytes(BODY));
    hash_encode(&hash, text);
    return text;
}

/* Claims for the request, with these times; rest is inserted at the end. */
static char *claims_with(const char *subject, const char *issued, const char *expires, const char *rest)
{
    return mem_format("{\"sub\":\"%s\",\"iat\":%s,\"exp\":%s,\"methodAndPath\":\"POST " TARGET
                      "\",\"bodyHash\":\"%s\"%s}",
        subject, issued, expires, body_hash(), rest);
}

static const struct auth_request request_of_alice = {
    .method = "POST", .target = TARGET, .audience = PASSPHRASE, .scope = AUTH_LEASE, .now_s = NOW};

/* Checks the head, and then the body. */
static enum err check_both(
    struct auth_request request, const char *scheme, const char *token, const char *body, struct detail *why)
{
    struct auth_client client;
    AUTO_FREE char *header = mem_format("%s%s", scheme, token);
    request.authorization = header;
    const enum err e = auth_check(auth, &request, &client, why);
    if (e != ERR_OK)
        return e;
    assert_string_equal(client.name, alice.address);
    return auth_check_body(auth, &client, text_bytes(body), why);
}

static enum err check_with(
    struct auth_request request, const char *scheme, const char *token, struct detail *why)
{
    return check_both(request, scheme, token, BODY, why);
}

static enum err check(const char *token)
{
    return check_with(request_of_alice, "Bearer ", token, NULL);
}

static void refused(const char *what, const char *token)
{
    struct detail why = {0};
    const enum err e = check_with(request_of_alice, "Bearer ", token, &why);
    if (e != ERR_UNAUTHORIZED)
        fail_msg("%s: %s", what, err_code(e));
    if (why.text[0] == '\0')
        fail_msg("%s: no reason for the log", what);
}

static char *good_claims(void)
{
    return claims_with(alice.address, NOW_TEXT, "1800000015", "");
}

static int set_up(void **state)
{
    make_key(&alice, 1);
    make_key(&mallory, 2);
    struct detail detail = {0};
    const struct auth_settings settings = {.public_keys = alice.address};
    if (auth_open(&settings, &auth, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return 0;
}

static int tear_down(void **state)
{
    auth_free(auth);
    return 0;
}

TEST(a_token_for_exactly_this_request_passes)
{
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    assert_int_equal(check(token), ERR_OK);
    assert_int_equal(check_with(request_of_alice, "bearer ", token, NULL), ERR_OK);
    /* as wallet-backend's clients and this program's own sign it */
    char seed[STRKEY_SIZE], *ours;
    strkey_encode(STRKEY_SEED, alice.secret, seed);
    const struct token_request request = {"POST", TARGET, text_bytes(BODY), PASSPHRASE, NULL, NOW, 15};
    assert_int_equal(token_sign(seed, &request, &ours), ERR_OK);
    assert_int_equal(check(ours), ERR_OK);
    free(ours);
}

TEST(a_token_without_a_body_has_the_hash_of_no_bytes)
{
    char seed[STRKEY_SIZE], *token;
    strkey_encode(STRKEY_SEED, alice.secret, seed);
    const struct token_request request = {"GET", "/v1/pool", {0}, NULL, NULL, NOW, 5};
    assert_int_equal(token_sign(seed, &request, &token), ERR_OK);
    struct auth_request get = request_of_alice;
    get.method = "GET";
    get.target = "/v1/pool";
    assert_int_equal(check_both(get, "Bearer ", token, "", NULL), ERR_OK);
    free(token);
}

/* ---- DA1: claims, each signed by the client's own key: only their content is wrong. test_token.c has what
 * is no token at all. */

TEST(DA1_times_outside_the_window_are_refused)
{
    static const struct {
        const char *issued, *expires;
    } times[] = {
        {NOW_TEXT, "1800000016"}, /* longer than 15 s */
        {"1799999999", "1800000015"},
        {"1799999980", "1799999995"}, /* expired */
        {"1799999983", "1799999997"},
        {"1800000003", "1800000010"}, /* from the future */
        {"1800000060", "1800000075"},
        {"1800000010", NOW_TEXT}, /* exchanged */
        {NOW_TEXT, NOW_TEXT},
        {"0", "15"},
        {NOW_TEXT, "-1800000015"},
        {NOW_TEXT, "9007199254740992"},
        {"9007199254740992", "9007199254740993"},
        {NOW_TEXT, "9223372036854775807"},
        {"9223372036854775800", "9223372036854775807"},
    };
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        AUTO_FREE char *claims = claims_with(alice.address, times[i].issued, times[i].expires, "");
        AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
        refused(claims, token);
    }
}

TEST(the_window_s_edges_pass)
{
    static const struct {
        const char *issued, *expires;
    } times[] = {
        {NOW_TEXT, "1800000015"}, {NOW_TEXT, "1800000001"},
        {"1800000002", "1800000017"}, /* a clock that is 2 s fast */
        {"1799999983", "1799999998"}, /* one that is 2 s slow, and a token as old as it may be */
    };
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        AUTO_FREE char *claims = claims_with(alice.address, times[i].issued, times[i].expires, "");
        AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
        if (check(token) != ERR_OK)
            fail_msg("%s", claims);
    }
}

TEST(a_claim_that_is_missing_doubled_or_of_another_type_is_refused)
{
    AUTO_FREE char *good = good_claims();
    static const char *const members[] = {"sub", "iat", "exp", "methodAndPath", "bodyHash"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        /* renamed, as its first character in upper case: names are case-sensitive */
        AUTO_FREE char *renamed = mem_copy_text(good);
        AUTO_FREE char *name = mem_format("\"%s\"", members[i]);
        strstr(renamed, name)[1] ^= 0x20;
        AUTO_FREE char *token = sign_token(&alice, HEADER, renamed);
        refused(renamed, token);
        AUTO_FREE char *twice = mem_format("{\"%s\":1,%s", members[i], good + 1);
        AUTO_FREE char *token_twice = sign_token(&alice, HEADER, twice);
        refused(twice, token_twice);
    }
    AUTO_FREE char *trailing = mem_format("%s{}", good),
                   *nul = claims_with(alice.address, NOW_TEXT, "1800000015", ",\"x\":\"\\u0000\"");
    AUTO_FREE char *trailing_token = sign_token(&alice, HEADER, trailing),
                   *nul_token = sign_token(&alice, HEADER, nul);
    refused(trailing, trailing_token);
    refused(nul, nul_token);
}

TEST(other_claims_are_ignored_and_nbf_is_kept)
{
    static const struct {
        const char *rest;
        bool passes;
    } cases[] = {
        {",\"jti\":\"7\",\"iss\":\"x\",\"extra\":{\"a\":[1]}", true},
        {",\"nbf\":1800000002", true},
        {",\"nbf\":1800000003", false},
        {",\"nbf\":\"1\"", false},
        {",\"nbf\":null", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *claims = claims_with(alice.address, NOW_TEXT, "1800000015", cases[i].rest);
        AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
        if ((check(token) == ERR_OK) != cases[i].passes)
            fail_msg("%s", claims);
    }
}

TEST(a_token_of_another_subject_or_key_is_refused)
{
    AUTO_FREE char *hers = good_claims();
    AUTO_FREE char *forged = sign_token(&mallory, HEADER, hers);
    refused("the client's name, another's signature", forged);
    AUTO_FREE char *own = claims_with(mallory.address, NOW_TEXT, "1800000015", "");
    AUTO_FREE char *unknown = sign_token(&mallory, HEADER, own);
    refused("an unknown key", unknown);
    AUTO_FREE char *exchanged = sign_token(&alice, HEADER, own);
    refused("another's name, the client's signature", exchanged);
    static const char *const subjects[] = {"", "G", "alice",
        "SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHXL7",
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ"};
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++) {
        AUTO_FREE char *claims = claims_with(subjects[i], NOW_TEXT, "1800000015", "");
        AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
        refused(claims, token);
    }
}

TEST(the_reason_says_when_the_token_becomes_valid)
{
    struct detail why = {0};
    AUTO_FREE char *claims = claims_with(alice.address, NOW_TEXT, "1800000015", ",\"nbf\":1800000005");
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    assert_int_equal(check_with(request_of_alice, "Bearer ", token, &why), ERR_UNAUTHORIZED);
    assert_string_equal(
        why.text, "The token is not valid yet: nbf is 1800000005, and the server's time is 1800000000.");
}

TEST(a_request_that_is_not_UTF_8_is_not_signed)
{
    char seed[STRKEY_SIZE], *token = NULL;
    strkey_encode(STRKEY_SEED, alice.secret, seed);
    const struct token_request requests[] = {
        {"GET", "/\xff", {0}, NULL, NULL, NOW, 5},
        {"GET", "/", {0}, "\xff", NULL, NOW, 5},
        {"GET", "/", {0}, NULL, "\xff", NOW, 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        assert_int_equal(token_sign(seed, &requests[i], &token), ERR_INVALID_REQUEST);
}

TEST(DA1_aud_must_name_this_network)
{
    static const struct {
        const char *rest;
        bool passes;
    } cases[] = {
        {",\"aud\":\"" PASSPHRASE "\"", true},
        {",\"aud\":[\"" PASSPHRASE "\"]", true},
        {",\"aud\":[\"other\",\"" PASSPHRASE "\"]", true},
        {",\"aud\":\"other\"", false},
        {",\"aud\":\"Auth test\"", false},
        {",\"aud\":[\"other\"]", false},
        {",\"aud\":[]", false},
        {",\"aud\":[[\"" PASSPHRASE "\"]]", false},
        {",\"aud\":[1,\"" PASSPHRASE "\"]", false},
        {",\"aud\":\"\"", false},
        {",\"aud\":1", false},
        {",\"aud\":null", false},
        {",\"aud\":{\"a\":\"" PASSPHRASE "\"}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *claims = claims_with(alice.address, NOW_TEXT, "1800000015", cases[i].rest);
        AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
        if ((check(token) == ERR_OK) != cases[i].passes)
            fail_msg("%s", claims);
    }
}

TEST(DA1_aud_may_be_required)
{
    struct auth *usual = auth;
    const struct auth_settings settings = {.public_keys = alice.address, .audience_required = true};
    assert_int_equal(auth_open(&settings, &auth, NULL), ERR_OK);
    AUTO_FREE char *without = good_claims(),
                   *with = claims_with(alice.address, NOW_TEXT, "1800000015", ",\"aud\":\"" PASSPHRASE "\"");
    AUTO_FREE char *refused_token = sign_token(&alice, HEADER, without),
                   *token = sign_token(&alice, HEADER, with);
    refused("no aud", refused_token);
    assert_int_equal(check(token), ERR_OK);
    auth_free(auth);
    auth = usual;
}

/* ---- DA1: the request differs from what the token was signed for */

TEST(another_method_path_query_or_body_is_refused)
{
    static const struct {
        const char *method, *target;
    } others[] = {
        {"GET", TARGET},
        {"post", TARGET},
        {"POST", "/v1/transactions"},
        {"POST", "/v1/transactions?a=1"},
        {"POST", "/v1/transactions?a=1&b=3"},
        {"POST", "/v1/transactions?a=1&b=2&c=3"},
        {"POST", "/v1/transactions?b=2&a=1"},
        {"POST", "/v1/transactions?a=1&b=%32"},
        {"POST", "/v1/transactions/?a=1&b=2"},
        {"POST", "/v1/%74ransactions?a=1&b=2"},
        {"POST", "//v1/transactions?a=1&b=2"},
        {"POST", "/v1/fee-bumps?a=1&b=2"},
        {"POST", "http://x/v1/transactions?a=1&b=2"},
        {"POST ", TARGET},
        {"POST", ""},
    };
    static const char *const bodies[] = {"", "{\"transactionXdr\":\"AAAB\"}",
        "{\"transactionXdr\":\"AAAA\"} ", "{\"transactionXdr\":\"AAAA\"", " {\"transactionXdr\":\"AAAA\"}"};
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct auth_request request = request_of_alice;
        request.method = others[i].method;
        request.target = others[i].target;
        if (check_with(request, "Bearer ", token, NULL) != ERR_UNAUTHORIZED)
            fail_msg("%s %s", request.method, request.target);
    }
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        if (check_both(request_of_alice, "Bearer ", token, bodies[i], NULL) != ERR_UNAUTHORIZED)
            fail_msg("%s", bodies[i]);
}

TEST(a_body_hash_in_another_spelling_is_refused)
{
    static const struct {
        const char *before;
        int digits;
        const char *after;
    } spellings[] = {{"", 64, "0"}, {"0", 64, ""}, {" ", 64, ""}, {"", 64, " "}, {"", 63, ""}, {"", 0, ""},
        {"0x", 64, ""}};
    AUTO_FREE char *good = good_claims();
    char *hash = strstr(good, body_hash());
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        AUTO_FREE char *claims = mem_format("%.*s%s%.*s%s%s", (int)(hash - good), good, spellings[i].before,
            spellings[i].digits, hash, spellings[i].after, hash + strlen(body_hash()));
        AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
        refused(claims, token);
    }
    for (char *at = hash; *at != '"'; at++)
        *at = (char)(*at >= 'a' && *at <= 'f' ? *at - 0x20 : *at);
    AUTO_FREE char *upper = sign_token(&alice, HEADER, good);
    refused("upper case", upper);
}

TEST(DA2_a_token_names_the_idempotency_key_of_its_request)
{
    static const struct {
        const char *claim, *header;
        bool passes;
    } cases[] = {
        {"", NULL, true},
        {",\"idempotencyKey\":\"order 7\"", "order 7", true},
        {",\"idempotencyKey\":\"order 7\"", "order 8", false},
        {",\"idempotencyKey\":\"order 7\"", "Order 7", false},
        {",\"idempotencyKey\":\"order 7\"", "order 7 ", false},
        {",\"idempotencyKey\":\"order 7\"", "", false},
        {",\"idempotencyKey\":\"order 7\"", NULL, false},
        {",\"idempotencyKey\":\"\"", NULL, false},
        {",\"idempotencyKey\":null", NULL, false},
        {",\"idempotencyKey\":7", "7", false},
        {"", "order 7", false},
        {"", "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct auth_request request = request_of_alice;
        request.idempotency_key = cases[i].header;
        AUTO_FREE char *claims = claims_with(alice.address, NOW_TEXT, "1800000015", cases[i].claim);
        AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
        AUTO_FREE char *header = mem_format("Bearer %s", token);
        struct auth_client client;
        request.authorization = header;
        if ((auth_check(auth, &request, &client, NULL) == ERR_OK) != cases[i].passes)
            fail_msg("%s with %s", claims, cases[i].header == NULL ? "none" : cases[i].header);
    }
}

TEST(no_token_and_other_schemes_are_refused)
{
    static const char *const schemes[] = {
        "", "Basic ", "Bearer", "Bearer  ", "Bearer\t", " Bearer ", "Token ", "DPoP ", "Bearer Bearer "};
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (check_with(request_of_alice, schemes[i], token, NULL) != ERR_UNAUTHORIZED)
            fail_msg("\"%s\"", schemes[i]);
    struct auth_client client;
    assert_int_equal(auth_check(auth, &request_of_alice, &client, NULL), ERR_UNAUTHORIZED);
    assert_int_equal(check(""), ERR_UNAUTHORIZED);
}

/* ---- DA1: encodings of a token that would be good */

TEST(DA1_a_token_in_another_spelling_is_refused)
{
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *good = sign_token(&alice, HEADER, claims);
    const size_t len = strlen(good);
    static const char *const suffixes[] = {"=", "==", " ", "\n", "\t", ".", ".x", "A", "AA", ",", "%3D"};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        AUTO_FREE char *token = mem_format("%s%s", good, suffixes[i]);
        refused(suffixes[i], token);
    }
    /* any character changed, to any other of the alphabet: also those of unused bits */
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ";
    AUTO_FREE char *token = mem_copy_text(good);
    for (size_t i = 0; i < len; i++) {
        for (const char *c = alphabet; *c != '\0'; c++) {
            token[i] = *c;
            if (*c != good[i])
                refused(token, token);
        }
        token[i] = good[i];
    }
    /* cut anywhere */
    for (size_t i = 0; i < len; i++) {
        AUTO_FREE char *cut = mem_format("%.*s", (int)i, good);
        refused("cut", cut);
    }
    assert_int_equal(check(good), ERR_OK);
}

TEST(DA1_an_unsigned_token_is_refused)
{
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *good = sign_token(&alice, HEADER, claims);
    const int signed_len = (int)(strrchr(good, '.') - good);
    AUTO_FREE char *without = mem_format("%.*s", signed_len, good),
                   *empty = mem_format("%.*s.", signed_len, good);
    refused("two parts", without);
    refused("no signature", empty);
    /* HMAC-SHA-256 with the public key as the secret, as a verifier that believes alg would check it */
    uint8_t mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state hmac;
    crypto_auth_hmacsha256_init(&hmac, alice.public.bytes, sizeof alice.public.bytes);
    crypto_auth_hmacsha256_update(&hmac, (uint8_t *)good, (unsigned long long)signed_len);
    crypto_auth_hmacsha256_final(&hmac, mac);
    AUTO_FREE char *mac_text = base64_url_encode(BYTES_OF(mac));
    AUTO_FREE char *token = mem_format("%.*s.%s", signed_len, good, mac_text);
    refused("HMAC", token);
}

TEST(DA1_a_signature_with_a_larger_S_is_refused)
{
    static const uint8_t order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2,
        0xde, 0xf9, 0xde, 0x14, [31] = 0x10};
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *good = sign_token(&alice, HEADER, claims);
    const char *last = strrchr(good, '.') + 1;
    struct buf signature CLEANUP(buf_free) = {0};
    assert_int_equal(base64_url_decode(last, strlen(last), &signature), ERR_OK);
    unsigned carry = 0;
    for (size_t i = 0; i < 32; i++) {
        carry += (unsigned)signature.data[32 + i] + order[i];
        signature.data[32 + i] = (uint8_t)carry;
        carry >>= 8;
    }
    AUTO_FREE char *changed = base64_url_encode(buf_bytes(&signature));
    AUTO_FREE char *token = mem_format("%.*s%s", (int)(last - good), good, changed);
    refused("S + L", token);
}

TEST(DA1_a_token_longer_than_the_cap_is_refused_before_it_is_decoded)
{
    AUTO_FREE char *filler = NEW_ARRAY(AUTH_TOKEN_MAX + 1, char);
    memset(filler, 'x', AUTH_TOKEN_MAX);
    AUTO_FREE char *rest = mem_format(",\"x\":\"%s\"", filler);
    AUTO_FREE char *claims = claims_with(alice.address, NOW_TEXT, "1800000015", rest);
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    struct detail why = {0};
    assert_int_equal(check_with(request_of_alice, "Bearer ", token, &why), ERR_UNAUTHORIZED);
    assert_string_equal(why.text, "The token is longer than 4096 characters.");
}

/* ---- what the sender of a refused request learns */

/* The reason, or "hidden" where a client gets the one text. */
static struct detail reason(struct auth_request request, const char *token)
{
    struct auth_client client;
    struct detail why = {0};
    AUTO_FREE char *header = mem_format("Bearer %s", token);
    request.authorization = header;
    assert_int_equal(auth_check(auth, &request, &client, &why), ERR_UNAUTHORIZED);
    return client.reason_hidden ? (struct detail){"hidden"} : why;
}

static struct detail reason_of_claims(const char *claims)
{
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    return reason(request_of_alice, token);
}

TEST(DA1_a_refusal_names_what_follows_from_the_request_and_the_clock)
{
    struct auth_request get = request_of_alice, keyed = request_of_alice;
    get.target = "/v1/transactions?a=1&b=3";
    keyed.idempotency_key = "\x1b[2J\xe2\x80\xae\"";
    AUTO_FREE char *good = good_claims(), *old = claims_with(alice.address, "1799999980", "1799999995", ""),
                   *later = claims_with(alice.address, "1800000060", "1800000075", ""),
                   *window = claims_with(alice.address, NOW_TEXT, "1800000016", ""),
                   *other = claims_with(alice.address, NOW_TEXT, "1800000015", ",\"aud\":\"other\""),
                   *subject = claims_with("alice", NOW_TEXT, "1800000015", "");
    AUTO_FREE char *token = sign_token(&alice, HEADER, good);
    assert_string_equal(reason_of_claims(old).text,
        "The token has expired: exp is 1799999995, and the server's time is 1800000000.");
    assert_string_equal(reason_of_claims(later).text,
        "The token is not valid yet: iat is 1800000060, and the server's time is 1800000000.");
    assert_string_equal(reason_of_claims(window).text,
        "exp must be 1 to 15 s after iat, but exp is 1800000016 and iat is 1800000000.");
    assert_string_equal(reason_of_claims(other).text, "aud does not name the network's passphrase.");
    assert_string_equal(reason_of_claims(subject).text, "sub is not the public key (G...) of an account.");
    assert_string_equal(reason_of_claims("{}").text, "sub is missing or not a string.");
    assert_string_equal(reason(get, token).text,
        "methodAndPath is ...\"/transactions?a=1&b=2\", but the request is ...\"/transactions?a=1&b=3\".");
    assert_string_equal(reason(keyed, token).text,
        "idempotencyKey is absent, but the header Idempotency-Key is \"?[2J???\"\".");
}

/* However long both are. */
TEST(a_quoted_claim_is_cut_and_the_sentence_is_whole)
{
    char target[1001] = "/";
    memset(target + 1, 'x', sizeof target - 2);
    struct auth_request request = request_of_alice;
    request.target = target;
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    const struct detail why = reason(request, token);
    assert_string_equal(why.text + strlen(why.text) - 6, "x\"....");
    request.target = TARGET;
    request.idempotency_key = target;
    AUTO_FREE char *keyed_claims =
        mem_format("%.*s,\"idempotencyKey\":\"%sy\"}", (int)strlen(claims) - 1, claims, target + 1);
    const struct detail keyed = reason_of_claims(keyed_claims);
    assert_string_equal(keyed.text + strlen(keyed.text) - 10, "is absent.");
}

/* Who cannot sign for a key learns nothing about it: the first thing that is wrong is told of a client's key
 * and of any other alike, and a wrong signature is noticed before the clients are looked at. */
TEST(DA1_a_refusal_does_not_tell_whether_a_key_is_a_client_s)
{
    static const struct {
        const char *issued, *expires, *rest;
    } claims[] = {
        {NOW_TEXT, "1800000015", ""},
        {"1", "15", ""},
        {NOW_TEXT, "1800000099", ""},
        {"1800000060", "1800000075", ""},
        {NOW_TEXT, "1800000015", ",\"aud\":\"other\""},
        {NOW_TEXT, "1800000015", ",\"idempotencyKey\":\"x\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
        AUTO_FREE char *client =
                           claims_with(alice.address, claims[i].issued, claims[i].expires, claims[i].rest),
                       *stranger =
                           claims_with(mallory.address, claims[i].issued, claims[i].expires, claims[i].rest);
        AUTO_FREE char *forged = sign_token(&mallory, HEADER, client),
                       *unknown = sign_token(&mallory, HEADER, stranger),
                       *both = sign_token(&alice, HEADER, stranger);
        const struct detail expected = reason(request_of_alice, forged);
        assert_string_equal(reason(request_of_alice, unknown).text, expected.text);
        assert_string_equal(reason(request_of_alice, both).text, expected.text);
        assert_int_equal(strcmp(expected.text, "hidden") == 0, i == 0);
    }
    struct detail why = {0};
    AUTO_FREE char *stranger = claims_with(mallory.address, NOW_TEXT, "1800000015", "");
    AUTO_FREE char *forged = sign_token(&alice, HEADER, stranger);
    assert_int_equal(check_with(request_of_alice, "Bearer ", forged, &why), ERR_UNAUTHORIZED);
    assert_string_equal(why.text, "The signature is not by the key that sub names.");
}

TEST(a_refusal_of_the_body_says_what_was_received)
{
    struct detail why = {0};
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    assert_int_equal(check_both(request_of_alice, "Bearer ", token, "", &why), ERR_UNAUTHORIZED);
    assert_string_equal(why.text, "bodyHash does not match the body: the SHA-256 of the 0 bytes received is "
                                  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.");
}

/* ---- clients */

static void write_clients(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

TEST(a_client_may_do_only_what_its_scopes_say)
{
    char path[] = "/tmp/fairway-clients-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    AUTO_FREE char *text = mem_format(
        "{\"%s\":{\"keys\":[\"%s\"],\"scopes\":[\"status\",\"pool\"]}}", alice.address, alice.address);
    write_clients(path, text);
    struct auth *usual = auth;
    const struct auth_settings settings = {.clients_file = path};
    assert_int_equal(auth_open(&settings, &auth, NULL), ERR_OK);
    AUTO_FREE char *claims = good_claims();
    AUTO_FREE char *token = sign_token(&alice, HEADER, claims);
    struct auth_request request = request_of_alice;
    static const enum auth_scope scopes[] = {AUTH_LEASE, AUTH_FEE_BUMP, AUTH_STATUS, AUTH_POOL};
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
        request.scope = scopes[i];
        assert_int_equal(check_with(request, "Bearer ", token, NULL), i < 2 ? ERR_FORBIDDEN : ERR_OK);
    }
    chmod(path, 0666);
    struct detail why = {0};
    assert_int_equal(auth_reload(auth, &why), ERR_CONFIG);
    assert_non_null(strstr(why.text, "0644"));
    unlink(path);
    auth_free(auth);
    auth = usual;
}

TEST(equal_tokens_have_equal_hashes)
{
    AUTO_FREE char *claims = good_claims(),
                   *later = claims_with(alice.address, "1800000001", "1800000015", "");
    AUTO_FREE char *a = sign_token(&alice, HEADER, claims), *b = sign_token(&alice, HEADER, later);
    struct auth_client first, again, other;
    AUTO_FREE char *header_a = mem_format("Bearer %s", a), *header_b = mem_format("bearer %s", a),
                   *header_c = mem_format("Bearer %s", b);
    struct auth_request request = request_of_alice;
    request.authorization = header_a;
    assert_int_equal(auth_check(auth, &request, &first, NULL), ERR_OK);
    request.authorization = header_b; /* another spelling of the scheme makes no other token */
    assert_int_equal(auth_check(auth, &request, &again, NULL), ERR_OK);
    request.authorization = header_c;
    assert_int_equal(auth_check(auth, &request, &other, NULL), ERR_OK);
    assert_true(hash_equal(&first.token, &again.token));
    assert_false(hash_equal(&first.token, &other.token));
    assert_false(first.others);
}

GROUP_FIXTURE(set_up, tear_down)
