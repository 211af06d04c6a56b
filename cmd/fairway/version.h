/* What this program was built from. */
#ifndef FAIRWAY_VERSION_COMMAND_H
#define FAIRWAY_VERSION_COMMAND_H

const char *version_text(void);   /* "0.9.0" */
const char *version_commit(void); /* as `git describe`; "unknown" outside a repository */

#endif
