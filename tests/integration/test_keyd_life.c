/*
 * Start and end of the key process, through keyd.h (DS4, DS6, DS7): which secrets it accepts, and that no
 * call waits for a process that has ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

#include "check.h"
#include <sodium.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/keyd.h"
#include "slowness.h"

/* ---- starting */

static enum err start(const struct keyd_secrets *secrets, struct keyd **keyd, struct detail *detail)
{
    const struct keyd_settings settings = keyd_test_settings();
    *detail = (struct detail){0};
    return keyd_start(keyd_program(), KEYD_PROVISION, &settings, secrets, keyd, detail);
}

static void refuses_to_start(struct keyd_secrets secrets, const char *because)
{
    struct keyd *keyd;
    struct detail detail;
    assert_int_equal(start(&secrets, &keyd, &detail), ERR_CONFIG);
    if (strstr(detail.text, because) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", detail.text, because);
}

TEST(malformed_secrets_are_refused_at_start)
{
    static const char *const keys[] = {"", "short",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1g",
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n\n",
        "thirty-three bytes are not a key!"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        refuses_to_start((struct keyd_secrets){.fd[SECRET_MASTER_KEY] = secret_of_text(keys[i]),
                             .fd[SECRET_PASSPHRASE] = -1,
                             .fd[SECRET_DISTRIBUTION] = -1},
            "MASTER_KEY_FILE must hold 32 bytes");
    static const char *const seeds[] = {"", "SAFQWCYLBMFQWCYL",
        "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF",
        "SAFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWCYLBMFQWAAA"};
    for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
        refuses_to_start((struct keyd_secrets){.fd[SECRET_MASTER_KEY] = -1,
                             .fd[SECRET_PASSPHRASE] = -1,
                             .fd[SECRET_DISTRIBUTION] = secret_of_text(seeds[i])},
            "DISTRIBUTION_ACCOUNT_PRIVATE_KEY must be a secret seed");
    refuses_to_start((struct keyd_secrets){.fd[SECRET_MASTER_KEY] = -1,
                         .fd[SECRET_PASSPHRASE] = secret_of_text("\n"),
                         .fd[SECRET_DISTRIBUTION] = -1},
        "the passphrase is shorter than 16 bytes");
    refuses_to_start((struct keyd_secrets){.fd[SECRET_MASTER_KEY] = -1,
                         .fd[SECRET_PASSPHRASE] = secret_of_text("fifteen bytes..\n"),
                         .fd[SECRET_DISTRIBUTION] = -1},
        "the passphrase is shorter than 16 bytes");
    char *long_passphrase = NEW_ARRAY(1026, char);
    memset(long_passphrase, 'x', 1025);
    refuses_to_start((struct keyd_secrets){.fd[SECRET_MASTER_KEY] = -1,
                         .fd[SECRET_PASSPHRASE] = secret_of_text(long_passphrase),
                         .fd[SECRET_DISTRIBUTION] = -1},
        "longer than 1024");
    free(long_passphrase);
}

TEST(another_program_instead_of_the_key_process_is_refused)
{
    static const char *const programs[] = {"/nonexistent", "/bin/true", "/bin/false"};
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        struct keyd *keyd;
        struct detail detail = {0};
        struct keyd_secrets secrets = keyd_known_secrets();
        const struct keyd_settings settings = keyd_test_settings();
        assert_int_equal(
            keyd_start(programs[i], KEYD_SERVE, &settings, &secrets, &keyd, &detail), ERR_CONFIG);
        assert_non_null(strstr(detail.text, i == 0 ? "/nonexistent" : "exit code"));
        assert_int_equal(fcntl(secrets.fd[SECRET_MASTER_KEY], F_GETFD), -1); /* closed, also after an error */
    }
}

static void ends_within(const struct keyd *keyd, int wait_ms, struct detail *how)
{
    struct pollfd ended = {.fd = pidfd_open(keyd_pid(keyd), 0), .events = POLLIN};
    assert_int_equal(poll(&ended, 1, (int)slower(wait_ms)), 1);
    close(ended.fd);
    assert_true(keyd_ended(keyd, how));
}

/* ---- loading */

struct loaded {
    struct keyd *keyd;
    struct master_key_row current;
    bool is_new;
    struct detail detail;
};

static enum err load(
    struct loaded *out, struct keyd_secrets secrets, const struct master_key_row rows[], size_t count)
{
    struct public_key distribution, expected = keyd_distribution();
    *out = (struct loaded){0};
    if (start(&secrets, &out->keyd, &out->detail) != ERR_OK)
        fail_msg("%s", out->detail.text);
    enum err e = keyd_load(out->keyd, rows, count, &out->current, &out->is_new, &distribution, &out->detail);
    if (e == ERR_OK)
        assert_memory_equal(&distribution, &expected, sizeof expected);
    return e;
}

/* Asserts that the master keys do not load: the process ends with exit code 78, and every later call fails at
 * once. */
static void refuses_to_load(
    struct keyd_secrets secrets, const struct master_key_row rows[], size_t count, const char *because)
{
    struct loaded loaded;
    struct generated_key key;
    struct detail end;
    assert_int_equal(load(&loaded, secrets, rows, count), ERR_CONFIG);
    if (strstr(loaded.detail.text, because) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", loaded.detail.text, because);
    assert_int_equal(keyd_generate(loaded.keyd, 1, &key), ERR_KEYD_UNAVAILABLE);
    ends_within(loaded.keyd, 5000, &end);
    assert_string_equal(end.text, "exit code 78");
    keyd_stop(loaded.keyd);
}

TEST(the_configured_distribution_account_must_match_the_secret)
{
    struct keyd_settings settings = keyd_test_settings();
    struct keyd_secrets secrets = keyd_known_secrets();
    struct keyd *keyd;
    struct detail detail = {0};
    settings.has_distribution = true;
    settings.distribution = keyd_distribution();
    assert_int_equal(keyd_start(keyd_program(), KEYD_SERVE, &settings, &secrets, &keyd, &detail), ERR_OK);
    keyd_stop(keyd);
    settings.distribution.bytes[31] ^= 1;
    secrets = keyd_known_secrets();
    assert_int_equal(keyd_start(keyd_program(), KEYD_SERVE, &settings, &secrets, &keyd, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "DISTRIBUTION_ACCOUNT_PUBLIC_KEY"));
}

TEST(without_its_secrets_it_does_not_start)
{
    struct keyd_secrets without = keyd_known_secrets();
    close(without.fd[SECRET_DISTRIBUTION]);
    without.fd[SECRET_DISTRIBUTION] = -1;
    refuses_to_start(without, "DISTRIBUTION_ACCOUNT_PRIVATE_KEY");
    without = keyd_known_secrets();
    close(without.fd[SECRET_MASTER_KEY]);
    without.fd[SECRET_MASTER_KEY] = -1;
    refuses_to_start(without, "MASTER_KEY_FILE");
}

TEST(a_key_file_is_new_until_its_row_is_stored)
{
    struct loaded first, second;
    assert_int_equal(load(&first, keyd_known_secrets(), NULL, 0), ERR_OK);
    assert_true(first.is_new);
    assert_false(first.current.derived);
    assert_int_equal(load(&second, keyd_known_secrets(), &first.current, 1), ERR_OK);
    assert_false(second.is_new);
    assert_string_equal(second.current.key_id, first.current.key_id);
    struct master_key_row other = first.current;
    memcpy(other.key_id, "0123456789abcdef", KEY_ID_SIZE);
    keyd_stop(first.keyd);
    keyd_stop(second.keyd);
    refuses_to_load(keyd_known_secrets(), &other, 1, "0123456789abcdef");
}

static struct keyd_secrets with_passphrase(const char *passphrase, bool with_file)
{
    struct keyd_secrets secrets = keyd_known_secrets();
    secrets.fd[SECRET_PASSPHRASE] = secret_of_text(passphrase);
    if (!with_file) {
        close(secrets.fd[SECRET_MASTER_KEY]);
        secrets.fd[SECRET_MASTER_KEY] = -1;
    }
    return secrets;
}

/* Seals with one process and signs a creation with another, which opens the seed. */
static void opens_in(struct keyd *keyd, const struct generated_key *key, enum err expected)
{
    const struct provisioning_tx provisioning = {.distribution = keyd_distribution(),
        .fee_stroops = 300,
        .max_time_s = 60,
        .account_count = 1,
        .accounts = {key->public_key}};
    struct buf envelope CLEANUP(buf_free) = {0};
    struct hash hash;
    uint32_t broken;
    assert_int_equal(
        keyd_sign_provisioning(keyd, 1, &provisioning, &key->sealed, &envelope, &hash, &broken, NULL),
        expected);
}

TEST(a_passphrase_and_its_row_give_the_same_key_again)
{
    struct loaded first, second, both;
    struct generated_key key;
    assert_int_equal(load(&first, with_passphrase("correct horse battery", false), NULL, 0), ERR_OK);
    assert_true(first.is_new && first.current.derived);
    assert_int_equal(keyd_generate(first.keyd, 1, &key), ERR_OK);
    assert_string_equal(key.sealed.key_id, first.current.key_id);
    keyd_stop(first.keyd);

    assert_int_equal(
        load(&second, with_passphrase("correct horse battery\n", false), &first.current, 1), ERR_OK);
    assert_false(second.is_new);
    opens_in(second.keyd, &key, ERR_OK);
    keyd_stop(second.keyd);

    /* With a key file as well, it still opens the old seeds; the key of the file seals new ones. */
    assert_int_equal(load(&both, with_passphrase("correct horse battery", true), &first.current, 1), ERR_OK);
    assert_true(both.is_new && !both.current.derived);
    opens_in(both.keyd, &key, ERR_OK);
    keyd_stop(both.keyd);

    refuses_to_load(with_passphrase("wrong horse battery", false), &first.current, 1,
        "CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE");
    refuses_to_load(keyd_known_secrets(), &first.current, 1, "CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE");
}

TEST(a_seed_sealed_for_another_network_or_key_does_not_open)
{
    struct loaded first, second;
    struct generated_key key;
    assert_int_equal(load(&first, with_passphrase("the first passphrase", false), NULL, 0), ERR_OK);
    assert_int_equal(
        load(&second, with_passphrase("the first passphrase", false), NULL, 0), ERR_OK); /* another salt */
    assert_int_equal(keyd_generate(first.keyd, 1, &key), ERR_OK);
    opens_in(first.keyd, &key, ERR_OK);
    opens_in(second.keyd, &key, ERR_SEAL_BROKEN);
    keyd_stop(first.keyd);
    keyd_stop(second.keyd);
}

/* ---- ending */

static void signal_to(const struct keyd *keyd, int signal)
{
    assert_int_equal(kill(keyd_pid(keyd), signal), 0);
}

static bool is_lost(const struct keyd *keyd, int wait_ms)
{
    const int64_t until_ms = clock_ms() + slower(wait_ms);
    while (keyd_runs(keyd) && clock_ms() < until_ms)
        clock_sleep_ms(1);
    return !keyd_runs(keyd);
}

static enum err call(struct keyd *keyd)
{
    struct generated_key key;
    return keyd_generate(keyd, 1, &key);
}

TEST(a_killed_key_process_is_reported_at_once)
{
    AUTO_KEYD keyd = keyd_loaded(KEYD_PROVISION);
    struct detail end;
    assert_false(keyd_ended(keyd, &end));
    assert_int_equal(call(keyd), ERR_OK);
    assert_false(is_lost(keyd, 0));
    signal_to(keyd, SIGKILL);
    assert_true(is_lost(keyd, 1000)); /* before any call */
    int64_t begun_ms = clock_ms();
    assert_int_equal(call(keyd), ERR_KEYD_UNAVAILABLE);
    assert_true(clock_ms() - begun_ms < slower(1000));
    ends_within(keyd, 1000, &end);
    assert_string_equal(end.text, "signal 9");
    assert_int_equal(call(keyd), ERR_KEYD_UNAVAILABLE);
}

TEST(a_pause_and_terminal_signals_do_not_end_it)
{
    AUTO_KEYD keyd = keyd_loaded(KEYD_PROVISION);
    static const int signals[] = {SIGSTOP, SIGCONT, SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        signal_to(keyd, signals[i]);
    clock_sleep_ms(50);
    assert_int_equal(call(keyd), ERR_OK);
}

TEST(keyd_stop_ends_it)
{
    struct keyd *keyd = keyd_loaded(KEYD_SERVE);
    int pidfd = pidfd_open(keyd_pid(keyd), 0);
    keyd_stop(keyd);
    assert_int_equal(pidfd_send_signal(pidfd, 0, NULL, 0), -1);
    assert_int_equal(errno, ESRCH);
    close(pidfd);
    keyd_stop(NULL);
}

/* Runs work in a process of its own, whose exit code is the result. */
static int apart(int (*work)(void *context), void *context)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(work(context));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static int start_and_die(void *context)
{
    struct keyd *keyd = keyd_loaded(KEYD_SERVE);
    const pid_t pid = keyd_pid(keyd);
    if (write(*(int *)context, &pid, sizeof pid) != sizeof pid)
        return 1;
    kill(getpid(), SIGKILL);
    return 1;
}

TEST(it_ends_when_fairway_ends)
{
    int ends[2];
    pid_t pid = 0;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(apart(start_and_die, &ends[1]), 256 + SIGKILL);
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    assert_true(pid > 1);
    struct pollfd ended = {.fd = pidfd_open(pid, 0), .events = POLLIN};
    if (ended.fd >= 0) { /* else it has ended already */
        assert_int_equal(poll(&ended, 1, (int)slower(5000)), 1);
        close(ended.fd);
    }
    close(ends[0]);
    close(ends[1]);
}

/* ---- limits of the machine */

static int start_without_locked_memory(void *context)
{
    const struct rlimit none = {0, 0};
    struct keyd *keyd;
    struct detail detail = {0};
    struct keyd_secrets secrets = keyd_known_secrets();
    const struct keyd_settings settings = keyd_test_settings();
    prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0); /* root may lock without limit */
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0)
        return 2;
    enum err e = keyd_start(keyd_program(), KEYD_SERVE, &settings, &secrets, &keyd, &detail);
    return e == ERR_CONFIG && strstr(detail.text, "RLIMIT_MEMLOCK") != NULL ? 0 : 1;
}

TEST(DS6_without_locked_memory_it_refuses_to_start)
{
#ifdef FAIRWAY_SANITIZED
    skip(); /* mlock of a sanitizer does nothing */
#endif
    assert_int_equal(apart(start_without_locked_memory, NULL), 0);
}

/* As an ordinary user: the parent itself, with the same user id, can neither trace it nor read its memory. */
static int look_into_it(void *context)
{
    AUTO_KEYD keyd;
    struct detail detail = {0};
    struct keyd_secrets secrets = keyd_known_secrets();
    const struct keyd_settings settings = keyd_test_settings();
    if (geteuid() == 0 && (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0))
        return 2;
    prctl(PR_SET_DUMPABLE, 1); /* setuid has cleared it */
    if (keyd_start(context, KEYD_SERVE, &settings, &secrets, &keyd, &detail) != ERR_OK) {
        print_error("%s\n", detail.text);
        return 3;
    }
    const pid_t pid = keyd_pid(keyd), open_one = fork();
    if (open_one == 0) {
        pause();
        _exit(0);
    }
    AUTO_FREE char *memory = mem_format("/proc/%d/mem", pid);
    bool control = ptrace(PTRACE_SEIZE, open_one, NULL, NULL) == 0; /* tracing works on this machine */
    bool traced = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
    bool read = open(memory, O_RDONLY | O_CLOEXEC) >= 0;
    kill(open_one, SIGKILL);
    return !control ? 4 : traced ? 5 : read ? 6 : 0;
}

TEST(DS7_a_debugger_cannot_attach)
{
    char folder[] = "/tmp/keyd-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    AUTO_FREE char *copy = mem_format("%s/fairway-keyd", folder);
    AUTO_FREE char *command = mem_format("cp '%s' '%s'", keyd_program(), copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(copy, 0755), 0);
    assert_int_equal(apart(look_into_it, copy), 0);
    unlink(copy);
    rmdir(folder);
}

int main(void)
{
    return sodium_init() < 0 ? 1 : check_run();
}
