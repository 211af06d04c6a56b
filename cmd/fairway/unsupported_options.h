/* Options of stellar/wallet-backend, which fairway replaces, that fairway does not have. */
#ifndef FAIRWAY_UNSUPPORTED_OPTIONS_H
#define FAIRWAY_UNSUPPORTED_OPTIONS_H

/* Logs one warning that names those that are set in the environment; nothing if there is none. */
void unsupported_options_warn(void);

#endif
