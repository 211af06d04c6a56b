/* What this process uses, under the names that Prometheus' client libraries give. */
#pragma once

#include <stdio.h>

/* Opens the two files of /proc that process_write reads: before the process is confined. Does nothing the
 * second time. */
void process_open(void);
/* Writes process_*, as metric_write does. Calls process_open. What the system does not tell is left out. */
void process_write(FILE *out);
