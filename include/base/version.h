/* The version of fairway: of both programs, and of the container image. */
#pragma once

#define FAIRWAY_VERSION "0.9.0"
