/* health: asks the probes of the `serve` on this host, for health checks of containers. */
#include <stdio.h>
#include <sysexits.h>

#include "ask_serve.h"
#include "base/text.h"
#include "commands.h"

int cmd_health(const struct config *config)
{
    const char *which = config_argument(config, 0), *body;
    if (which != NULL && !text_equal(which, "live") && !text_equal(which, "ready"))
        return command_usage_error("health", "unknown probe \"%s\"", which);
    const int status = ask_serve(config, "health", text_equal(which, "live") ? "/livez" : "/readyz", &body);
    if (status <= 0)
        return status < 0 ? EX_CONFIG : 1;
    puts(body);
    return status == 200 ? EX_OK : 1;
}
