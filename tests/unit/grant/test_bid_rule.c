/* The rule of bids, by its table, and against nodes that are short of room (DL16). */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "grant/bump.h"
#include "pool/funds.h"

/* Of a payment with the defaults: two operations of 10,000 stroops, and twenty times of that. */
#define LEAST 20000
#define CAP (BID_CAP_FACTOR * LEAST)

static struct bid_terms terms_at(int64_t price_stroops)
{
    return (struct bid_terms){.operations = 2,
        .least_stroops = LEAST,
        .floor_stroops = 200,
        .cap_stroops = CAP,
        .price_stroops = price_stroops};
}

TEST(DL16_the_first_bid_is_the_least_fee_or_above_the_price_of_a_surge)
{
    static const struct {
        int64_t price, bid;
    } cases[] = {
        {0, LEAST}, {5000, LEAST}, {10000, 20002}, {150000, 300002}, {250000, CAP}, {INT64_MAX, CAP}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct bid_terms terms = terms_at(cases[i].price);
        assert_int_equal(bid_first(&terms), cases[i].bid);
    }
    struct bid_terms call = terms_at(10000);
    call.resource_stroops = 7000;
    assert_int_equal(bid_first(&call), 27002);
}

TEST(DL16_each_bid_that_follows_is_another_one_within_the_cap)
{
    static const struct {
        int64_t price, highest, asked, last, bid;
    } cases[] = {
        {0, LEAST, 0, LEAST, LEAST + 1},     /* nodes have lost it */
        {0, LEAST, 26000, LEAST, 26000},     /* what a node asks for */
        {0, LEAST, 1, LEAST, LEAST + 1},     /* a node that says nothing */
        {10000, LEAST, 0, LEAST, 20002},     /* left out among equal ones, or outbid */
        {10000, 30000, 0, 30000, 30001},     /* left out though it offered more */
        {150000, 100000, 0, 100000, 300002}, /* outbid by far */
        {0, LEAST, 900000, LEAST, CAP},      /* above the cap: at first the cap, */
        {0, CAP - 1, 900000, CAP - 1, CAP},
        {0, CAP, 900000, CAP, CAP - 1},    /* then one less */
        {0, CAP, 0, CAP - 1, CAP - 2},     /* each time, */
        {0, CAP, 0, CAP - BID_CYCLE, CAP}, /* and the cap again */
        {0, CAP + 500, 0, CAP + 500, CAP}, /* the balance has fallen */
        {0, CAP, 0, LEAST, CAP},           /* the client has bid it by itself */
        {INT64_MAX, LEAST, 0, LEAST, CAP},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct bid_terms terms = terms_at(cases[i].price);
        const struct bid_history history = {cases[i].asked, cases[i].highest, cases[i].last};
        assert_int_equal(bid_raise(&terms, &history), cases[i].bid);
    }
    struct bid_terms poor = terms_at(0);
    poor.cap_stroops = poor.floor_stroops = LEAST;
    assert_int_equal(bid_raise(&poor, &(struct bid_history){0, LEAST, LEAST}), LEAST);
}

TEST(DL16_the_largest_limit_of_a_day_bounds_no_bid)
{
    const struct policy_limits limits = {
        .bump_base_fee_stroops = LEAST / 2, .max_bump_fee_stroops = CAP, .max_resource_fee_stroops = 0};
    const struct bump_request request = {.inner.operation_count = 1,
        .limits = &limits,
        .submits = true,
        .raises = true,
        .asked_stroops = 26000};
    struct fee_bump_item item = {.limits.most[LIMIT_STROOPS_PER_DAY] = INT64_MAX,
        .spendable_stroops = FUNDS_NOT_KNOWN,
        .highest_stroops = LEAST,
        .bid_stroops = LEAST};
    assert_int_equal(bump_choose_fee(&request, &item, NULL), ERR_OK);
    assert_int_equal(item.fee_stroops, 26000);
}

/* FEE_BUMP_BASE_FEE was raised since the client gave it. */
TEST(DL16_no_bid_exceeds_the_cap_of_its_submission)
{
    const struct policy_limits limits = {
        .base_fee_stroops = 100, .bump_base_fee_stroops = LEAST, .max_bump_fee_stroops = CAP};
    const struct bump_request request = {
        .inner.operation_count = 1, .limits = &limits, .submits = true, .raises = true};
    struct fee_bump_item item = {.spendable_stroops = FUNDS_NOT_KNOWN,
        .max_fee_stroops = LEAST + 10,
        .highest_stroops = LEAST,
        .bid_stroops = LEAST};
    assert_int_equal(bump_choose_fee(&request, &item, NULL), ERR_OK);
    assert_int_equal(item.fee_stroops, LEAST + 10);
    item.highest_stroops = item.bid_stroops = LEAST + 10;
    assert_int_equal(bump_choose_fee(&request, &item, NULL), ERR_OK);
    assert_int_equal(item.fee_stroops, LEAST + 9);
}

TEST(DL16_a_bid_is_lost_after_four_ledgers_or_when_a_node_asks_for_more_and_has_none_of_the_lease)
{
    uint8_t fees[16];
    be64_put(fees, LEAST);
    be64_put(fees + 8, LEAST + 1);
    const struct bytes earlier = {fees, sizeof fees}, none = {0};
    assert_false(bid_is_lost(3, 0, 0, none));
    assert_true(bid_is_lost(4, 0, 0, none));
    assert_true(bid_is_lost(0, LEAST + 1, 0, none));
    assert_false(bid_is_lost(1, 10 * LEAST, 0, earlier)); /* it still has that one */
    assert_false(bid_is_lost(1, 10 * (LEAST + 1), 0, earlier));
    assert_true(bid_is_lost(1, 10 * LEAST + 1, 0, earlier));
    assert_true(bid_is_lost(4, 10 * LEAST, 0, earlier));
    assert_false(bid_is_lost(1, 10 * (LEAST - 7000) + 7000, 7000, earlier)); /* but for the resource fee */
}

/* ---- nodes, as ../shared/transaction-queue.md has them. All transactions have two operations. */

#define PAYERS_MAX 400
#define BANS_MAX 20000

struct queued {
    size_t payer;
    int64_t fee, until; /* of one that is banned */
    int age;
};

struct node {
    size_t room;                                     /* transactions a ledger */
    struct queued queue[PAYERS_MAX], bans[BANS_MAX]; /* the queue by fee, the highest first */
    size_t count, ban_count;
    int64_t evicted;       /* the highest since the last close */
    int64_t ledger, price; /* an operation; 0: there was room */
};

/* A submission of fairway's, or with `outside` a transaction of somebody else's. */
struct payment {
    int64_t begins, ends; /* ledgers; ends 0: open */
    int64_t outside, cap;
    int64_t bid, highest, asked, round, charged;
    struct buf earlier;
};

struct surge {
    struct node node;
    struct payment payments[PAYERS_MAX];
    size_t count;
};

static void ban(struct node *node, struct queued what)
{
    assert_true(node->ban_count < BANS_MAX);
    what.until = node->ledger + 10;
    node->bans[node->ban_count++] = what;
}

static void take(struct node *node, size_t at)
{
    node->count--;
    memmove(&node->queue[at], &node->queue[at + 1], (node->count - at) * sizeof node->queue[0]);
}

static void insert(struct node *node, struct queued what)
{
    size_t at = node->count++;
    for (; at > 0 && node->queue[at - 1].fee < what.fee; at--)
        node->queue[at] = node->queue[at - 1];
    node->queue[at] = what;
}

/* Returns what the node asks for; 0: it has it, or says nothing. */
static int64_t node_send(struct node *node, size_t payer, int64_t fee)
{
    for (size_t i = 0; i < node->ban_count; i++)
        if (node->bans[i].payer == payer && node->bans[i].fee == fee && node->bans[i].until > node->ledger)
            return 0;
    for (size_t i = 0; i < node->count; i++)
        if (node->queue[i].payer == payer && node->queue[i].fee == fee)
            return 0;
        else if (node->queue[i].payer == payer) { /* never ten times as much here */
            assert_true(fee < 10 * node->queue[i].fee);
            return 10 * node->queue[i].fee;
        }
    const struct queued *last = node->count == 2 * node->room ? &node->queue[node->count - 1] : NULL;
    const int64_t above = last != NULL && last->fee > node->evicted ? last->fee : node->evicted;
    if (fee <= above) {
        ban(node, (struct queued){.payer = payer, .fee = fee});
        return above + 1;
    }
    if (last != NULL) {
        node->evicted = last->fee;
        ban(node, *last);
        node->count--;
    }
    insert(node, (struct queued){.payer = payer, .fee = fee});
    return 0;
}

/* Includes the highest bids. All pay the lowest of them, when others are left. */
static void node_close(struct surge *surge)
{
    struct node *node = &surge->node;
    const size_t count = node->count < node->room ? node->count : node->room;
    node->ledger++;
    node->price = node->count > count ? node->queue[count - 1].fee / 2 : 0;
    for (size_t i = 0; i < count; i++) {
        struct payment *payment = &surge->payments[node->queue[0].payer];
        payment->ends = node->ledger;
        payment->charged = node->price == 0 ? 200 : 2 * node->price;
        take(node, 0);
    }
    node->evicted = 0;
    for (size_t i = node->count; i-- > 0;)
        if (++node->queue[i].age == BID_LEDGERS) {
            ban(node, node->queue[i]);
            take(node, i);
        }
}

/* What the submitter does with a payment after a ledger. */
static void send(struct surge *surge, size_t i)
{
    struct payment *payment = &surge->payments[i];
    struct bid_terms terms = terms_at(surge->node.price);
    const struct bid_history history = {payment->asked, payment->highest, payment->bid};
    const int64_t age = surge->node.ledger - payment->round;
    terms.cap_stroops = payment->cap != 0 ? payment->cap : CAP;
    if (payment->bid == 0 || bid_is_lost(age, payment->asked, 0,
                                 (struct bytes){payment->earlier.data, payment->earlier.len - 8})) {
        payment->bid = payment->outside != 0 ? payment->outside
                       : payment->bid == 0   ? bid_first(&terms)
                                             : bid_raise(&terms, &history);
        assert_in_range(
            payment->bid, terms.floor_stroops, payment->outside != 0 ? INT64_MAX : terms.cap_stroops);
        buf_add_u64(&payment->earlier, (uint64_t)payment->bid);
        payment->round = surge->node.ledger;
        payment->asked = 0;
    }
    if (payment->bid > payment->highest)
        payment->highest = payment->bid;
    const int64_t asked = node_send(&surge->node, i, payment->bid);
    if (asked != 0)
        payment->asked = asked;
}

static void add(struct surge *surge, size_t count, struct payment like)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(surge->count < PAYERS_MAX);
        surge->payments[surge->count++] = like;
    }
}

/* Returns in which ledger the last of fairway's was included; 0: one is open after `most`. */
static int64_t run(struct surge *surge, int64_t most)
{
    for (;;) {
        int64_t last = 0;
        bool open = false;
        for (size_t i = 0; i < surge->count; i++) {
            const struct payment *payment = &surge->payments[i];
            open |= payment->outside == 0 && payment->ends == 0;
            if (payment->outside == 0 && payment->ends > last)
                last = payment->ends;
        }
        if (!open || surge->node.ledger == most)
            return open ? 0 : last;
        for (size_t i = 0; i < surge->count; i++)
            if (surge->payments[i].ends == 0 && surge->payments[i].begins <= surge->node.ledger)
                send(surge, i);
        node_close(surge);
    }
}

static int64_t highest_charge(const struct surge *surge)
{
    int64_t highest = 0;
    for (size_t i = 0; i < surge->count; i++)
        if (surge->payments[i].outside == 0 && surge->payments[i].charged > highest)
            highest = surge->payments[i].charged;
    return highest;
}

static void surge_free(struct surge **surge)
{
    for (size_t i = 0; i < (*surge)->count; i++)
        buf_free(&(*surge)->payments[i].earlier);
    free(*surge);
}

static struct surge *surge_new(size_t room)
{
    struct surge *surge = NEW(struct surge);
    surge->node.room = room;
    return surge;
}

/* 160 at once, two in a ledger: bids that rest beside empty room took 135 ledgers. */
TEST(DL16_a_burst_of_many_ledgers_leaves_none_empty_and_does_not_bid_against_itself)
{
    struct surge *surge CLEANUP(surge_free) = surge_new(2);
    add(surge, 160, (struct payment){0});
    assert_in_range(run(surge, 200), 80, 84);
    assert_in_range(highest_charge(surge), 0, LEAST * 11 / 10);
}

/* The same with a cap that is the least fee. */
TEST(DL16_at_the_cap_another_hash_goes_out_and_no_room_is_left)
{
    struct surge *surge CLEANUP(surge_free) = surge_new(2);
    add(surge, 60, (struct payment){.cap = LEAST});
    assert_in_range(run(surge, 200), 30, 34);
}

TEST(DL16_who_fills_twenty_ledgers_alone_pays_the_price_of_the_first)
{
    struct surge *surge CLEANUP(surge_free) = surge_new(10);
    for (int64_t ledger = 0; ledger < 20; ledger++)
        add(surge, 10 + 5 * (ledger == 0), (struct payment){.begins = ledger});
    assert_in_range(run(surge, 60), 20, 22);
    assert_in_range(highest_charge(surge), LEAST, LEAST * 11 / 10);
}

/* Others fill every ledger at 15 times FEE_BUMP_BASE_FEE, from before and from after the first bids on. */
TEST(DL16_default_submissions_are_included_while_others_bid_fifteen_times_as_much)
{
    for (int64_t begins = 0; begins <= 2; begins += 2) {
        struct surge *surge CLEANUP(surge_free) = surge_new(10);
        for (int64_t ledger = 0; ledger < 20; ledger++)
            add(surge, 11, (struct payment){.begins = ledger, .outside = 15 * LEAST});
        add(surge, 40, (struct payment){.begins = begins});
        assert_in_range(run(surge, 20), 4, 10);
        assert_in_range(highest_charge(surge), LEAST, CAP);
    }
}

TEST(DL16_a_price_that_rises_for_some_ledgers_is_caught_up_with)
{
    struct surge *surge CLEANUP(surge_free) = surge_new(10);
    for (int64_t ledger = 0, fee = LEAST; ledger < 15; ledger++, fee += ledger < 6 ? fee / 5 : 0)
        add(surge, 12, (struct payment){.begins = ledger, .outside = fee});
    add(surge, 10, (struct payment){0});
    assert_in_range(run(surge, 15), 1, 12);
}
