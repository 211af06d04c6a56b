#include "fixture.h"

struct service service;

int fixture_start(void **state)
{
    test_pg_start(state);
    service_start(&service, FIXTURE_ACCOUNTS);
    return 0;
}

int fixture_start_private(void **state)
{
    test_pg_start_private(state);
    service_start(&service, FIXTURE_ACCOUNTS);
    return 0;
}

int fixture_stop(void **state)
{
    service_stop(&service);
    return test_pg_stop(state);
}

int fixture_reset(void **state)
{
    service_reset(&service);
    return 0;
}

json_t *fixture_payment(void)
{
    struct sample sample CLEANUP(sample_wipe) = SAMPLE;
    add_payment(&sample, PLAIN, SIGNER);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    json_t *body = service_body(buf_bytes(&sample.xdr));
    return body;
}

void fixture_post_payment(struct response *response)
{
    service_post(&service, response, "/v1/transactions", fixture_payment());
}

void fixture_sign(struct buf *envelope, const struct hash *hash, uint8_t n)
{
    struct envelope view;
    struct buf out = {0};
    const struct public_key key = sample_key(n);
    const struct signature signature = sample_sign(n, BYTES_OF(hash->bytes));
    assert_int_equal(envelope_decode(buf_bytes(envelope), &view, NULL), ERR_OK);
    buf_add(&out, envelope->data, (size_t)(view.signature_list.data - envelope->data));
    buf_add_u32(&out, view.signature_count + 1);
    buf_add(&out, view.signature_list.data + 4, view.signature_list.len - 4);
    buf_add(&out, key.bytes + 28, 4);
    buf_add_u32(&out, sizeof signature.bytes);
    buf_add(&out, signature.bytes, sizeof signature.bytes);
    buf_free(envelope);
    *envelope = out;
}

void fixture_bump(struct response *response, const struct response *leased)
{
    struct buf xdr CLEANUP(buf_free) = {0};
    const struct hash hash = response_hash(leased, "hash");
    response_xdr(leased, "transactionXdr", &xdr);
    fixture_sign(&xdr, &hash, SIGNER);
    service_post(&service, response, "/v1/fee-bumps", service_body(buf_bytes(&xdr)));
}
