/* Memory, or the end of the process. Sizes that a client chooses are capped by callers, never here. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

/* Callers limit sizes that a client chooses, so no request can cause this. */
static _Noreturn void out_of_memory(void)
{
    static const char message[] = "fairway: out of memory\n";
    fputs(message, stderr);
    _Exit(EX_OSERR);
}

void *mem_new(size_t count, size_t size)
{
    void *new = calloc(count ? count : 1, size ? size : 1);
    if (new == NULL)
        out_of_memory();
    return new;
}

void *mem_grow(void *old, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        out_of_memory();
    size_t bytes = count * size;
    void *new = realloc(old, bytes != 0 ? bytes : 1);
    if (new == NULL)
        out_of_memory();
    return new;
}

char *mem_copy_text(const char *text)
{
    return mem_copy(text, strlen(text) + 1);
}

void *mem_copy(const void *data, size_t len)
{
    void *copy = mem_new(len, 1);
    if (len != 0)
        memcpy(copy, data, len);
    return copy;
}

char *mem_format(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int written = vasprintf(&text, format, args);
    va_end(args);
    if (written < 0)
        out_of_memory();
    return text;
}

void mem_free_at(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}
