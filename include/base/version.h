/* The version of fairway: of both programs, and of the container image. */
#ifndef FAIRWAY_BASE_VERSION_H
#define FAIRWAY_BASE_VERSION_H

#define FAIRWAY_VERSION "0.9.0"

#endif
