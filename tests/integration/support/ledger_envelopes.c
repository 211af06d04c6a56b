#include "ledger_envelopes.h"

#include <pthread.h>
#include <stdlib.h>

#include "xdr/xdr.h"
#include "base/mem.h"

#define BUCKETS 65536
#define TX 2
#define FEE_BUMP 5

struct known {
    struct known *next;
    struct hash hash;
    struct buf envelope;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known *buckets[BUCKETS]; /* live as long as the process */

static struct known **bucket_of(const struct hash *hash)
{
    return &buckets[hash->bytes[0] << 8 | hash->bytes[1]];
}

static struct known *find(const struct hash *hash)
{
    struct known *known = *bucket_of(hash);
    while (known != NULL && !hash_equal(&known->hash, hash))
        known = known->next;
    return known;
}

void envelope_add(const struct hash *hash, struct bytes envelope)
{
    pthread_mutex_lock(&mutex);
    if (find(hash) == NULL) {
        struct known *known = NEW(struct known), **bucket = bucket_of(hash);
        *known = (struct known){.next = *bucket, .hash = *hash};
        buf_add_bytes(&known->envelope, envelope);
        *bucket = known;
    }
    pthread_mutex_unlock(&mutex);
}

bool envelope_find(const struct hash *hash, struct buf *out)
{
    pthread_mutex_lock(&mutex);
    const struct known *known = find(hash);
    if (known != NULL)
        buf_add_bytes(out, buf_bytes(&known->envelope));
    pthread_mutex_unlock(&mutex);
    return known != NULL;
}

static void add_source(struct buf *out, const struct public_key *source)
{
    buf_add_u32(out, 0); /* KEY_TYPE_ED25519 */
    buf_add(out, source->bytes, sizeof source->bytes);
}

void envelope_make(const struct public_key *source, int64_t sequence, const struct hash *salt,
    struct bytes operation, struct buf *out)
{
    buf_add_u32(out, TX);
    add_source(out, source);
    buf_add_u32(out, 100); /* fee */
    buf_add_u64(out, (uint64_t)sequence);
    buf_add_u32(out, 0); /* PRECOND_NONE */
    buf_add_u32(out, 3); /* MEMO_HASH */
    buf_add(out, salt->bytes, sizeof salt->bytes);
    buf_add_u32(out, operation.len != 0);
    buf_add_bytes(out, operation);
    buf_add_u32(out, 0); /* ext */
    buf_add_u32(out, 0); /* signatures */
}

void envelope_wrap(struct bytes inner, struct buf *out)
{
    const struct public_key fee_source = ENVELOPE_FEE_SOURCE;
    buf_add_u32(out, FEE_BUMP);
    add_source(out, &fee_source);
    buf_add_u64(out, 400); /* fee */
    buf_add_bytes(out, inner);
    buf_add_u32(out, 0); /* ext */
    buf_add_u32(out, 0); /* signatures */
}

/* The payload is the network, the type, and the transaction without its signatures. */
struct hash envelope_hash_of(const struct network_id *network, struct bytes envelope)
{
    struct xdr_reader reader = xdr_reader((struct bytes){envelope.data + 4, envelope.len - 4});
    enum xdr_type type = be32_get(envelope.data) == TX ? XDR_Transaction : XDR_FeeBumpTransaction;
    const struct bytes transaction = xdr_take(&reader, type);
    if (reader.e != ERR_OK)
        abort();
    const struct bytes parts[] = {BYTES_OF(network->bytes), {envelope.data, 4}, transaction};
    return sha256_parts(parts, ARRAY_LEN(parts));
}
