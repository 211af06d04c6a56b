/* What the database role of this process may do. */
#pragma once

#include "db/db.h"

/*
 * Whether the role owns the schema, or may write the accounts by statements of its own instead of by the
 * functions of the schema, which check what they write. A role that serves needs neither (docker/roles.sql).
 */
MUST_CHECK enum err role_may_write(struct db *db, bool *out, struct detail *detail);
