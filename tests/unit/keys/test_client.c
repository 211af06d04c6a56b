/*
 * After a malformed answer the client sends no further request, and after a late one it takes each answer for
 * that of its own request. Most answers are written to the socket before the request is sent.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "frames.h"
#include "base/clock.h"
#include "base/metric.h"
#include "base/mem.h"
#include "client.h"
#include "slowness.h"

struct talk {
    struct keyd keyd;
    int other_end;
};

static void begin(struct talk *talk)
{
    int pair[2];
    *talk = (struct talk){0};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    talk->keyd.child = (struct spawn_child){.fd = pair[0], .pidfd = -1};
    talk->other_end = pair[1];
    client_init(&talk->keyd);
}

static void end(struct talk *talk)
{
    close(talk->keyd.child.fd);
    close(talk->other_end);
    client_free(&talk->keyd);
}

/* The answer to a request for one key. */
static void put_key(struct buf *answer)
{
    struct sealed_seed sealed = {.key_id = "0123456789abcdef"};
    buf_add(answer, (struct public_key){0}.bytes, sizeof(struct public_key));
    wire_put_sealed(answer, &sealed);
}

static enum err ask(struct talk *talk)
{
    struct generated_key key;
    return keyd_generate(&talk->keyd, 1, &key);
}

static void answer_with(struct talk *talk, uint32_t type, uint32_t len, const struct buf *payload)
{
    uint8_t header[WIRE_HEADER_SIZE];
    be32_put(header, len);
    be32_put(header + 4, type);
    assert_int_equal(send(talk->other_end, header, sizeof header, 0), sizeof header);
    assert_int_equal(send(talk->other_end, payload->data, payload->len, 0), payload->len);
}

/* The call fails after this answer, and so does every later call, whose answer could be to an earlier
 * request. */
static void assert_lost_after(uint32_t type, uint32_t len, const struct buf *payload)
{
    struct talk bad CLEANUP(end);
    begin(&bad);
    int64_t begun_ms = clock_ms();
    answer_with(&bad, type, len, payload);
    shutdown(bad.other_end, SHUT_WR);
    assert_int_equal(ask(&bad), ERR_KEYD_UNAVAILABLE);
    assert_true(bad.keyd.lost);
    assert_int_equal(ask(&bad), ERR_KEYD_UNAVAILABLE);
    assert_true(clock_ms() - begun_ms < slower(1000));
}

TEST(a_well_formed_answer_is_read)
{
    struct talk good CLEANUP(end);
    begin(&good);
    struct buf right CLEANUP(buf_free) = {0};
    put_key(&right);
    for (int i = 0; i < 2; i++) {
        answer_with(&good, WIRE_GENERATE, (uint32_t)right.len, &right);
        assert_int_equal(ask(&good), ERR_OK);
    }
}

TEST(a_malformed_answer_makes_the_key_process_unavailable)
{
    struct buf right CLEANUP(buf_free) = {0};
    put_key(&right);
    const uint32_t len = (uint32_t)right.len;
    assert_lost_after(WIRE_LEASES, len, &right);          /* of another type */
    assert_lost_after(WIRE_GENERATE, len + 4, &right);    /* the socket ends inside the frame */
    assert_lost_after(WIRE_GENERATE, UINT32_MAX, &right); /* larger than any payload */
    right.len -= 4;
    assert_lost_after(WIRE_GENERATE, len - 4, &right); /* a payload that ends early */
    right.len += 4;
    buf_add_u32(&right, 0);
    assert_lost_after(WIRE_GENERATE, len + 4, &right); /* trailing bytes */
}

TEST(an_unknown_error_code_makes_the_key_process_unavailable)
{
    struct talk bad CLEANUP(end);
    begin(&bad);
    struct buf payload CLEANUP(buf_free) = {0}, envelope = {0};
    struct bump_signing item = {.fee_stroops = 1, .envelope = &envelope};
    buf_add_u32(&payload, 100000);
    buf_add_u32(&payload, 0);
    answer_with(&bad, WIRE_FEE_BUMPS, (uint32_t)payload.len, &payload);
    assert_int_equal(keyd_sign_fee_bumps(&bad.keyd, 0, &item, 1), ERR_KEYD_UNAVAILABLE);
    assert_int_equal(envelope.len, 0);
}

/* Requests the signing of two accounts; the answer says that the seed at index is broken. */
static enum err ask_provisioning(struct talk *talk, uint32_t index)
{
    const struct provisioning_tx provisioning = {.account_count = 2};
    const struct sealed_seed sealed[2] = {0};
    struct buf answer CLEANUP(buf_free) = {0}, envelope = {0};
    struct hash hash = {0};
    uint32_t broken;
    wire_put_result(&answer, ERR_SEAL_BROKEN, &(struct detail){.text = "broken"});
    buf_add(&answer, hash.bytes, sizeof hash.bytes);
    wire_put_bytes(&answer, (struct bytes){0});
    buf_add_u32(&answer, index);
    answer_with(talk, WIRE_PROVISIONING, (uint32_t)answer.len, &answer);
    enum err e =
        keyd_sign_provisioning(&talk->keyd, 1, &provisioning, sealed, &envelope, &hash, &broken, NULL);
    assert_true(e != ERR_SEAL_BROKEN || broken == index);
    return e;
}

TEST(a_broken_seed_out_of_range_makes_the_key_process_unavailable)
{
    struct talk talk_about_two CLEANUP(end);
    begin(&talk_about_two);
    assert_int_equal(ask_provisioning(&talk_about_two, 0), ERR_SEAL_BROKEN);
    assert_int_equal(ask_provisioning(&talk_about_two, 1), ERR_SEAL_BROKEN);
    assert_int_equal(ask_provisioning(&talk_about_two, 2), ERR_KEYD_UNAVAILABLE);
    assert_true(talk_about_two.keyd.lost);
}

/* Nothing is sent: there is no peer that answers. */
TEST(too_many_key_rows_are_refused_without_being_sent)
{
    struct talk deaf CLEANUP(end);
    begin(&deaf);
    uint8_t byte;
    struct detail detail;
    struct master_key_row rows[MASTER_KEY_ROWS_MAX + 1] = {0}, current;
    struct public_key distribution;
    bool is_new;
    assert_int_equal(
        keyd_load(&deaf.keyd, rows, ARRAY_LEN(rows), &current, &is_new, &distribution, &detail), ERR_CONFIG);
    assert_int_equal(recv(deaf.other_end, &byte, 1, MSG_DONTWAIT), -1);
}

static struct lease_signing asked; /* the last of ask_until */

static enum err ask_until(struct talk *talk, int64_t deadline_ms)
{
    asked = (struct lease_signing){.transaction = {(const uint8_t *)"abcd", 4}};
    return keyd_sign_leases(&talk->keyd, 0, deadline_ms, &asked, 1);
}

#define BUDGET_LEFT 77

/* An item of the answer to ask_until, with a hash that begins with this byte. */
static struct buf lease_answer(uint8_t first)
{
    struct buf answer = {0};
    buf_add_u32(&answer, ERR_OK);
    buf_add(&answer, (struct hash){{first}}.bytes, sizeof(struct hash));
    buf_add(&answer, (struct signature){0}.bytes, sizeof(struct signature));
    buf_add(&answer, (struct hash){0}.bytes, sizeof(struct hash));
    buf_add_u32(&answer, 0); /* no bid */
    return answer;
}

static void answer_lease(struct talk *talk, uint8_t first)
{
    struct buf answer CLEANUP(buf_free) = lease_answer(first);
    buf_add_u64(&answer, BUDGET_LEFT);
    answer_with(talk, WIRE_LEASES, (uint32_t)answer.len, &answer);
}

/* Reads one request, which must be there, at the other end; returns whether there is another one. */
static bool read_request(struct talk *talk)
{
    struct buf payload CLEANUP(buf_free) = {0};
    uint32_t type;
    assert_int_equal(read_frame(talk->other_end, &type, &payload, clock_ms()), WIRE_DONE);
    uint8_t next;
    return recv(talk->other_end, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

TEST(a_call_ends_at_its_deadline_and_its_answer_is_dropped_by_the_next)
{
    struct talk slow CLEANUP(end);
    begin(&slow);
    int64_t begun_ms = clock_ms();
    assert_int_equal(ask_until(&slow, begun_ms + 200), ERR_KEYD_UNAVAILABLE);
    assert_in_range(clock_ms() - begun_ms, 200, slower(400));
    assert_int_equal(ask_until(&slow, clock_ms() + 1), ERR_KEYD_UNAVAILABLE);
    assert_false(slow.keyd.lost);
    assert_false(read_request(&slow)); /* only the first call sent one */
    answer_lease(&slow, 1);            /* the late one */
    answer_lease(&slow, 2);            /* to the request that follows */
    assert_int_equal(ask_until(&slow, clock_ms() + 1000), ERR_OK);
    assert_int_equal(asked.hash.bytes[0], 2);
    assert_false(slow.keyd.lost);
}

TEST(an_answer_that_is_cut_by_the_deadline_is_read_on)
{
    struct buf answer CLEANUP(buf_free) = lease_answer(1);
    buf_add_u64(&answer, BUDGET_LEFT);
    const size_t len = answer.len;
    for (size_t cut = 0; cut < len; cut += len / 3) {
        struct talk slow CLEANUP(end);
        begin(&slow);
        const struct buf first = {.data = answer.data, .len = cut},
                         rest = {.data = answer.data + cut, .len = len - cut};
        answer_with(&slow, WIRE_LEASES, (uint32_t)len, &first);
        assert_int_equal(ask_until(&slow, clock_ms() + 1), ERR_KEYD_UNAVAILABLE);
        assert_int_equal(send(slow.other_end, rest.data, rest.len, 0), rest.len);
        answer_lease(&slow, 2);
        assert_int_equal(ask_until(&slow, clock_ms() + 1000), ERR_OK);
        assert_int_equal(asked.hash.bytes[0], 2);
    }
}

static void *read_two_requests(void *context)
{
    struct talk *talk = context;
    struct buf payload CLEANUP(buf_free) = {0};
    uint32_t type;
    for (int i = 0; i < 2; i++)
        if (read_frame(talk->other_end, &type, &payload, -1) != WIRE_DONE || type != WIRE_LEASES)
            return talk;
    return NULL;
}

/* The socket takes a part of it, and keyd reads nothing. */
TEST(a_large_request_ends_at_the_deadline_and_is_sent_on)
{
    enum {
        COUNT = 20
    };
    struct talk slow CLEANUP(end);
    begin(&slow);
    static const uint8_t transaction[KEYD_TRANSACTION_MAX];
    struct lease_signing items[COUNT];
    struct buf answer CLEANUP(buf_free) = {0};
    pthread_t reader;
    void *failed;
    for (size_t i = 0; i < COUNT; i++) {
        struct buf one CLEANUP(buf_free) = lease_answer((uint8_t)i);
        items[i] = (struct lease_signing){.transaction = {transaction, sizeof transaction}};
        buf_add_bytes(&answer, buf_bytes(&one));
    }
    buf_add_u64(&answer, BUDGET_LEFT);
    int64_t begun_ms = clock_ms();
    assert_int_equal(keyd_sign_leases(&slow.keyd, 0, begun_ms + 200, items, COUNT), ERR_KEYD_UNAVAILABLE);
    assert_in_range(clock_ms() - begun_ms, 200, slower(400));
    assert_true(slow.keyd.sent > 0 && slow.keyd.sent < slow.keyd.request.len);
    assert_int_equal(pthread_create(&reader, NULL, read_two_requests, &slow), 0);
    answer_with(&slow, WIRE_LEASES, (uint32_t)answer.len, &answer);
    answer_lease(&slow, 99);
    assert_int_equal(ask_until(&slow, clock_ms() + slower(2000)), ERR_OK);
    assert_int_equal(asked.hash.bytes[0], 99);
    assert_int_equal(pthread_join(reader, &failed), 0);
    assert_null(failed);
}

TEST(the_budget_that_is_left_and_the_time_are_counted_and_the_budget_fills_again)
{
    struct talk talk CLEANUP(end);
    begin(&talk);
    talk.keyd.fees = (struct budget_bucket){.capacity = 1000, .per_us = 1};
    const int64_t before = metric_read(METRIC_KEYD_SECONDS, METRIC_LEASE, 0);
    answer_lease(&talk, 1);
    assert_int_equal(ask_until(&talk, clock_ms() + slower(1000)), ERR_OK);
    assert_int_equal(metric_read(METRIC_KEYD_BUDGET_LEFT, 0, 0), BUDGET_LEFT);
    assert_int_equal(metric_read(METRIC_KEYD_SECONDS, METRIC_LEASE, 0), before + 1);
    clock_sleep_ms(1);
    keyd_check(&talk.keyd);
    assert_int_equal(metric_read(METRIC_KEYD_BUDGET_LEFT, 0, 0), 1000);
}

TEST(an_answer_that_takes_too_long_is_noticed_without_a_call)
{
    struct talk deaf CLEANUP(end);
    begin(&deaf);
    assert_int_equal(ask_until(&deaf, clock_ms() + 1), ERR_KEYD_UNAVAILABLE);
    keyd_check(&deaf.keyd);
    assert_false(deaf.keyd.lost);
    deaf.keyd.answer_by_ms = clock_ms() - 1;
    answer_lease(&deaf, 1);
    keyd_check(&deaf.keyd); /* this process may have been stopped, not keyd */
    assert_false(deaf.keyd.lost);
    assert_int_equal(ask_until(&deaf, clock_ms() + 1), ERR_KEYD_UNAVAILABLE);
    deaf.keyd.answer_by_ms = clock_ms() - 1;
    keyd_check(&deaf.keyd);
    assert_true(deaf.keyd.lost);
}

TEST(an_answer_that_takes_too_long_is_noticed_by_the_next_call)
{
    struct talk deaf CLEANUP(end);
    begin(&deaf);
    assert_int_equal(ask_until(&deaf, clock_ms() + 1), ERR_KEYD_UNAVAILABLE);
    deaf.keyd.answer_by_ms = clock_ms() - 1;
    assert_int_equal(ask_until(&deaf, clock_ms() + 1000), ERR_KEYD_UNAVAILABLE);
    assert_true(deaf.keyd.lost);
}

static void *hold(void *context)
{
    struct talk *talk = context;
    return ask_until(talk, clock_ms() + 10000) == ERR_OK ? NULL : talk;
}

TEST(a_call_waits_for_another_one_until_its_deadline)
{
    struct talk busy CLEANUP(end);
    struct lease_signing item = {.transaction = {(const uint8_t *)"abcd", 4}};
    pthread_t other;
    void *failed;
    uint8_t request[1];
    begin(&busy);
    assert_int_equal(pthread_create(&other, NULL, hold, &busy), 0);
    assert_int_equal(recv(busy.other_end, request, sizeof request, 0), 1); /* the other call waits */
    int64_t begun_ms = clock_ms();
    assert_int_equal(keyd_sign_leases(&busy.keyd, 0, begun_ms + 200, &item, 1), ERR_KEYD_UNAVAILABLE);
    assert_in_range(clock_ms() - begun_ms, 200, slower(400));
    answer_lease(&busy, 1);
    assert_int_equal(pthread_join(other, &failed), 0);
    assert_null(failed);
    assert_false(busy.keyd.lost);
}

/* Another call that takes milliseconds is waited for, though the deadline has passed. */
static void *answer_soon(void *context)
{
    struct talk *talk = context;
    clock_sleep_ms(10);
    answer_lease(talk, 1);
    return NULL;
}

TEST(a_call_waits_a_little_for_another_one_after_its_deadline)
{
    struct talk busy CLEANUP(end);
    struct lease_signing item = {.transaction = {(const uint8_t *)"abcd", 4}};
    pthread_t other, answers;
    void *failed;
    uint8_t request[1];
    begin(&busy);
    assert_int_equal(pthread_create(&other, NULL, hold, &busy), 0);
    assert_int_equal(recv(busy.other_end, request, sizeof request, 0), 1);
    assert_int_equal(pthread_create(&answers, NULL, answer_soon, &busy), 0);
    enum err e = keyd_sign_leases(&busy.keyd, 0, clock_ms() - 1, &item, 1);
    assert_int_equal(pthread_join(answers, NULL), 0);
    assert_int_equal(pthread_join(other, &failed), 0);
    assert_null(failed);
    assert_int_equal(e, ERR_KEYD_UNAVAILABLE); /* nobody answers it, but it was sent */
    assert_true(busy.keyd.open && busy.keyd.sent == busy.keyd.request.len);
}
