/* Rules of wire.h: only whole frames are read, and malformed fields are refused. */
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "frames.h"
#include "base/clock.h"
#include "base/mem.h"
#include "wire.h"
#include "slowness.h"

static int ends[2];

static int open_pair(void **state)
{
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int close_pair(void **state)
{
    close(ends[0]);
    close(ends[1]);
    return 0;
}

TEST_WITH(a_frame_arrives_as_it_was_sent, open_pair, close_pair)
{
    uint32_t type;
    CLEANUP(buf_free) struct buf payload = {0}, read = {0};
    for (uint32_t len = 0; len < 5000; len = len * 3 + 1) {
        payload.len = 0;
        for (uint32_t i = 0; i < len; i++)
            buf_add(&payload, &(uint8_t){(uint8_t)(i * 7)}, 1);
        assert_true(wire_write(ends[0], WIRE_LEASES, buf_bytes(&payload), clock_ms() + 1000));
        assert_int_equal(read_frame(ends[1], &type, &read, len % 2 ? -1 : clock_ms() + 1000), WIRE_DONE);
        assert_int_equal(type, WIRE_LEASES);
        assert_true(bytes_equal(buf_bytes(&read), buf_bytes(&payload)));
    }
}

TEST(a_socket_that_closes_inside_a_frame_is_torn_and_between_frames_closed)
{
    const uint8_t frame[] = {0, 0, 0, 4, 0, 0, 0, 2, 'a', 'b', 'c', 'd'};
    for (size_t len = 0; len < sizeof frame; len++) {
        struct buf payload = {0};
        uint32_t type;
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        assert_int_equal(send(pair[0], frame, len, 0), len);
        close(pair[0]);
        assert_int_equal(read_frame(pair[1], &type, &payload, -1), len == 0 ? WIRE_CLOSED : WIRE_TORN);
        buf_free(&payload);
        close(pair[1]);
    }
}

TEST_WITH(a_silent_peer_times_out, open_pair, close_pair)
{
    struct buf frame CLEANUP(buf_free) = {0};
    int64_t begun_ms = clock_ms();
    assert_int_equal(wire_receive(ends[1], &frame, WIRE_HEADER_SIZE, begun_ms + 50), WIRE_TIMEOUT);
    assert_int_equal(send(ends[0], "abc", 3, 0), 3);
    assert_int_equal(wire_receive(ends[1], &frame, WIRE_HEADER_SIZE, clock_ms() + 50), WIRE_TIMEOUT);
    assert_int_equal(frame.len, 3);
    AUTO_FREE uint8_t *large = NEW_ARRAY(4u << 20, uint8_t);
    assert_false(wire_write(ends[1], WIRE_LEASES, (struct bytes){large, 4u << 20}, clock_ms() + 50));
    assert_in_range(clock_ms() - begun_ms, 150, slower(2000));
}

static void *write_soon(void *header)
{
    clock_sleep_ms(20);
    assert_int_equal(send(ends[0], header, WIRE_HEADER_SIZE, 0), WIRE_HEADER_SIZE);
    return NULL;
}

TEST_WITH(
    a_deadline_that_passed_while_this_process_was_stopped_still_leaves_the_peer_time, open_pair, close_pair)
{
    struct buf frame CLEANUP(buf_free) = {0};
    pthread_t partner;
    assert_int_equal(pthread_create(&partner, NULL, write_soon, (uint8_t[WIRE_HEADER_SIZE]){0}), 0);
    assert_int_equal(wire_receive(ends[1], &frame, WIRE_HEADER_SIZE, clock_ms() - 1000), WIRE_DONE);
    assert_int_equal(pthread_join(partner, NULL), 0);
}

/* A peer that refuses the header closes its socket; a payload sent apart would then fail, or not, by chance.
 * A packet socket shows what each call sends. */
TEST(header_and_payload_are_sent_in_one_call)
{
    int pair[2];
    uint8_t packet[64];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    for (int64_t deadline_ms = -1; deadline_ms <= 0; deadline_ms++) {
        assert_true(wire_write(pair[0], WIRE_LOAD, (struct bytes){(const uint8_t *)"payload", 7},
            deadline_ms < 0 ? -1 : clock_ms() + 1000));
        assert_int_equal(recv(pair[1], packet, sizeof packet, 0), WIRE_HEADER_SIZE + 7);
        assert_memory_equal(packet, "\0\0\0\7\0\0\0\2payload", WIRE_HEADER_SIZE + 7);
    }
    close(pair[0]);
    close(pair[1]);
}

static void *read_slowly(void *payload)
{
    uint32_t type;
    clock_sleep_ms(20);
    assert_int_equal(read_frame(ends[1], &type, payload, -1), WIRE_DONE);
    return NULL;
}

TEST_WITH(a_frame_larger_than_the_socket_buffer_is_sent_in_pieces, open_pair, close_pair)
{
    CLEANUP(buf_free) struct buf payload = {0}, read = {0};
    pthread_t reader;
    for (uint32_t i = 0; i < 1u << 20; i++)
        buf_add_u32(&payload, i);
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &read), 0);
    assert_true(wire_write(ends[0], WIRE_LEASES, buf_bytes(&payload), clock_ms() + slower(10000)));
    assert_int_equal(pthread_join(reader, NULL), 0);
    assert_true(bytes_equal(buf_bytes(&read), buf_bytes(&payload)));
}

TEST(writing_to_a_closed_socket_is_an_error_without_a_signal)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    close(pair[1]);
    assert_false(wire_write(pair[0], WIRE_LOAD, (struct bytes){0}, clock_ms() + 1000));
    assert_false(wire_write(pair[0], WIRE_LOAD, (struct bytes){0}, -1));
    close(pair[0]);
}

TEST(opaque_bytes_are_padded_and_never_exceed_the_bytes_left)
{
    for (size_t len = 0; len < 9; len++) {
        struct buf buf CLEANUP(buf_free) = {0};
        wire_put_bytes(&buf, (struct bytes){(const uint8_t *)"12345678", len});
        assert_int_equal(buf.len, 4 + (len + 3) / 4 * 4);
        struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
        assert_int_equal(wire_get_bytes(&reader).len, len);
        assert_int_equal(xdr_end(&reader), ERR_OK);
        for (size_t cut = 0; cut < buf.len; cut++) {
            reader = xdr_reader((struct bytes){buf.data, cut});
            assert_null(wire_get_bytes(&reader).data);
            assert_int_equal(reader.e, ERR_XDR_TRUNCATED);
        }
        be32_put(buf.data, UINT32_MAX - (uint32_t)len);
        reader = xdr_reader(buf_bytes(&buf));
        assert_null(wire_get_bytes(&reader).data);
        assert_int_equal(reader.e, ERR_XDR_TRUNCATED);
    }
}

TEST(a_result_is_a_known_error_and_a_detail_fits)
{
    struct buf buf CLEANUP(buf_free) = {0};
    struct detail detail = {0}, read = {0};
    memset(detail.text, 'x', sizeof detail.text - 1);
    wire_put_result(&buf, ERR_CONFIG, &detail);
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    assert_int_equal(wire_get_result(&reader, &read), ERR_CONFIG);
    assert_string_equal(read.text, detail.text);
    buf_clear(&buf);
    buf_add_u32(&buf, ERR_INTERNAL + 1);
    reader = xdr_reader(buf_bytes(&buf));
    assert_int_equal(wire_get_err(&reader), ERR_OK);
    assert_int_equal(reader.e, ERR_XDR_INVALID);
    buf_clear(&buf);
    buf_add_u32(&buf, ERR_CONFIG); /* a detail that is too long is dropped, not cut */
    AUTO_FREE uint8_t *text = NEW_ARRAY(sizeof detail.text, uint8_t);
    memset(text, 'y', sizeof detail.text);
    wire_put_bytes(&buf, (struct bytes){text, sizeof detail.text});
    reader = xdr_reader(buf_bytes(&buf));
    assert_int_equal(wire_get_result(&reader, &read), ERR_CONFIG);
    assert_string_equal(read.text, detail.text);
}

TEST(sealed_seeds_and_rows_are_read_as_written)
{
    struct buf buf CLEANUP(buf_free) = {0};
    struct sealed_seed sealed = {.key_id = "0123456789abcdef"};
    struct master_key_row row = {.key_id = "fedcba9876543210", .derived = true};
    memset(sealed.box, 5, sizeof sealed.box);
    memset(row.salt, 6, sizeof row.salt);
    wire_put_sealed(&buf, &sealed);
    wire_put_row(&buf, &row);
    struct xdr_reader reader = xdr_reader(buf_bytes(&buf));
    const struct sealed_seed sealed_read = wire_get_sealed(&reader);
    const struct master_key_row row_read = wire_get_row(&reader);
    assert_int_equal(xdr_end(&reader), ERR_OK);
    assert_memory_equal(&sealed_read, &sealed, sizeof sealed);
    assert_string_equal(row_read.key_id, row.key_id);
    assert_true(row_read.derived);
    assert_memory_equal(row_read.salt, row.salt, sizeof row.salt);
}
