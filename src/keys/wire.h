/*
 * The protocol between fairway and fairway-keyd: frames over a stream socket pair. keyd sends WIRE_READY
 * once; then each request has one answer of the same type. A frame is a length and a type (big endian, 4
 * bytes each) and a payload in XDR encoding. The socket is a stream because a batch of transactions does not
 * fit into a datagram.
 */
#pragma once

#include "keys/keyd.h"
#include "xdr/xdr.h"

/* Add new types at the end: an older peer then takes them as unknown, not as another type. */
enum wire_type {
    WIRE_READY = 1,    /* from keyd: it is sandboxed and ready, or why it is not */
    WIRE_LOAD,         /* key rows: the first request, once */
    WIRE_GENERATE,     /* new sealed seeds */
    WIRE_LEASES,       /* a batch of leases to sign; the answer has a result for each, and the budget left */
    WIRE_FEE_BUMPS,    /* a batch of fee bumps to sign, likewise */
    WIRE_PROVISIONING, /* creation or merge of channel accounts */
    WIRE_IMPORT,       /* the next of the seeds that keyd has read, sealed */
    WIRE_RESEAL,       /* sealed seeds, to be sealed under the current key */
    WIRE_TYPE_COUNT,
};

#define WIRE_HEADER_SIZE 8
/* The most bytes of any payload. */
#define WIRE_PAYLOAD_MAX (17u << 20)

struct wire_header {
    uint32_t len; /* of the payload */
    uint32_t type;
};

/* How a transfer ended. */
enum wire_result {
    WIRE_DONE,
    WIRE_CLOSED, /* the peer closed the socket between two frames */
    WIRE_TORN,   /* the peer closed the socket inside a frame */
    WIRE_TIMEOUT,
};

/*
 * wire_receive appends to frame until it has len bytes: first WIRE_HEADER_SIZE, and then the payload, so that
 * a bad header is refused before memory is allocated for its payload. wire_send sends the bytes of the frame,
 * header and payload, from *sent on, and counts it on. After WIRE_TIMEOUT the next call continues.
 * deadline_ms: clock_ms(), or -1 to wait for ever.
 */
enum wire_result wire_receive(int fd, struct buf *frame, size_t len, int64_t deadline_ms);
enum wire_result wire_send(int fd, struct bytes frame, size_t *sent, int64_t deadline_ms);
/* Sends one frame. False: the peer closed the socket or the deadline passed. Never raises SIGPIPE. */
bool wire_write(int fd, uint32_t type, struct bytes payload, int64_t deadline_ms);

/* Of a frame that has been received. */
struct wire_header wire_get_header(const struct buf *frame);
struct bytes wire_payload(const struct buf *frame);

/* What is read is zeros after an error of the reader (xdr/xdr.h). */

/* Variable-length opaque, padded to 4 bytes as in XDR. What is read is a view. */
void wire_put_bytes(struct buf *out, struct bytes bytes);
struct bytes wire_get_bytes(struct xdr_reader *reader);

/* An enum err and its detail (may be NULL when read). A detail that does not fit is not read. */
void wire_put_result(struct buf *out, enum err result, const struct detail *detail);
enum err wire_get_result(struct xdr_reader *reader, struct detail *detail);
/* The result without a detail. */
enum err wire_get_err(struct xdr_reader *reader);

void wire_put_sealed(struct buf *out, const struct sealed_seed *sealed);
struct sealed_seed wire_get_sealed(struct xdr_reader *reader);
void wire_put_row(struct buf *out, const struct master_key_row *row);
struct master_key_row wire_get_row(struct xdr_reader *reader);
