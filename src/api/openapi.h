/* openapi.json, which the build embeds in the program. */
#ifndef FAIRWAY_API_OPENAPI_H
#define FAIRWAY_API_OPENAPI_H

extern const char openapi_json[];

#endif
