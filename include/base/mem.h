/* Allocation that cannot fail (out of memory ends the process), and cleanup at the end of a scope. */
#pragma once

#include <stddef.h>

/* Zeroed memory. Checks count * size for overflow. Never NULL, also for 0. */
void *mem_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull, alloc_size(1, 2)));
/* Like realloc, to count * size bytes. Added memory is not zeroed. */
void *mem_grow(void *old, size_t count, size_t size) __attribute__((returns_nonnull, alloc_size(2, 3)));
char *mem_copy_text(const char *text) __attribute__((malloc, returns_nonnull));
void *mem_copy(const void *data, size_t len) __attribute__((malloc, returns_nonnull));
/* printf into new memory. */
char *mem_format(const char *format, ...) __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

#define NEW(type) ((type *)mem_new(1, sizeof(type)))
#define NEW_ARRAY(count, type) ((type *)mem_new((count), sizeof(type)))

/*
 * CLEANUP(fn) calls fn(&variable) when the variable's scope ends. AUTO_FREE frees heap memory:
 *     AUTO_FREE char *line = mem_format("...");
 */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
void mem_free_at(void *pointer_to_pointer);
#define AUTO_FREE CLEANUP(mem_free_at)

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))
