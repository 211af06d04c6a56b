/* Files of this folder that the build embeds in the program: openapi.json and status.html. */
#ifndef FAIRWAY_API_EMBEDDED_H
#define FAIRWAY_API_EMBEDDED_H

extern const char openapi_json[], status_html[];

#endif
