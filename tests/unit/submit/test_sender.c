/* Rules of sender.h: a bid goes to every address, and its answers count as one. */
#include "sender.h"
#include "unit/rpc/fake_rpc.h"

#include <stdatomic.h>

#include "slowness.h"

#define SENT(status) FAKE_RESULT("{\"status\":\"" status "\",\"latestLedger\":9}")
/* txINSUFFICIENT_FEE, txMALFORMED */
#define NO_ROOM                                                                                              \
    FAKE_RESULT("{\"status\":\"ERROR\",\"errorResultXdr\":\"AAAAAAAAAGT////3AAAAAA==\",\"latestLedger\":9}")
#define REJECTED                                                                                             \
    FAKE_RESULT("{\"status\":\"ERROR\",\"errorResultXdr\":\"AAAAAAAAAGT////wAAAAAA==\",\"latestLedger\":9}")

static struct fake_rpc *fakes[2];
static struct sender *sender;
static atomic_uint told;

static void tell(void *context)
{
    atomic_fetch_add(&told, 1);
}

static int set_up(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++)
        fake_start((void **)&fakes[i]);
    AUTO_FREE char *one = fake_url(fakes[0]), *two = fake_url(fakes[1]), *url = mem_format("%s,%s", one, two);
    sender = sender_start(url, tell, NULL);
    return 0;
}

static int tear_down(void **state)
{
    sender_stop(sender);
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++)
        fake_stop((void **)&fakes[i]);
    return 0;
}

static void send_bid(uint8_t n)
{
    const struct sender_item item = {.bid = {{n}}, .round_ledger = 5, .is_new = n % 2 == 0};
    sender_send(sender, &item, (struct bytes){(const uint8_t *)"foobar", 6});
}

static struct sender_item await_item(void)
{
    struct sender_item item;
    for (const int64_t end_ms = clock_ms() + slower(20000); !sender_take(sender, &item); clock_sleep_ms(2))
        assert_true(clock_left_ms(end_ms) > 0);
    return item;
}

TEST_WITH(the_answers_of_all_addresses_count_as_the_one_that_says_most, set_up, tear_down)
{
    static const struct {
        struct fake_reply replies[2];
        enum answer answer;
        bool reached;
    } cases[] = {
        {{{.body = SENT("PENDING")}, {.body = SENT("DUPLICATE")}}, ANSWER_TAKEN, true},
        {{{.body = REJECTED}, {.body = SENT("PENDING")}}, ANSWER_TAKEN, true},
        {{{.body = NO_ROOM}, {.body = SENT("TRY_AGAIN_LATER")}}, ANSWER_NO_ROOM, true},
        {{{.body = NO_ROOM}, {.body = REJECTED}}, ANSWER_REJECTED, true},
        {{{.status = 503}, {.body = SENT("TRY_AGAIN_LATER")}}, ANSWER_OPEN, true},
        {{{.status = 503}, {.manner = FAKE_HANGS_UP}}, ANSWER_OPEN, false},
        {{{.body = FAKE_ERROR(-32603, "m")}, {.status = 429}}, ANSWER_OPEN, false},
    };
    for (uint8_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t to = 0; to < ARRAY_LEN(fakes); to++)
            fake_set_reply(fakes[to], 0, cases[i].replies[to]);
        send_bid(i);
        const struct sender_item item = await_item();
        assert_int_equal(item.bid.bytes[0], i);
        assert_int_equal(item.answer, cases[i].answer);
        assert_int_equal(item.reached, cases[i].reached);
        if (item.answer == ANSWER_REJECTED)
            assert_int_equal(item.sent.code, -16);
    }
    assert_true(atomic_load(&told) >= 2 * ARRAY_LEN(cases));
}

/* An address that hangs delays no other, and is not what counts. */
TEST_WITH(the_address_that_works_tells_how_much_waits, set_up, tear_down)
{
    fake_set_reply(fakes[0], 0, (struct fake_reply){.status = 503});
    fake_set_reply(fakes[1], 0, (struct fake_reply){.manner = FAKE_SILENT});
    for (uint8_t i = 0; i < 20; i++)
        send_bid(i);
    for (const int64_t end_ms = clock_ms() + slower(20000); fake_requests(fakes[0]) < 20; clock_sleep_ms(2))
        assert_true(clock_left_ms(end_ms) > 0);
    assert_in_range(sender_waiting(sender), 0, 20);
    for (int i = 0; i < 20; i++)
        assert_false(await_item().reached); /* the other one has not answered in time */
    assert_int_equal(sender_waiting(sender), SIZE_MAX);
    fake_says(fakes[0], SENT("PENDING"));
    fake_says(fakes[1], SENT("PENDING"));
    send_bid(1);
    assert_int_equal(await_item().answer, ANSWER_TAKEN);
    assert_int_equal(sender_waiting(sender), 0);
}

TEST_WITH(stopping_drops_what_is_under_way, set_up, tear_down)
{
    const int64_t begun_ms = clock_ms();
    for (size_t to = 0; to < ARRAY_LEN(fakes); to++)
        fake_set_reply(fakes[to], 0, (struct fake_reply){.manner = FAKE_SILENT});
    for (unsigned i = 0; i < 300; i++)
        send_bid(1);
    tear_down(NULL);
    assert_true(clock_ms() - begun_ms < slower(2000));
    set_up(NULL);
}
