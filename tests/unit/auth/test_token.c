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

static char *encode(const char *text)
{
    return base64_url_encode((struct bytes){(const uint8_t *)text, strlen(text)});
}

/* Encodes and decodes a token with a signature of so many bytes. */
static enum err decode(const char *header, const char *claims, size_t signature_len)
{
    static const uint8_t zeros[65];
    struct token token CLEANUP(token_wipe) = {0};
    struct detail why = {0};
    AUTO_FREE char *first = encode(header), *second = encode(claims),
                   *third = base64_url_encode((struct bytes){zeros, signature_len});
    AUTO_FREE char *text = mem_format("%s.%s.%s", first, second, third);
    const enum err e = token_decode(text, &token, &why);
    if (e != ERR_OK && why.text[0] == '\0')
        fail_msg("%s: no reason for the log", text);
    return e;
}

TEST(DA1_headers)
{
    static const struct {
        const char *header;
        bool passes;
    } cases[] = {
        {HEADER, true},
        {"{\"typ\":\"JWT\",\"alg\":\"EdDSA\"}", true},
        {"{\"alg\":\"Ed25519\"}", true},           /* RFC 9864 */
        {" { \"alg\" : \"\\u0045dDSA\" } ", true}, /* JSON of the same meaning */
        {"{\"alg\":\"EdDSA\",\"kid\":\"1\"}", true},
        {"{\"alg\":\"none\",\"typ\":\"JWT\"}", false},
        {"{\"alg\":\"HS256\"}", false},
        {"{\"alg\":\"ES256\"}", false},
        {"{\"alg\":\"Ed448\"}", false},
        {"{\"alg\":\"eddsa\"}", false},
        {"{\"alg\":\"EdDSA \"}", false},
        {"{\"ALG\":\"EdDSA\"}", false},
        {"{\"alg\":null}", false},
        {"{\"typ\":\"JWT\"}", false},
        {"\"EdDSA\"", false},
        {"", false},
        {"{\"alg\":\"EdDSA\\u0000\"}", false},
        {"{\"alg\":\"EdDSA\",\"kid\":\"\xff\"}", false},
        {"{\"alg\":\"EdDSA\",\"typ\":1}", true},
        {"{\"alg\":\"EdDSA\",\"typ\":null}", true},
        {"{\"alg\":\"EdDSA\",\"typ\":\"jwt\"}", true},
        {"{\"alg\":\"EdDSA\",\"\\u0061lg\":\"EdDSA\"}", false},
        {"{\"\\u0061lg\":\"none\",\"alg\":\"EdDSA\"}", false},
        {"{\"alg\":\"EdDSA\",\"jku\":\"https://x/\"}", true},
        {"{\"alg\":\"EdDSA\",\"crit\":[]}", false},
        {"{\"alg\":\"EdDSA\",\"crit\":[\"b64\"],\"b64\":false}", false},
        {"{\"alg\":\"EdDSA\",\"b64\":true}", true},
        {"{\"alg\":\"EdDSA\",\"cty\":\"JWT\"}", true},
        {"{\"alg\":{\"a\":\"EdDSA\"}}", false},
        {"{\"alg\":\"EdDSA\"", false},
        {"{\"alg\":\"EdDSA\",}", false},
        {"{'alg':'EdDSA'}", false},
        {"{\"alg\":\"EdDSA\"}{}", false},
        {"\xef\xbb\xbf{\"alg\":\"EdDSA\"}", false}, /* a byte order mark */
        {"[[[[[[[[[[[[{\"alg\":\"EdDSA\"}]]]]]]]]]]]]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if ((decode(cases[i].header, CLAIMS, 64) == ERR_OK) != cases[i].passes)
            fail_msg("%s", cases[i].header);
}

TEST(DA1_claims)
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
        {"{\"sub\":\"G\",\"iat\":1e0,\"exp\":2," REST, true},
        {"{\"sub\":\"G\",\"iat\":1.0,\"exp\":2," REST, true},
        {"{\"sub\":\"G\",\"iat\":\"1\",\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":-1,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":01,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":9223372036854775808," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":1e999," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":NaN," REST, false}, {"", false}, {"[]", false}, {"null", false},
        {"{\"sub\":null}", false}, {"{\"sub\":\"G\",\"iat\":1.8e9,\"exp\":2," REST, true},
        {"{\"sub\":\"G\",\"iat\":null,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":[1],\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":+1,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":0x1,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":18446744073709551616," REST, false},
        {"{\"sub\":\"G\",\"iat\":true,\"exp\":2," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"nbf\":1.5," REST, true},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"nbf\":-0.5," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":9007199254740992," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"idempotencyKey\":[]," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"methodAndPath\":null,\"bodyHash\":\"" HASH_TEXT "\"}", false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"methodAndPath\":\"GET /\"}", false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"methodAndPath\":\"GET /\",\"bodyHash\":null}", false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"x\":\"\xff\"," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"x\":\"\\ud800\"," REST, false},
        {"{\"sub\":\"G\",\"iat\":1,\"exp\":2,\"x\":[[[[[[[[[1]]]]]]]]]," REST, false}, /* too deep */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if ((decode(HEADER, cases[i].claims, 64) == ERR_OK) != cases[i].passes)
            fail_msg("%s", cases[i].claims);
}

TEST(DA1_a_signature_has_64_bytes)
{
    for (size_t len = 63; len <= 65; len++)
        assert_int_equal(decode(HEADER, CLAIMS, len), len == 64 ? ERR_OK : ERR_UNAUTHORIZED);
}
