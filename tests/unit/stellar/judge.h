/* Assertions about the result of policy_check on a sample. */
#pragma once

#include "policy_parts.h"
#include "sample.h"

enum {
    DISTRIBUTION = 249
};

static const struct policy_limits sample_limits = {.base_fee_stroops = 100,
    .max_resource_fee_stroops = 1000000,
    .distribution = {{[0 ... 31] = DISTRIBUTION}}};

struct judgement {
    struct named_accounts named;
    struct detail detail;
};

static inline enum err judge(struct sample *sample, struct judgement *out)
{
    *out = (struct judgement){0};
    assert_int_equal(sample_decode(sample, &out->detail), ERR_OK);
    return policy_check(&sample->view, &sample_limits, &out->named, &out->detail);
}

/* The sample is refused with this error and a detail that contains the words. */
static inline void assert_refused(struct sample *sample, enum err expected, const char *words)
{
    struct judgement judgement;
    assert_int_equal(judge(sample, &judgement), expected);
    if (strstr(judgement.detail.text, words) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", judgement.detail.text, words);
}

/* The sample is accepted; exactly sample_key(names[...]) are named. */
static inline void assert_names(struct sample *sample, size_t count, const uint8_t names[])
{
    struct judgement judgement;
    assert_int_equal(judge(sample, &judgement), ERR_OK);
    assert_int_equal(judgement.named.count, count);
    for (size_t i = 0; i < count; i++) {
        struct public_key key = sample_key(names[i]);
        assert_true(named_has(&judgement.named, &key));
    }
}
#define NAMES(sample, ...)                                                                                   \
    assert_names(sample, sizeof((uint8_t[]){__VA_ARGS__}), (const uint8_t[]){__VA_ARGS__})
