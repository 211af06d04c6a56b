/* Which addresses are counted as one client. */
#include <arpa/inet.h>
#include <stdio.h>

#include "check.h"
#include "base/mem.h"
#include "peers.h"

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&storage;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
        six->sin6_family = AF_INET6;
    }
    return storage;
}

static bool enter(struct peers *peers, const char *text, struct peer **peer)
{
    struct sockaddr_storage from = address(text);
    return peers_enter(peers, (struct sockaddr *)&from, peer);
}

static void addresses_of_one_client_are_counted_together(void **state)
{
    static const struct {
        const char *one, *other;
        bool same;
    } pairs[] = {
        {"192.0.2.1", "192.0.2.1", true},
        {"192.0.2.1", "192.0.2.2", false},
        {"192.0.2.1", "::ffff:192.0.2.1", true},
        {"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
        {"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
        {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
        {"::1", "127.0.0.1", false},
        {"192.0.2.1", "c000:201::", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct peers *peers = peers_new(1, 10);
        struct peer *one, *other;
        assert_true(enter(peers, pairs[i].one, &one));
        if (enter(peers, pairs[i].other, &other) == pairs[i].same)
            fail_msg("%s and %s", pairs[i].one, pairs[i].other);
        peers_leave(peers, one);
        peers_leave(peers, other);
        peers_free(peers);
    }
}

static void a_limit_holds_for_each_of_many_addresses(void **state)
{
    enum {
        ADDRESSES = 1000,
        LIMIT = 3
    };
    static struct peer *inside[ADDRESSES][LIMIT];
    struct peers *peers = peers_new(LIMIT, ADDRESSES);
    struct peer *none;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < LIMIT * ADDRESSES; i++) {
            char text[20];
            snprintf(text, sizeof text, "10.0.%d.%d", i / LIMIT / 250, i / LIMIT % 250);
            assert_true(enter(peers, text, &inside[i / LIMIT][i % LIMIT]));
            if (i % LIMIT == LIMIT - 1)
                assert_false(enter(peers, text, &none));
        }
        for (int i = 0; i < LIMIT * ADDRESSES; i++)
            peers_leave(peers, inside[i * 7 % ADDRESSES][i / ADDRESSES]);
    }
    peers_free(peers);
}

static void without_a_limit_no_connection_is_refused(void **state)
{
    struct peers *peers = peers_new(0, 10);
    struct peer *peer;
    for (int i = 0; i < 100; i++) {
        assert_true(enter(peers, "192.0.2.1", &peer));
        peers_leave(peers, peer);
    }
    peers_free(peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_one_client_are_counted_together),
        cmocka_unit_test(a_limit_holds_for_each_of_many_addresses),
        cmocka_unit_test(without_a_limit_no_connection_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
