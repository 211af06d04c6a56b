/* The network and the distribution account to which a database is bound, once and for all. */
#include "pool/network.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"

static const char sql_read[] = "SELECT n.passphrase, n.distribution_account FROM fairway.network n";

static const char sql_bind[] = "SELECT fairway.bind_network($1, $2)";

enum err network_read(struct db *db, struct network *out, struct detail *detail)
{
    *out = (struct network){0};
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_read), &rows, detail);
    if (e != ERR_OK || db_count(rows) == 0)
        return e;
    if (address_decode(db_text(rows, 0, 1), &out->distribution) != ERR_OK)
        return detail_set(
            detail, ERR_CONFIG, "the distribution account in the database is not a valid address");
    out->passphrase = mem_copy_text(db_text(rows, 0, 0));
    return ERR_OK;
}

/* By its number, whatever the size of the table was when this was planned. */
static const char sql_protocol[] =
    "SELECT coalesce((SELECT g.protocol FROM fairway.ledgers g WHERE g.sequence = c.sequence), 0)"
    " FROM fairway.cursor c";

enum err network_read_protocol(struct db *db, int32_t *protocol, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql_protocol), &rows, detail);
    *protocol = e == ERR_OK && db_count(rows) > 0 ? db_i32(rows, 0, 0) : 0;
    return e;
}

void network_free(struct network *network)
{
    free(network->passphrase);
    *network = (struct network){0};
}

enum err network_bind(
    struct db *db, const char *passphrase, const struct public_key *distribution, struct detail *detail)
{
    char wanted[ADDRESS_SIZE], bound[ADDRESS_SIZE];
    address_encode(distribution, wanted);
    enum err e = db_query(db, DB_SQL(sql_bind, DB_TEXT(passphrase), DB_TEXT(wanted)), NULL, detail);
    struct network network CLEANUP(network_free) = {0};
    if (e == ERR_OK)
        e = network_read(db, &network, detail);
    if (e != ERR_OK)
        return e;
    if (!text_equal(network.passphrase, passphrase))
        return detail_set(detail, ERR_CONFIG,
            "this database serves the network \"%.50s\", not \"%.50s\": correct NETWORK_PASSPHRASE, or use"
            " another database",
            network.passphrase, passphrase);
    address_encode(&network.distribution, bound);
    if (!public_key_equal(&network.distribution, distribution))
        return detail_set(detail, ERR_CONFIG,
            "the channel accounts of this database are sponsored by %s: use its key, or another database",
            bound);
    return ERR_OK;
}
