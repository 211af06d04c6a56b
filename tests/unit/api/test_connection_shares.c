/* How many connections waiting requests may have. */
#include "check.h"
#include "connection_shares.h"

/* Takes all places that are left of a share, and returns their number. */
static unsigned fill(struct connection_shares *shares, enum connection_share share)
{
    unsigned count = 0;
    while (connection_shares_take(shares, share) == ERR_OK)
        count++;
    assert_int_equal(connection_shares_take(shares, share), ERR_OVERLOADED);
    return count;
}

static void empty(struct connection_shares *shares, enum connection_share share, unsigned count)
{
    while (count-- > 0)
        connection_shares_give(shares, share);
}

TEST(each_kind_has_its_share_and_a_quarter_stays_free)
{
    struct connection_shares shares = {.connections = 1024};
    assert_int_equal(fill(&shares, SHARE_WAIT), 512);
    assert_int_equal(fill(&shares, SHARE_LEASE), 256);
    empty(&shares, SHARE_WAIT, 512);
    assert_int_equal(fill(&shares, SHARE_LEASE), 640 - 256);
    assert_int_equal(fill(&shares, SHARE_WAIT), 128);
    empty(&shares, SHARE_WAIT, 128);
    empty(&shares, SHARE_LEASE, 640);
    assert_int_equal(fill(&shares, SHARE_WAIT), 512);
}

TEST(with_few_connections_one_request_of_each_kind_may_wait)
{
    for (unsigned connections = 1; connections < 4; connections++) {
        struct connection_shares shares = {.connections = connections};
        assert_int_equal(connection_shares_take(&shares, SHARE_WAIT), ERR_OK);
        connection_shares_give(&shares, SHARE_WAIT);
        assert_int_equal(connection_shares_take(&shares, SHARE_LEASE), ERR_OK);
    }
}
