/* The lists of validators of docker/ that the build embeds in the program. */
#pragma once

extern const char validators_public_txt[], validators_testnet_txt[];
