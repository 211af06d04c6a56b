/* Rules of src/auth/token.h: what is a token at all, before it is compared with a request (DA1). */
#include "check.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "token.h"

#define HEADER "{\"alg\":\"EdDSA\",\"typ\":\"JWT\"}"
#define HASH_TEXT "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define REST "\"methodAndPath\":\"GET /\",\"bodyHash\":\"" HASH_TEXT "\"}"
#define CLAIMS "{\"sub\":\"G\",\"iat\":1,\"exp\":2," REST

static char *encode(const char *text, size_t len)
{
    return base64_url_encode((struct bytes){(const uint8_t *)text, len});
}

/* The parts' texts are raw: the caller encodes them. */
static enum err decode(const char *header, const char *claims, const char *signature, struct token *token)
{
    struct detail why = {0};
    AUTO_FREE char *text = mem_format("%s.%s.%s", header, claims, signature);
    const enum err e = token_decode(text, token, &why);
    if (e != ERR_OK && why.text[0] == '\0')
        fail_msg("%s: no reason for the log", text);
    return e;
}

static enum err decode_texts(const char *header, const char *claims)
{
    static const uint8_t zeros[64];
    struct token token CLEANUP(token_wipe) = {0};
    AUTO_FREE char *first = encode(header, strlen(header)), *second = encode(claims, strlen(claims)),
                   *third = base64_url_encode((struct bytes){zeros, sizeof zeros});
    return decode(first, second, third, &token);
}

TEST_THAT(DA1_headers)
{
    static const struct {
        const char *header;
        bool passes;
    } cases[] = {
        {HEADER, true},
        {"{\"typ\":\"JWT\",\"alg\":\"EdDSA\"}", true},
        {" { \"alg\" : \"\\u0045dDSA\" } ", true}, /* JSON of the same meaning */
        {"{\"alg\":\"EdDSA\",\"kid\":\"1\"}", true},
        {"{\"alg\":\"EdDSA\",\"typ\":\"jwt\"}", false},
        {"{\"alg\":\"EdDSA\",\"\\u0061lg\":\"EdDSA\"}", false},
        {"{\"\\u0061lg\":\"none\",\"alg\":\"EdDSA\"}", false},
        {"{\"alg\":\"EdDSA\",\"jku\":\"https://x/\"}", false},
        {"{\"alg\":\"EdDSA\",\"x5u\":\"https://x/\"}", false},
        {"{\"alg\":\"EdDSA\",\"x5c\":[]}", false},
        {"{\"alg\":\"EdDSA\",\"jwk\":{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}}", false},
        {"{\"alg\":\"EdDSA\",\"crit\":[]}", false},
        {"{\"alg\":\"EdDSA\",\"crit\":[\"b64\"],\"b64\":false}", false},
        {"{\"alg\":\"EdDSA\",\"b64\":true}", false},
        {"{\"alg\":\"EdDSA\",\"cty\":\"JWT\"}", false},
        {"{\"alg\":\"EdDSA\",\"\":1}", false},
        {"{\"alg\":{\"a\":\"EdDSA\"}}", false},
        {"{\"alg\":\"EdDSA\"", false},
        {"{\"alg\":\"EdDSA\",}", false},
        {"{'alg':'EdDSA'}", false},
        {"{\"alg\":\"EdDSA\"}{}", false},
        {"\xef\xbb\xbf{\"alg\":\"EdDSA\"}", false}, /* a byte order mark */
        {"[[[[[[[[[[[[{\"alg\":\"EdDSA\"}]]]]]]]]]]]]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if ((decode_texts(cases[i].header, CLAIMS) == ERR_OK) != cases[i].passes)
            fail_msg("%s", cases[i].header);
}

TEST_THAT(DA1_claims)
{
    static const struct {
        const char *claims;
        bool passes;
    } cases[] = {
        {CLAIMS, true}, {"{\"sub\":\"G\",\"\\u0073ub\":\"G\",\"iat\":1,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"\\u0065xp\":3," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"aud\":\"x\",\"a\\u0075d\":\"x\"," REST, false},
        {"{\"sub\":\"G\\u0000\",\"iat\":1,\"exp\":2," REST, false},
        {"{\"sub\":[\"G\"],\"iat\":1,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1e0,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1.0,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":\"1\",\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":-1,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":01,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":9223372036854775808," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":1e999," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":NaN," REST, false},
        {"{\"sub\":\"G\",\"iat\":true,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"nbf\":1.5," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"nbf\":-1," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"idempotencyKey\":[]," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"methodAndPath\":null,\"bodyHash\":\"" HASH_TEXT "\"}", false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"methodAndPath\":\"GET /\"}", false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"methodAndPath\":\"GET /\",\"bodyHash\":null}", false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"x\":\"\xff\"," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"x\":\"\\ud800\"," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"x\":[[[[[[[[[1]]]]]]]]]," REST, false}, /* too deep */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if ((decode_texts(HEADER, cases[i].claims) == ERR_OK) != cases[i].passes)
            fail_msg("%s", cases[i].claims);
}

TEST_THAT(DA1_parts)
{
    static const uint8_t bytes[66] = {1};
    AUTO_FREE char *header = encode(HEADER, strlen(HEADER)), *claims = encode(CLAIMS, strlen(CLAIMS)),
                   *signature = base64_url_encode((struct bytes){bytes, 64}),
                   *shorter = base64_url_encode((struct bytes){bytes, 63}),
                   *longer = base64_url_encode((struct bytes){bytes, 65});
    AUTO_FREE char *unused_bits = mem_copy_text(signature), *standard = mem_copy_text(signature),
                   *good = mem_format("%s.%s.%s", header, claims, signature),
                   *four = mem_format("%s.%s.%s.", header, claims, signature),
                   *leading = mem_format(" %s.%s.%s", header, claims, signature);
    struct token token = {0};
    assert_int_equal(strlen(signature) % 4, 2); /* 64 bytes leave four unused bits */
    unused_bits[strlen(signature) - 1]++;
    standard[3] = '+';
    assert_int_equal(token_decode(good, &token, NULL), ERR_OK);
    assert_int_equal(token.signed_part.len, strlen(header) + 1 + strlen(claims));
    assert_ptr_equal(token.signed_part.data, good);
    token_wipe(&token);
    const char *const signatures[] = {"", shorter, longer, unused_bits, standard, "AA", "A", "="};
    for (size_t i = 0; i < ARRAY_LEN(signatures); i++) {
        assert_int_equal(decode(header, claims, signatures[i], &token), ERR_UNAUTHORIZED);
        token_wipe(&token);
    }
    const char *const texts[] = {"", ".", "..", "...", ".a.b", "a..b", "a.b.", header, four, leading};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(token_decode(texts[i], &token, NULL), ERR_UNAUTHORIZED);
        token_wipe(&token);
    }
}
