/* Compiles tables of calls to BPF. Which calls a process may make is never here. */
#include "filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/invariant.h"
#include "base/mem.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the system call filters support x86_64 and aarch64 only"
#endif

enum {
    LATER_CALLS = 424,   /* of Linux 5.1: from here on numbers are the same on all machines */
    X32_BIT = 0x40000000 /* of the numbers of x86-64's second set of calls */
};

struct program {
    struct sock_filter code[512];
    unsigned short count;
};

static void emit(struct program *p, unsigned code, uint32_t k, size_t if_true, size_t if_false)
{
    INVARIANT(p->count < ARRAY_LEN(p->code) && if_true <= UINT8_MAX && if_false <= UINT8_MAX);
    p->code[p->count++] = (struct sock_filter){(uint16_t)code, (uint8_t)if_true, (uint8_t)if_false, k};
}

static void load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct program *p, uint32_t action)
{
    emit(p, BPF_RET | BPF_K, action, 0, 0);
}

/* Load, mask, and a comparison with each value. */
static size_t size_of(const struct filter_row *row)
{
    return 2u + row->count;
}

/* Goes on after the row when it holds, else after `rest` further instructions. */
static void test_argument(struct program *p, const struct filter_row *row, size_t rest)
{
    load(p, offsetof(struct seccomp_data, args) + row->argument * sizeof(uint64_t)); /* little endian */
    emit(p, BPF_ALU | BPF_AND | BPF_K, row->mask, 0, 0);
    for (size_t i = 0; i < row->count; i++) {
        const size_t left = row->count - 1u - i;
        if (row->except)
            emit(p, BPF_JMP | BPF_JEQ | BPF_K, row->values[i], left + rest, 0);
        else
            emit(p, BPF_JMP | BPF_JEQ | BPF_K, row->values[i], left, left == 0 ? rest : 0);
    }
}

/* Returns the group's number of rows. */
static size_t test_group(struct program *p, const struct filter_row *rows, size_t count, uint32_t matched)
{
    size_t n = 1, size = size_of(rows) + 1;
    for (; n < count && rows[n].call == FILTER_AND; n++)
        size += size_of(&rows[n]);
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, rows->call, 0, size);
    for (size_t i = 0; i < n; i++) {
        size -= size_of(&rows[i]);
        test_argument(p, &rows[i], size);
    }
    answer(p, matched);
    load(p, offsetof(struct seccomp_data, nr));
    return n;
}

static void compile(const struct filter *filter, struct program *p)
{
    load(p, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
    answer(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < filter->call_count; i++) {
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, filter->calls[i], 0, 1);
        answer(p, filter->matched);
    }
    for (size_t i = 0; i < filter->row_count;)
        i += test_group(p, filter->rows + i, filter->row_count - i, filter->matched);
    emit(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 2, 0);
    emit(p, BPF_JMP | BPF_JGE | BPF_K, LATER_CALLS, 0, 1);
    answer(p, filter->later);
    answer(p, filter->otherwise);
}

enum err filter_install(const struct filter *filter, struct detail *detail)
{
#ifdef FAIRWAY_SANITIZED
    return ERR_OK;
#endif
    struct program p = {.count = 0};
    compile(filter, &p);
    const struct sock_fprog program = {p.count, p.code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        return detail_set(
            detail, ERR_CONFIG, "sandbox: cannot load the system call filter: %s", strerror(errno));
    return ERR_OK;
}
