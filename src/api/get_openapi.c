/* GET /openapi.json: the description of the API, the same for everybody. It needs no token and no database.
 */
#include "base/mem.h"
#include "context.h"
#include "embedded.h"

void api_get_openapi(struct http_request *request, void *api)
{
    (void)api;
    http_reply_json(request, 200, mem_copy_text(openapi_json));
}
