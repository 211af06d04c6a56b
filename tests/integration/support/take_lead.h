/* Takes the lead where a session that had it before may just have ended. */
#ifndef FAIRWAY_TESTS_TAKE_LEAD_H
#define FAIRWAY_TESTS_TAKE_LEAD_H

#include "../../../src/ingest/lead.h"

/* As lead_take, which must succeed. Retries for some seconds, because a session keeps its locks until the
 * server has ended it. */
void take_lead(struct lead *lead);

#endif
