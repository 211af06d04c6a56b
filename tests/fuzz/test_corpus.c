/*
 * Runs one harness without libFuzzer: over the files of its corpus, and over a fixed number of mutations of
 * them. FAIRWAY_SEED chooses others, FAIRWAY_SIZE=long takes more. The program's name is the harness's.
 */
#include <dirent.h>
#include <string.h>

#include "check.h"
#include "base/log.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"

enum {
    SIZE_MAX_BYTES = 1 << 16,
    FILES_MAX = 200,
    MUTATIONS = 3000,
    MUTATIONS_LONG = 300000,
    STACKED = 4 /* mutations of one input, one after the other */
};

static struct {
    uint8_t *data;
    size_t size;
} files[FILES_MAX];
static size_t file_count;
static uint64_t random_state;

static uint32_t random_below(size_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 16) % limit);
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    if (size == 0)
        return 0;
    size_t at = random_below(size), len = 1 + random_below(size - at < 16 ? size - at : 16);
    switch (random_below(5)) {
    case 0:
        data[at] ^= (uint8_t)(1 << random_below(8));
        return size;
    case 1:
        data[at] = (uint8_t)random_below(256);
        return size;
    case 2: /* remove */
        memmove(data + at, data + at + len, size - at - len);
        return size - len;
    case 3: /* repeat */
        if (size + len > max)
            return size;
        memmove(data + at + len, data + at, size - at);
        return size + len;
    default: /* move bytes of another place here */
        memmove(data + at, data + random_below(size - len + 1), len);
        return size;
    }
}

static size_t mutate(uint8_t *data, size_t size)
{
    if (LLVMFuzzerCustomMutator != NULL)
        return LLVMFuzzerCustomMutator(data, size, SIZE_MAX_BYTES, random_below(UINT32_MAX));
    return LLVMFuzzerMutate(data, size, SIZE_MAX_BYTES);
}

/* A copy of exactly the size, so that a sanitizer detects a read past its end. */
static void run(const uint8_t *data, size_t size)
{
    AUTO_FREE uint8_t *copy = mem_copy(data, size);
    assert_int_equal(LLVMFuzzerTestOneInput(copy, size), 0);
}

static void DX1_the_corpus_is_replayed(void **state)
{
    for (size_t i = 0; i < file_count; i++)
        run(files[i].data, files[i].size);
}

static void DX1_mutations_of_the_corpus_break_no_rule(void **state)
{
    static uint8_t input[SIZE_MAX_BYTES];
    const char *size_name = getenv("FAIRWAY_SIZE"), *seed = getenv("FAIRWAY_SEED");
    unsigned count = size_name != NULL && strcmp(size_name, "long") == 0 ? MUTATIONS_LONG : MUTATIONS;
    random_state = seed == NULL ? 1 : strtoull(seed, NULL, 10);
    printf("FAIRWAY_SEED=%llu\n", (unsigned long long)random_state);
    random_state = random_state * 0x9e3779b97f4a7c15u + 1;
    for (unsigned i = 0; i < count; i++) {
        size_t from = random_below(file_count), size = files[from].size;
        memcpy(input, files[from].data, size);
        for (uint32_t times = 1 + random_below(STACKED); times > 0; times--)
            size = mutate(input, size);
        run(input, size);
    }
}

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = NEW_ARRAY(SIZE_MAX_BYTES, uint8_t);
    if (file == NULL || file_count == FILES_MAX) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    files[file_count].size = fread(data, 1, SIZE_MAX_BYTES, file);
    files[file_count++].data = data;
    fclose(file);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
    (void)argc, (void)!log_set_level("error");
    const char *name = strrchr(argv[0], '/');
    AUTO_FREE char *folder = mem_format("tests/fuzz/corpus/%s", name == NULL ? argv[0] : name + 1);
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        AUTO_FREE char *path = mem_format("%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            load(path);
        free(entries[i]);
    }
    if (file_count == 0) {
        fprintf(stderr, "no corpus in %s\n", folder);
        return 1;
    }
    free(entries);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DX1_the_corpus_is_replayed),
        cmocka_unit_test(DX1_mutations_of_the_corpus_break_no_rule),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    while (file_count > 0)
        free(files[--file_count].data);
    return failed;
}
