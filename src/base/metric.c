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
    [METRIC_KIND] = {"kind", METRIC_MAX_KIND, {"lease", "fee_bump"}, 2},
};

unsigned metric_label_find(enum metric_label label, const char *value)
{
    const unsigned count = atomic_load_explicit(&labels[label].count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(labels[label].values[i], value) == 0)
            return i;
    return METRIC_OTHER;
}

unsigned metric_label_add(enum metric_label label, const char *value)
{
    static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
    struct label *to = &labels[label];
    INVARIANT(value[0] != '\0' && strpbrk(value, "\"\\\n") == NULL);
    pthread_mutex_lock(&adding);
    unsigned i = metric_label_find(label, value);
    const unsigned count = atomic_load(&to->count);
    if (i == METRIC_OTHER && count < to->max) {
        i = count;
        to->values[i] = mem_copy_text(value);
        atomic_store_explicit(&to->count, count + 1, memory_order_release);
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

#define X(id, type, name, a, b, help)                                                                        \
    static atomic_int_least64_t cells_##id[WIDTH_##type * METRIC_MAX_##a * METRIC_MAX_##b];
METRIC_TABLE(X)
#undef X

static const struct definition {
    atomic_int_least64_t *cells;
    enum type type;
    unsigned width;
    enum metric_label a, b;
    const char *name, *help;
} table[METRIC_COUNT] = {
#define X(id, type, name, a, b, help) {cells_##id, type, WIDTH_##type, METRIC_##a, METRIC_##b, name, help},
    METRIC_TABLE(X)
#undef X
};

static atomic_int_least64_t *series(enum metric metric, unsigned a, unsigned b)
{
    const struct definition *of = &table[metric];
    INVARIANT(a < labels[of->a].max && b < labels[of->b].max);
    return &of->cells[of->width * (a * labels[of->b].max + b)];
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

static const char *value_of(enum metric_label label, unsigned i)
{
    return label == METRIC_CODE ? err_code(i) : labels[label].values[i];
}

/* le: of a bucket; else NULL. */
static void write_name(
    FILE *out, const struct definition *of, const char *suffix, unsigned a, unsigned b, const char *le)
{
    const char *separator = "{";
    fprintf(out, "%s%s", of->name, suffix);
    for (int i = 0; i < 2; i++) {
        const enum metric_label label = i == 0 ? of->a : of->b;
        if (label == METRIC_NONE)
            continue;
        fprintf(out, "%s%s=\"%s\"", separator, labels[label].name, value_of(label, i == 0 ? a : b));
        separator = ",";
    }
    if (le != NULL)
        fprintf(out, "%sle=\"%s\"", separator, le);
    fputs(le != NULL || of->a != METRIC_NONE ? "} " : " ", out);
}

static void write_histogram(
    FILE *out, const struct definition *of, const atomic_int_least64_t *cells, unsigned a, unsigned b)
{
    const struct bound *bounds = bounds_of(of);
    int64_t count = 0;
    for (unsigned i = 0; i + 1 < of->width; i++) {
        count += get(&cells[i]);
        write_name(out, of, "_bucket", a, b, i + 2 < of->width ? bounds[i].text : "+Inf");
        fprintf(out, "%" PRId64 "\n", count);
    }
    write_name(out, of, "_sum", a, b, NULL);
    const int64_t sum = get(&cells[of->width - 1]);
    if (of->type == SECONDS)
        fprintf(out, "%.6f\n", (double)sum / 1e6);
    else
        fprintf(out, "%" PRId64 "\n", sum);
    write_name(out, of, "_count", a, b, NULL);
    fprintf(out, "%" PRId64 "\n", count);
}

static void write_series(FILE *out, enum metric metric, unsigned a, unsigned b)
{
    const struct definition *of = &table[metric];
    const atomic_int_least64_t *cells = series(metric, a, b);
    if (of->type == SECONDS || of->type == SIZES) {
        write_histogram(out, of, cells, a, b);
        return;
    }
    write_name(out, of, "", a, b, NULL);
    fprintf(out, "%" PRId64 "\n", get(cells));
}

void metric_write(FILE *out)
{
    static const char *const types[] = {"counter", "gauge", "histogram", "histogram"};
    for (enum metric metric = 0; metric < METRIC_COUNT; metric++) {
        const struct definition *of = &table[metric];
        const unsigned as = atomic_load_explicit(&labels[of->a].count, memory_order_acquire),
                       bs = atomic_load_explicit(&labels[of->b].count, memory_order_acquire);
        metric_describe(out, types[of->type], of->name, of->help);
        for (unsigned a = 0; a < as; a++)
            for (unsigned b = 0; b < bs; b++)
                write_series(out, metric, a, b);
    }
}
