/* The pages that are made from the tables of commands and options. */
#ifndef FAIRWAY_PAGES_H
#define FAIRWAY_PAGES_H

#include <stdio.h>

/* docker/options.md. */
void pages_print_markdown(FILE *to);
/* The manual page fairway(1). */
void pages_print_man(FILE *to);

#endif
