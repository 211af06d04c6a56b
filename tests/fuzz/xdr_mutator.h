/*
 * Mutations of XDR by the schema: a value stays one of its type, so inputs get past the decoder, which random
 * bytes never do. And the arms of unions as counters for libFuzzer, which sees only one branch in the
 * table-driven walker, whatever the arm.
 */
#pragma once

#include "xdr/types.h"
#include "fuzz/fuzz.h"

/* Counts each union arm and enum value of a value of the type, as far as it can be read. */
void xdr_count_arms(enum xdr_type type, const uint8_t *data, size_t size);

/* As LLVMFuzzerCustomMutator, for a value of the type: replaces, copies or changes a part of it. Sometimes
 * changes bytes regardless of the schema. */
size_t xdr_mutate(enum xdr_type type, uint8_t *data, size_t size, size_t max, unsigned seed);

/* Makes a value of the type, at most XDR_MADE_MAX bytes; returns its size. One of exactly that size may be
 * cut. */
#define XDR_MADE_MAX ((size_t)1 << 14)
size_t xdr_make(enum xdr_type type, uint8_t out[XDR_MADE_MAX], unsigned seed);
