/* The threads that query the database for the API: each work is run once, the queue is limited, and stopping
 * ends queued work. No server is needed: a worker's connection opens when it is used. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "workers.h"
#include "slowness.h"

#define PATIENCE_MS 5000

/* While it is shut, work that has begun does not end. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool shut;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static atomic_uint begun;

struct job {
    struct worker_job work; /* first */
    unsigned place;         /* in the order of running, from 1 */
    atomic_uint runs;
    enum err e;
    bool had_db;
    pthread_t thread;
};

static void run(struct worker_job *work, enum err e, struct db *db)
{
    struct job *job = (struct job *)work;
    job->e = e;
    job->had_db = db != NULL;
    job->thread = pthread_self();
    job->place = atomic_fetch_add(&begun, 1) + 1;
    pthread_mutex_lock(&gate.lock);
    while (gate.shut && e == ERR_OK)
        pthread_cond_wait(&gate.opened, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
    atomic_fetch_add(&job->runs, 1);
}

static void set_gate(bool shut)
{
    pthread_mutex_lock(&gate.lock);
    gate.shut = shut;
    pthread_cond_broadcast(&gate.opened);
    pthread_mutex_unlock(&gate.lock);
}

static struct workers *start(unsigned count, bool shut)
{
    atomic_store(&begun, 0);
    set_gate(shut);
    return workers_start("host=none.invalid", count);
}

/* The time limit of the work that is submitted. */
static int limit_ms = 60000;

static enum err submit_of(struct workers *workers, struct job *job, const char *client)
{
    *job =
        (struct job){.work = {.item = {.client = client, .deadline_ms = clock_ms() + limit_ms}, .run = run}};
    return workers_submit(workers, &job->work);
}

static enum err submit(struct workers *workers, struct job *job)
{
    return submit_of(workers, job, NULL);
}

static void await_begun(unsigned count)
{
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); atomic_load(&begun) < count; clock_sleep_ms(1))
        if (clock_left_ms(end) == 0)
            fail_msg("%u have begun, not %u", atomic_load(&begun), count);
}

TEST(each_is_run_once_in_order_on_a_worker_with_its_connection)
{
    struct job jobs[100];
    struct workers *workers = start(1, false);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(submit(workers, &jobs[i]), ERR_OK);
    await_begun(ARRAY_LEN(jobs));
    workers_stop(workers);
    workers_free(workers);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        assert_int_equal(jobs[i].runs, 1);
        assert_int_equal(jobs[i].place, i + 1);
        assert_int_equal(jobs[i].e, ERR_OK);
        assert_true(jobs[i].had_db);
        assert_false(pthread_equal(jobs[i].thread, pthread_self()));
    }
}

/* Otherwise what the RPC has answered waits for a database that hangs, and reads for what is decoded. */
TEST(jobs_of_one_kind_leave_a_worker_to_the_other)
{
    struct job jobs[4], answer;
    struct workers *workers = start(3, true);
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++)
        assert_int_equal(submit(workers, &jobs[i]), ERR_OK);
    await_begun(2);
    clock_sleep_ms(20);
    assert_int_equal(atomic_load(&begun), 2);
    answer = (struct job){
        .work = {.item = {.deadline_ms = clock_ms() + limit_ms}, .queue = WORKER_ANSWERS, .run = run}};
    assert_int_equal(workers_submit(workers, &answer.work), ERR_OK);
    await_begun(3);
    set_gate(false);
    await_begun(5);
    workers_stop(workers);
    workers_free(workers);
    assert_int_equal(answer.place, 3);
}

TEST(work_above_the_length_of_the_queue_is_refused_and_not_run)
{
    struct job first, beyond, *jobs AUTO_FREE = NEW_ARRAY(WORKERS_QUEUE_MAX, struct job);
    struct workers *workers = start(1, true);
    assert_int_equal(submit(workers, &first), ERR_OK);
    await_begun(1);
    for (size_t i = 0; i < WORKERS_QUEUE_MAX; i++)
        assert_int_equal(submit(workers, &jobs[i]), ERR_OK);
    assert_int_equal(submit(workers, &beyond), ERR_OVERLOADED);
    set_gate(false);
    await_begun(1 + WORKERS_QUEUE_MAX);
    assert_int_equal(submit(workers, &first), ERR_OK); /* there is room again */
    await_begun(2 + WORKERS_QUEUE_MAX);
    workers_stop(workers);
    workers_free(workers);
    assert_int_equal(beyond.runs, 0);
}

static void await_run(struct job *job)
{
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); atomic_load(&job->runs) == 0; clock_sleep_ms(1))
        if (clock_left_ms(end) == 0)
            fail_msg("the work was not run");
}

/* Otherwise, under overload, every query reaches its deadline, and each costs its connection. */
TEST(DX7_work_with_too_little_time_left_is_not_begun)
{
    struct job late;
    struct workers *workers = start(1, false);
    limit_ms = DB_WORKERS_BEGIN_MS - 1;
    assert_int_equal(submit(workers, &late), ERR_OK);
    limit_ms = 60000;
    await_run(&late);
    assert_int_equal(late.e, ERR_OVERLOADED);
    assert_false(late.had_db);
    workers_stop(workers);
    workers_free(workers);
    assert_int_equal(late.runs, 1);
}

/* Deadlines do not wait for a worker: all workers may hang in the database. */
TEST(DX7_queued_work_ends_at_its_deadline_though_every_worker_hangs)
{
    struct job first, late, patient;
    const int64_t started_ms = clock_ms();
    struct workers *workers = start(1, true);
    assert_int_equal(submit(workers, &first), ERR_OK);
    await_begun(1);
    assert_int_equal(submit(workers, &patient), ERR_OK);
    limit_ms = 300;
    const int64_t begun_ms = clock_ms();
    assert_int_equal(submit(workers, &late), ERR_OK);
    limit_ms = 60000;
    await_run(&late);
    assert_in_range(clock_ms() - begun_ms, 299, slower(1300));
    if (clock_ms() - started_ms < DB_WORKERS_SILENCE_MS) /* else the database counts as unavailable */
        assert_int_equal(late.e, ERR_OVERLOADED);
    assert_false(late.had_db);
    clock_sleep_ms(1500);
    limit_ms = 100;
    assert_int_equal(submit(workers, &late), ERR_OK);
    limit_ms = 60000;
    await_run(&late);
    assert_int_equal(late.e, ERR_DATABASE_UNAVAILABLE);
    assert_int_equal(patient.runs, 0);
    set_gate(false);
    await_run(&patient);
    assert_int_equal(patient.e, ERR_OK);
    workers_stop(workers);
    workers_free(workers);
}

static void *stop(void *workers)
{
    workers_stop(workers);
    workers_free(workers);
    return NULL;
}

TEST(stopping_finishes_what_has_begun_and_ends_the_rest_once)
{
    pthread_t stopper;
    struct job first, rest[50];
    struct workers *workers = start(1, true);
    assert_int_equal(submit(workers, &first), ERR_OK);
    await_begun(1);
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        assert_int_equal(submit(workers, &rest[i]), ERR_OK);
    assert_int_equal(pthread_create(&stopper, NULL, stop, workers), 0);
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        await_run(&rest[i]); /* at once, though a worker hangs */
    assert_int_equal(first.runs, 0);
    set_gate(false);
    pthread_join(stopper, NULL);
    assert_int_equal(first.runs, 1);
    assert_int_equal(first.e, ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
        assert_int_equal(rest[i].runs, 1);
        assert_int_equal(rest[i].e, ERR_SHUTTING_DOWN);
        assert_false(rest[i].had_db);
    }
}
