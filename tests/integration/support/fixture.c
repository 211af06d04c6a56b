#include "fixture.h"

#include "unit/stellar/sample.h"

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
    (void)state;
    service_reset(&service);
    return 0;
}

json_t *fixture_payment(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    json_t *body = service_body(buf_bytes(&sample.xdr));
    sample_wipe(&sample);
    return body;
}

void fixture_post_payment(struct response *response)
{
    service_post(&service, response, "/v1/transactions", fixture_payment());
}
