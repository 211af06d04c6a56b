/* Counts and writes metrics. What an event is, its own module decides. */
#include "base/metric.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"

/* ---- labels */

static struct label {
    const char *name;
    unsigned max;
    const char *values[METRIC_MAX_ROUTE]; /* of codes none: err_code */
    atomic_uint count;                    /* of values; those before it are set */
} labels[METRIC_LABELS] = {
    [METRIC_NONE] = {"", METRIC_MAX_NONE, {""}, 1},
    [METRIC_ROUTE] = {"route", METRIC_MAX_ROUTE, {"other"}, 1},
    [METRIC_CLIENT] = {"client", METRIC_MAX_CLIENT, {"other", "none"}, 2},
    [METRIC_CODE] = {"code", METRIC_MAX_CODE, {NULL}, ERR_COUNT},
    [METRIC_LISTENER] = {"listener", METRIC_MAX_LISTENER, {"api", "admin"}, 2},
    [METRIC_END] = {"end", METRIC_MAX_END, {"confirmed", "failed", "expired", "superseded", "consumed"}, 5},
    [METRIC_RPC] = {"rpc", METRIC_MAX_RPC, {NULL}, 0},
    [METRIC_METHOD] = {"method", METRIC_MAX_METHOD,
        {"other", "getHealth", "getNetwork", "getVersionInfo", "getLedgers", "getLedgerEntries",
            "getTransaction", "sendTransaction", "simulateTransaction"},
        METRIC_MAX_METHOD},
    [METRIC_RESULT] = {"result", METRIC_MAX_RESULT, {"ok", "error", "failed", "cancelled"}, 4},
    [METRIC_KIND] = {"kind", METRIC_MAX_KIND, {"lease", "fee_bump"}, 2},
};

/* The number of values when there is none such. */
static unsigned find(const struct label *label, const char *value)
{
    const unsigned count = atomic_load_explicit(&label->count, memory_order_acquire);
    unsigned i = 0;
    while (i < count && strcmp(label->values[i], value) != 0)
        i++;
    return i;
}

unsigned metric_label_find(enum metric_label label, const char *value)
{
    const unsigned i = find(&labels[label], value);
    return i < atomic_load(&labels[label].count) ? i : METRIC_OTHER;
}

unsigned metric_label_add(enum metric_label label, const char *value)
{
    static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
    struct label *to = &labels[label];
    INVARIANT(value[0] != '\0' && strpbrk(value, "\"\\\n") == NULL);
    pthread_mutex_lock(&adding);
    unsigned i = find(to, value);
    if (i == to->max)
        i = METRIC_OTHER;
    else if (i == atomic_load(&to->count)) {
        to->values[i] = mem_copy_text(value);
        atomic_store_explicit(&to->count, i + 1, memory_order_release);
    }
    pthread_mutex_unlock(&adding);
    return i;
}

/* ---- values */

struct bound {
    int64_t most; /* microseconds, or items */
    const char *text;
};
static const struct bound seconds[] = {{1000, "0.001"}, {2500, "0.0025"}, {5000, "0.005"}, {10000, "0.01"},
    {25000, "0.025"}, {50000, "0.05"}, {100000, "0.1"}, {250000, "0.25"}, {500000, "0.5"}, {1000000, "1"},
    {2500000, "2.5"}, {5000000, "5"}, {10000000, "10"}, {30000000, "30"}, {60000000, "60"}};
static const struct bound sizes[] = {
    {1, "1"}, {2, "2"}, {4, "4"}, {8, "8"}, {16, "16"}, {32, "32"}, {64, "64"}};

/* Cells of one series: the value; or of a histogram one for each bound, one for what is above, and the sum.
 */
enum {
    WIDTH_COUNTER = 1,
    WIDTH_GAUGE = 1,
    WIDTH_SECONDS = ARRAY_LEN(seconds) + 2,
    WIDTH_SIZES = ARRAY_LEN(sizes) + 2
};

enum type {
    COUNTER,
    GAUGE,
    SECONDS,
    SIZES
};

#define X(id, type, name, a, b, c, help)                                                                     \
    static atomic_int_least64_t cells_##id[WIDTH_##type * METRIC_MAX_##a * METRIC_MAX_##b * METRIC_MAX_##c];
METRIC_TABLE(X)
#undef X

static const struct definition {
    atomic_int_least64_t *cells;
    enum type type;
    unsigned width;
    enum metric_label labels[3];
    const char *name, *help;
} table[METRIC_COUNT] = {
#define X(id, type, name, a, b, c, help)                                                                     \
    {cells_##id, type, WIDTH_##type, {METRIC_##a, METRIC_##b, METRIC_##c}, name, help},
    METRIC_TABLE(X)
#undef X
};

static atomic_int_least64_t *series(enum metric metric, unsigned a, unsigned b)
{
    const struct definition *of = &table[metric];
    const unsigned pairs = labels[of->labels[1]].max * labels[of->labels[2]].max;
    INVARIANT(a < labels[of->labels[0]].max && b < pairs);
    return &of->cells[(size_t)of->width * (a * pairs + b)];
}

static void add(atomic_int_least64_t *cell, int64_t amount)
{
    atomic_fetch_add_explicit(cell, amount, memory_order_relaxed);
}

static int64_t get(const atomic_int_least64_t *cell)
{
    return atomic_load_explicit(cell, memory_order_relaxed);
}

void metric_add(enum metric metric, unsigned a, unsigned b, int64_t amount)
{
    add(series(metric, a, b), amount);
}

void metric_set(enum metric metric, unsigned a, int64_t value)
{
    atomic_store_explicit(series(metric, a, 0), value, memory_order_relaxed);
}

static const struct bound *bounds_of(const struct definition *of)
{
    return of->type == SECONDS ? seconds : sizes;
}

void metric_observe(enum metric metric, unsigned a, unsigned b, int64_t value)
{
    const struct definition *of = &table[metric];
    const struct bound *bounds = bounds_of(of);
    atomic_int_least64_t *cells = series(metric, a, b);
    unsigned i = 0;
    while (i < of->width - 2 && value > bounds[i].most)
        i++;
    add(&cells[i], 1);
    add(&cells[of->width - 1], value);
}

_Static_assert(ARRAY_LEN(seconds) < METRIC_BUCKETS, "METRIC_BUCKETS is large enough");

size_t metric_buckets(enum metric metric, unsigned a, unsigned b, int64_t counts[METRIC_BUCKETS],
    int64_t bounds[METRIC_BUCKETS])
{
    const struct definition *of = &table[metric];
    const atomic_int_least64_t *cells = series(metric, a, b);
    const size_t count = of->width - 1;
    for (size_t i = 0; i < count; i++) {
        counts[i] = get(&cells[i]);
        if (i + 1 < count)
            bounds[i] = bounds_of(of)[i].most;
    }
    return count;
}

int64_t metric_read(enum metric metric, unsigned a, unsigned b)
{
    const atomic_int_least64_t *cells = series(metric, a, b);
    int64_t sum = get(&cells[0]);
    for (unsigned i = 1; i + 1 < table[metric].width; i++)
        sum += get(&cells[i]);
    return sum;
}

/* ---- the text format */

void metric_describe(FILE *out, const char *type, const char *name, const char *help)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_gauge(FILE *out, const char *name, const char *help, int64_t value)
{
    metric_describe(out, "gauge", name, help);
    fprintf(out, "%s %" PRId64 "\n", name, value);
}

/* One series: its values' numbers, by label. */
struct at {
    unsigned values[3];
};

/* le: of a bucket; else NULL. */
static void write_name(
    FILE *out, const struct definition *of, const char *suffix, const struct at *at, const char *le)
{
    const char *separator = "{";
    fprintf(out, "%s%s", of->name, suffix);
    for (int i = 0; i < 3; i++) {
        const enum metric_label label = of->labels[i];
        if (label == METRIC_NONE)
            continue;
        const unsigned value = at->values[i];
        fprintf(out, "%s%s=\"%s\"", separator, labels[label].name,
            label == METRIC_CODE ? err_code(value) : labels[label].values[value]);
        separator = ",";
    }
    if (le != NULL)
        fprintf(out, "%sle=\"%s\"", separator, le);
    fputs(le != NULL || of->labels[0] != METRIC_NONE ? "} " : " ", out);
}

static void write_histogram(
    FILE *out, const struct definition *of, const atomic_int_least64_t *cells, const struct at *at)
{
    const struct bound *bounds = bounds_of(of);
    int64_t count = 0;
    for (unsigned i = 0; i + 1 < of->width; i++) {
        count += get(&cells[i]);
        write_name(out, of, "_bucket", at, i + 2 < of->width ? bounds[i].text : "+Inf");
        fprintf(out, "%" PRId64 "\n", count);
    }
    write_name(out, of, "_sum", at, NULL);
    const int64_t sum = get(&cells[of->width - 1]);
    if (of->type == SECONDS)
        fprintf(out, "%.6f\n", (double)sum / 1e6);
    else
        fprintf(out, "%" PRId64 "\n", sum);
    write_name(out, of, "_count", at, NULL);
    fprintf(out, "%" PRId64 "\n", count);
}

static void write_series(FILE *out, enum metric metric, const struct at *at)
{
    const struct definition *of = &table[metric];
    const atomic_int_least64_t *cells =
        series(metric, at->values[0], at->values[1] * labels[of->labels[2]].max + at->values[2]);
    if (of->type == SECONDS || of->type == SIZES) {
        write_histogram(out, of, cells, at);
        return;
    }
    write_name(out, of, "", at, NULL);
    fprintf(out, "%" PRId64 "\n", get(cells));
}

static unsigned count_of(enum metric_label label)
{
    return atomic_load_explicit(&labels[label].count, memory_order_acquire);
}

void metric_write(FILE *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram", "histogram"};
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        const struct definition *of = &table[metric];
        const unsigned counts[] = {count_of(of->labels[0]), count_of(of->labels[1]), count_of(of->labels[2])};
        metric_describe(out, types[of->type], of->name, of->help);
        for (unsigned a = 0; a < counts[0]; a++)
            for (unsigned b = 0; b < counts[1]; b++)
                for (unsigned c = 0; c < counts[2]; c++)
                    write_series(out, metric, &(struct at){{a, b, c}});
    }
}
