/* The lists of validators of docker/ that the build embeds in the program. */
#ifndef FAIRWAY_INGEST_EMBEDDED_H
#define FAIRWAY_INGEST_EMBEDDED_H

extern const char validators_public_txt[], validators_testnet_txt[];

#endif
