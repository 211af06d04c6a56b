/* Rules of stellar/protocol.h: the newest version counts, whatever came last. */
#include "check.h"
#include "stellar/protocol.h"

TEST(the_newest_version_is_kept)
{
    assert_int_equal(protocol_noted(), 0);
    protocol_note(27, "a ledger");
    protocol_note(0, "a ledger without an upgrade");
    assert_int_equal(protocol_noted(), 27);
    protocol_note(PROTOCOL_KNOWN + 1, "a vote");
    protocol_note(PROTOCOL_KNOWN, "a ledger");
    assert_int_equal(protocol_noted(), PROTOCOL_KNOWN + 1);
}
