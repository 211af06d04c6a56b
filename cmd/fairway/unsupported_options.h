/* The options of stellar/wallet-backend, which fairway replaces, that have no effect in fairway. */
#ifndef FAIRWAY_UNSUPPORTED_OPTIONS_H
#define FAIRWAY_UNSUPPORTED_OPTIONS_H

/* Logs one warning that names those that are set in the environment; none set: logs nothing. */
void unsupported_options_warn(void);

#endif
