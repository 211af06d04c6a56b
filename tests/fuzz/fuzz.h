/*
 * The interface of a fuzz harness, which is libFuzzer's. A harness is one file, and its corpus the folder of
 * the same name in corpus. `make fuzz T=harness` links it with libFuzzer; `make test` links it with
 * test_corpus.c, which replays the corpus and some mutations of it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns 0. Aborts when the code under test breaks a rule. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Changes the input in place, and returns its new size, at most max. A harness may leave it out. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) __attribute__((weak));

/* Changes bytes without knowledge of their format; of libFuzzer, or of test_corpus.c. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Aborts unless the condition holds. */
#define RULE(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                          \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
