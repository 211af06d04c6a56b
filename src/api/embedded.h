/* Files of this folder that the build embeds in the program: openapi.json and status.html. */
#pragma once

extern const char openapi_json[], status_html[];
