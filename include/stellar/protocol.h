/* The protocol versions that this program knows, and that the network was seen to run or to vote for. */
#pragma once

#include <stdint.h>

#include "xdr/types.h" /* PROTOCOL_KNOWN */

/*
 * Notes the version of a ledger, of a vote in a ledger, or of the node behind an RPC; from is a constant that
 * says which. Logs a warning when the version is above PROTOCOL_KNOWN and above all that were noted. Any
 * thread; does not block.
 */
void protocol_note(uint32_t version, const char *from);

/* Returns the newest version that was noted; 0: none. Any thread. */
uint32_t protocol_noted(void);
