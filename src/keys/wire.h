/*
 * What fairway and fairway-keyd say to each other: frames over a stream socket pair. keyd speaks first, once
 * (WIRE_READY); from then on each request has one answer of the same type. A frame is a length and a type
 * (big endian, 4 bytes each) and a payload in XDR's encoding. A stream, because a batch of transactions is
 * larger than what a datagram may carry.
 */
#ifndef FAIRWAY_KEYS_WIRE_H
#define FAIRWAY_KEYS_WIRE_H

#include "keys/keyd.h"
#include "xdr/xdr.h"

/* New types go to the end: an old partner answers them as unknown, not as something else. */
enum wire_type {
    WIRE_READY = 1, /* from keyd: the sandbox stands, or why not */
    WIRE_LOAD,      /* settings and key rows: once, first */
    WIRE_GENERATE,  /* new sealed seeds */
    WIRE_LEASES,    /* a batch of leases to sign, answered item by item */
    WIRE_FEE_BUMP,
    WIRE_TEMPLATE, /* creation or merge of channel accounts */
    WIRE_TYPE_COUNT,
};

#define WIRE_HEADER_SIZE 8
/* Of any payload. Who has more leases to sign sends more messages. */
#define WIRE_PAYLOAD_MAX (8u << 20)

struct wire_header {
    uint32_t len; /* of the payload */
    uint32_t type;
};

enum wire_reads {
    WIRE_READ,
    WIRE_CLOSED, /* the other side closed between two frames */
    WIRE_TORN,   /* ... or in the middle of one */
    WIRE_TIMEOUT,
};

/*
 * A frame is read in two steps, so that a header that is not acceptable ends the talk before anything is
 * allocated for it. deadline_ms: clock_ms(), or -1 to wait for ever. The payload replaces what is in the
 * buffer.
 */
enum wire_reads wire_read_header(int fd, struct wire_header *header, int64_t deadline_ms);
enum wire_reads wire_read_payload(int fd, uint32_t len, struct buf *payload, int64_t deadline_ms);

/* Writes one frame; false: the other side is gone or the deadline passed. Never raises SIGPIPE. */
bool wire_write(int fd, uint32_t type, struct bytes payload, int64_t deadline_ms);

/* Variable-length opaque, padded to 4 as XDR has it; the read one is a view. */
void wire_put_bytes(struct buf *out, struct bytes bytes);
MUST_CHECK enum err wire_get_bytes(struct xdr_reader *reader, struct bytes *out);

/* A result that is one of enum err, and its detail (may be NULL when read). */
void wire_put_result(struct buf *out, enum err result, const struct detail *detail);
MUST_CHECK enum err wire_get_result(struct xdr_reader *reader, enum err *result, struct detail *detail);
/* The result alone. */
MUST_CHECK enum err wire_get_err(struct xdr_reader *reader, enum err *result);

void wire_put_sealed(struct buf *out, const struct sealed_seed *sealed);
MUST_CHECK enum err wire_get_sealed(struct xdr_reader *reader, struct sealed_seed *sealed);
void wire_put_row(struct buf *out, const struct master_key_row *row);
MUST_CHECK enum err wire_get_row(struct xdr_reader *reader, struct master_key_row *row);

#endif
