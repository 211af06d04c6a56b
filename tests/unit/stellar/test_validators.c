/* Rules of stellar/validators.h: what a line of the list is. */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "stellar/validators.h"

#define A "GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK"
#define B "GA5STBMV6QDXFDGD62MEHLLHZTPDI77U3PFOD2SELU5RJDHQWBR5NNK7"

static struct detail detail;

static enum err parse(const char *text, struct validators *out)
{
    return validators_parse((struct bytes){(const uint8_t *)text, strlen(text)}, out, &detail);
}

TEST(each_line_has_an_organisation_and_a_key)
{
    struct validators list CLEANUP(validators_free) = {0};
    struct public_key a, other = {{1}};
    assert_int_equal(address_decode(A, &a), ERR_OK);
    assert_int_equal(parse("# nodes\n\n  Two words " A " \r\nB\t" B, &list), ERR_OK);
    assert_int_equal(list.count, 2);
    assert_true(validators_have(&list, &a));
    assert_int_equal(address_decode(B, &a), ERR_OK);
    assert_true(validators_have(&list, &a));
    assert_false(validators_have(&list, &other));
}

TEST(a_line_that_is_wrong_is_named)
{
    static const struct {
        const char *text, *words;
    } cases[] = {{"", "no validator"}, {"# " A, "no validator"}, {A, "line 1 is not"},
        {"\nSDF", "line 2 is not"},
        {"SDF GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTA", "line 1 is not"},
        {"SDF GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF", "line 1 is not"},
        {"SDF " A "\nLOBSTR " A, "line 2 repeats"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct validators list = {0};
        assert_int_equal(parse(cases[i].text, &list), ERR_CONFIG);
        assert_non_null(strstr(detail.text, cases[i].words));
        assert_int_equal(list.count, 0);
    }
}
