/*
 * What fairway and fairway-keyd say to each other: frames over a stream socket pair, a request and its answer
 * in turn. A frame is a length and a type (big endian, 4 bytes each) and a payload in XDR's encoding. A
 * stream, because a batch of transactions is larger than what a datagram may carry.
 */
#ifndef FAIRWAY_KEYS_WIRE_H
#define FAIRWAY_KEYS_WIRE_H

#include "keys/keyd.h"
#include "xdr/xdr.h"

enum wire_type {
    WIRE_LOAD = 1, /* settings and key rows: once, first */
    WIRE_GENERATE, /* new sealed seeds */
    WIRE_LEASES,   /* a batch of leases to sign, answered item by item */
    WIRE_FEE_BUMP,
    WIRE_TEMPLATE, /* creation or merge of channel accounts */
    WIRE_TYPE_COUNT,
};

#define WIRE_HEADER_SIZE 8
/* A batch of the largest transactions that the API takes; a frame that announces more is a violation. */
#define WIRE_PAYLOAD_MAX (64u << 20)

enum wire_reads {
    WIRE_READ,      /* a whole frame is in the buffer */
    WIRE_CLOSED,    /* the other side closed between two frames */
    WIRE_TORN,      /* ... or in the middle of one */
    WIRE_OVERSIZED, /* the announced length is above max */
    WIRE_TIMEOUT,
};

/* Reads one frame into payload (cleared first). max: cap of the payload. deadline_ms: clock_ms(), or -1 to
 * wait for ever. */
enum wire_reads wire_read(int fd, uint32_t *type, struct buf *payload, uint32_t max, int64_t deadline_ms);

/* Writes one frame; false: the other side is gone or the deadline passed. */
bool wire_write(int fd, uint32_t type, struct bytes payload, int64_t deadline_ms);

/* Variable-length opaque, padded to 4 as XDR has it; the read one is a view. */
void wire_put_bytes(struct buf *out, struct bytes bytes);
MUST_CHECK enum err wire_get_bytes(struct xdr_reader *reader, struct bytes *out);
MUST_CHECK enum err wire_get_detail(struct xdr_reader *reader, struct detail *detail);

void wire_put_sealed(struct buf *out, const struct sealed_seed *sealed);
MUST_CHECK enum err wire_get_sealed(struct xdr_reader *reader, struct sealed_seed *sealed);
void wire_put_row(struct buf *out, const struct master_key_row *row);
MUST_CHECK enum err wire_get_row(struct xdr_reader *reader, struct master_key_row *row);

#endif
