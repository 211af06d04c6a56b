/* serve: the API, the lease engine and ingestion in one process, until SIGTERM, SIGINT or the end of the key
 * process. */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "api/recent_speed.h"
#include "serve.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "commands.h"
#include "ingest/ingest.h"
#include "sandbox/confine.h"
#include "pool/pool_counts.h"
#include "pool/role.h"
#include "pool_access.h"

/* Between two looks at the key process and at the clients' file. */
#define CHECK_MS 1000

struct service {
    struct auth *auth; /* NULL: AUTH=none */
    struct pool_access access;
    struct ingest *ingest;
    struct engine *engine;
    _Atomic uint32_t seen_ledger; /* written by ingest, read by engine */
    struct watch *watch;
    struct submitter *submitter;
    struct api *api, *admin; /* admin NULL: ADMIN_LISTEN=off */
    struct listeners listeners;
};

/* Without NUM_CHANNEL_ACCOUNTS, a pool smaller than the default is no problem: warns only if the option is
 * set, or if no account is active. */
static void compare_pool(const struct config *config, int64_t active)
{
    const uint64_t wanted = config_number(config, "NUM_CHANNEL_ACCOUNTS");
    if ((uint64_t)active >= wanted)
        return;
    const bool is_default = !config_is_given(config, "NUM_CHANNEL_ACCOUNTS");
    log_line(is_default && active > 0 ? LOG_INFO : LOG_WARN,
        "fewer channel accounts are active than NUM_CHANNEL_ACCOUNTS; fairway ensure-accounts creates them",
        "active=%" PRId64 " NUM_CHANNEL_ACCOUNTS=%" PRIu64, active, wanted);
}

static void warn_of_rights(struct db *db)
{
    bool may_write;
    struct detail detail;
    if (role_may_write(db, &may_write, &detail) == ERR_OK && may_write)
        log_warn("the database role owns the schema or may write its tables: a captured process could change "
                 "seeds "
                 "and leases; serve with the role fairway of docker/roles.sql",
            NULL);
}

/* Logs once what runs, without secrets. */
static void report(const struct config *config, const struct pool_access *access)
{
    AUTO_FREE char *changes = config_changes(config);
    struct pool_counts counts = {0};
    struct detail detail;
    const bool counted = pool_counts_read(access->db, &counts, &detail) == ERR_OK;
    log_info("started", "version=%s commit=%s network=\"%s\" active_accounts=%" PRId64 " options=\"%s\"",
        version_text(), version_commit(), access->passphrase, counted ? counts.active : -1, changes);
    if (counted)
        compare_pool(config, counts.active);
    warn_of_rights(access->db);
    if (!ingest_checks_signatures(config_text(config, "TRUSTED_VALIDATORS"), access->passphrase))
        log_warn("there is no list of validators (TRUSTED_VALIDATORS): the RPC is believed, and one that is "
                 "alone can invent ledgers that end leases",
            NULL);
}

static enum err start_pool(const struct config *config, struct service *service, struct detail *detail)
{
    const struct pool_access *access = &service->access;
    struct engine_settings engine = {.database_url = access->database_url,
        .threads = (unsigned)config_number(config, "ENGINE_THREADS"),
        .grant = {.network = access->network,
            .limits = access->limits.limits,
            .max_lease_fee_stroops = access->limits.max_lease_fee_stroops,
            .funds = access->funds,
            .ledger_ms = (unsigned)config_ms(config, "LEDGER_SECONDS"),
            .seen_ledger = &service->seen_ledger},
        .keyd = access->keyd};
    for (; engine.grant.key_id_count < access->key_count; engine.grant.key_id_count++)
        engine.grant.key_ids[engine.grant.key_id_count] = access->keys[engine.grant.key_id_count].key_id;
    service->engine = engine_start(&engine);
    service->submitter = submitter_start(&(struct submitter_settings){.database_url = access->database_url,
        .rpc_url = access->rpc_url,
        .engine = service->engine,
        .limits = &service->access.limits.limits});
    return watch_start(
        access->database_url, service->engine, submitter_ledger, service->submitter, &service->watch, detail);
}

static enum err start_http(const struct config *config, struct service *service, struct detail *detail)
{
    const struct pool_access *access = &service->access;
    const struct api_settings settings = {.auth = service->auth,
        .engine = service->engine,
        .watch = service->watch,
        .submitter = service->submitter,
        .keyd = access->keyd,
        .keys = access->keys,
        .key_count = access->key_count,
        .database_url = access->database_url,
        .rpc_url = access->rpc_url,
        .admin_is_local = listeners_admin_is_local(config),
        .connections = (unsigned)config_number(config, "MAX_CONNECTIONS"),
        .passphrase = access->passphrase,
        .network = access->network,
        .distribution = access->distribution,
        .limits = access->limits.limits,
        .resource_margin_percent = (unsigned)config_number(config, "RESOURCE_MARGIN_PERCENT"),
        .seen_ledger = &service->seen_ledger,
        .funds = access->funds,
        .synchronous_failover = access->synchronous_failover,
        .ledger_ms = (unsigned)config_ms(config, "LEDGER_SECONDS"),
        .signatures = ingest_checks_signatures(config_text(config, "TRUSTED_VALIDATORS"), access->passphrase),
        .ingest_ready = ingest_ready,
        .network_checked = ingest_checked,
        .ingest_context = service->ingest};
    service->api = api_start(&settings);
    if (listeners_want_admin(config))
        service->admin = api_start_admin(&settings);
    return listeners_open(config, service->api, service->admin, &service->listeners, detail);
}

static enum err start(const struct config *config, struct service *service, struct detail *detail)
{
    struct ingest_settings ingest = pool_access_ingestion(config, &service->access);
    enum err e;
    ingest.seen_ledger = &service->seen_ledger;
    if ((e = start_pool(config, service, detail)) != ERR_OK)
        return e;
    ingest.listener = (struct lease_ends_listener){watch_ended, service->watch};
    if ((e = ingest_start(&ingest, &service->ingest, detail)) != ERR_OK)
        return e;
    if ((e = start_http(config, service, detail)) == ERR_OK && (e = confine_listening(detail)) == ERR_OK)
        systemd_notify("READY=1");
    return e;
}

/* In this order every open request is answered: no new requests are accepted, then the waiting ones are
 * refused, then what their answers need is freed. The listeners end before the APIs: a client that leaves
 * cancels its request on a thread of the listener, which uses the API and may still run when the engine and
 * the watch have stopped. */
static void stop(struct service *service)
{
    systemd_notify("STOPPING=1");
    if (service->api != NULL)
        api_stopping(service->api);
    if (service->admin != NULL)
        api_stopping(service->admin);
    if (service->watch != NULL)
        watch_drain(service->watch);
    listeners_drain(&service->listeners, SERVE_DRAIN_MS);
    if (service->api != NULL)
        api_drain(service->api);
    if (service->admin != NULL)
        api_drain(service->admin);
    ingest_stop(service->ingest); /* it tells the watch */
    if (service->watch != NULL)
        watch_stop(service->watch);
    if (service->submitter != NULL)
        submitter_stop(service->submitter);
    if (service->engine != NULL)
        engine_stop(service->engine);
    listeners_free(&service->listeners);
    watch_free(service->watch); /* requests of the engine's last batches have gone there */
    if (service->submitter != NULL)
        submitter_free(service->submitter);
    api_free(service->api);
    api_free(service->admin);
    auth_free(service->auth);
    pool_access_close(&service->access);
}

/* Blocks until SIGTERM, SIGINT or the end of the key process; returns the exit code. Reads the clients again
 * at SIGHUP and when their file has changed. */
static int wait_for_end(const struct service *service, int signals)
{
    struct pollfd fds[] = {
        {.fd = signals, .events = POLLIN}, {.fd = keyd_lost_fd(service->access.keyd), .events = POLLIN}};
    bool asked = false;
    while (!asked && fds[1].revents == 0) {
        const int ready = poll(fds, ARRAY_LEN(fds), CHECK_MS);
        keyd_check(service->access.keyd);
        recent_speed_keep();
        if (ready > 0 && fds[0].revents != 0) {
            struct signalfd_siginfo info;
            asked = read(signals, &info, sizeof info) != sizeof info || info.ssi_signo != SIGHUP;
            if (!asked)
                authentication_reload(service->auth, "SIGHUP");
        } else if (ready == 0 && service->auth != NULL && auth_changed(service->auth)) {
            authentication_reload(service->auth, "changed");
        }
    }
    if (asked) {
        log_info("stopping", NULL);
        return EX_OK;
    }
    struct detail reason = {"no answer"};
    (void)keyd_ended(service->access.keyd, &reason);
    log_error("stopping: the key process failed", "reason=\"%s\"", reason.text);
    return EX_SOFTWARE;
}

int cmd_serve(const struct config *config)
{
    struct service service = {0};
    struct detail detail = {0};
    sigset_t ends;
    enum err e = authentication_open(config, &service.auth, &detail);
    if (e == ERR_OK)
        e = listeners_check(config, &detail);
    if (e != ERR_OK) {
        auth_free(service.auth);
        return command_failed(e, &detail, "cannot start");
    }
    signal(SIGHUP, SIG_IGN); /* until the clients can be read again */
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    int code = pool_access_open(config, KEYD_SERVE, false, &service.access);
    if (code != EX_OK) {
        auth_free(service.auth);
        pool_access_close(&service.access);
        return code;
    }
    report(config, &service.access);
    listeners_raise_limit();
    sigprocmask(SIG_BLOCK, &ends, NULL); /* before the threads, which inherit it */
    signal(SIGHUP, SIG_DFL);             /* else the descriptor would not get it */
    int signals = signalfd(-1, &ends, SFD_CLOEXEC);
    e = signals < 0 ? ERR_INTERNAL : start(config, &service, &detail);
    code = e == ERR_OK ? wait_for_end(&service, signals) : command_failed(e, &detail, "cannot start");
    stop(&service);
    close(signals);
    return code;
}
