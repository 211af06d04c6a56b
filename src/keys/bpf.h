/* Words of a system call filter (seccomp(2)). */
#ifndef FAIRWAY_KEYS_BPF_H
#define FAIRWAY_KEYS_BPF_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define BPF_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define BPF_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the system call filters support x86_64 and aarch64 only"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
/* The low half of an argument, which holds all of an int: both supported machines are little endian. */
#define LOAD_ARGUMENT(n)                                                                                     \
    BPF_STMT(                                                                                                \
        BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t)))
/* Skips this many instructions when the loaded word is, or is not, equal to the value. */
#define SKIP_IF(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), skipped, 0)
#define SKIP_UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, skipped)
/* The same for any, or none, of the bits. */
#define SKIP_IF_ANY(bits, skipped) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, skipped, 0)
/* The loaded word becomes its bits in the mask. */
#define KEEP_BITS(mask) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask)
#define SKIP_UNLESS_ANY(bits, skipped) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skipped)

#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define FAIL(number) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))

#endif
