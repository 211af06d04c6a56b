/* The threads that ask Stellar RPC for the API: each work is run once, and within bounded time whatever the
 * RPC does. */
#include "unit/rpc/fake_rpc.h"

#include <stdatomic.h>

#include "base/deadlines.h"
#include "workers.h"
#include "slowness.h"

struct job {
    struct worker_job work; /* first */
    atomic_uint runs;
    enum err e, called;
};

static void run(struct worker_job *work, enum err e, const struct worker_session *session)
{
    struct job *job = (struct job *)work;
    struct rpc_health health;
    struct detail detail;
    job->e = e;
    assert_int_equal(e == ERR_OK, session != NULL);
    job->called = e != ERR_OK ? ERR_OK : rpc_health(session->rpc, &health, &detail);
    atomic_fetch_add(&job->runs, 1);
}

static struct workers *start(const struct fake_rpc *fake, unsigned count)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    assert_int_equal(getsockname(fake->listener, (struct sockaddr *)&address, &len), 0);
    AUTO_FREE char *url = mem_format("http://127.0.0.1:%u/rpc", ntohs(address.sin_port));
    return workers_start_rpc(url, count);
}

static enum err submit(struct workers *workers, struct job *job)
{
    job->work.run = run;
    job->work.item.deadline_ms = clock_ms() + RPC_WORKERS_WAIT_MS;
    return workers_submit(workers, &job->work);
}

static void await_runs(struct job *job)
{
    for (int64_t end_ms = clock_ms() + slower(20000); atomic_load(&job->runs) == 0 && clock_ms() < end_ms;)
        clock_sleep_ms(5);
    assert_int_equal(atomic_load(&job->runs), 1);
}

FAKE_TEST(work_is_run_with_a_client_of_the_rpc)
{
    struct fake_rpc *fake = *state;
    struct workers *workers = start(fake, 1);
    struct job jobs[3] = {0};
    fake_says(fake, FAKE_RESULT("{\"status\":\"healthy\",\"latestLedger\":2,\"oldestLedger\":1}"));
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(submit(workers, &jobs[i]), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        await_runs(&jobs[i]);
        assert_int_equal(jobs[i].e, ERR_OK);
        assert_int_equal(jobs[i].called, ERR_OK);
    }
    workers_stop(workers);
    workers_free(workers);
}

/* The first waits for the RPC until its timeout; the others have waited too long by then. */
FAKE_TEST(DX7_an_rpc_that_never_answers_holds_nothing_for_long)
{
    struct fake_rpc *fake = *state;
    struct workers *workers = start(fake, 1);
    struct job jobs[RPC_WORKERS_QUEUE_MAX + 2] = {0};
    size_t taken = 0;
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_SILENT});
    const int64_t begun_ms = clock_ms();
    assert_int_equal(submit(workers, &jobs[taken++]), ERR_OK);
    while (taken < ARRAY_LEN(jobs) && submit(workers, &jobs[taken]) == ERR_OK)
        taken++;
    assert_in_range(taken, RPC_WORKERS_QUEUE_MAX, RPC_WORKERS_QUEUE_MAX + 1);
    for (size_t i = 0; i < taken; i++)
        await_runs(&jobs[i]);
    assert_true(clock_ms() - begun_ms < slower(2 * RPC_WORKERS_CALL_MS));
    assert_int_equal(jobs[0].called, ERR_RPC_UNAVAILABLE);
    for (size_t i = 1; i < taken; i++)
        assert_int_equal(jobs[i].e, ERR_OVERLOADED);
    workers_stop(workers);
    workers_free(workers);
}

/* Otherwise simulations that hang would have fee bumps for accounts with several signers refused, and reads
 * that hang would have Soroban transactions refused. */
FAKE_TEST(work_of_one_kind_that_hangs_leaves_threads_to_the_other)
{
    struct fake_rpc *fake = *state;
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_SILENT});
    for (unsigned kind = 0; kind < WORKER_QUEUES; kind++) {
        struct workers *workers = start(fake, 4);
        struct job hanging[8] = {0}, other = {.work.queue = (enum worker_queue)(1 - kind)};
        for (size_t i = 0; i < ARRAY_LEN(hanging); i++) {
            hanging[i].work.queue = (enum worker_queue)kind;
            assert_int_equal(submit(workers, &hanging[i]), ERR_OK);
        }
        clock_sleep_ms(200); /* so that it has as many threads as it gets */
        assert_int_equal(submit(workers, &other), ERR_OK);
        await_runs(&other);
        assert_int_equal(other.e, ERR_OK);
        for (size_t i = 0; i < ARRAY_LEN(hanging); i++)
            await_runs(&hanging[i]);
        assert_int_equal(hanging[ARRAY_LEN(hanging) - 1].e, ERR_OVERLOADED);
        workers_stop(workers);
        workers_free(workers);
    }
}

FAKE_TEST(DO1_stopping_cancels_calls_and_ends_queued_work)
{
    struct fake_rpc *fake = *state;
    struct workers *workers = start(fake, 1);
    struct job jobs[3] = {0};
    fake_set_reply(fake, 0, (struct fake_reply){.manner = FAKE_SILENT});
    assert_int_equal(submit(workers, &jobs[0]), ERR_OK);
    for (int64_t end_ms = clock_ms() + slower(5000); fake_requests(fake) == 0 && clock_ms() < end_ms;)
        clock_sleep_ms(5);
    assert_int_equal(submit(workers, &jobs[1]), ERR_OK);
    assert_int_equal(submit(workers, &jobs[2]), ERR_OK);
    workers_stop(workers);
    workers_free(workers);
    assert_int_equal(jobs[0].called, ERR_CANCELLED);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(jobs[i].runs, 1);
    for (size_t i = 1; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(jobs[i].e, ERR_SHUTTING_DOWN);
}
