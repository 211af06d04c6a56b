/*
 * Rules of keys/secrets.h. To test values from the environment, this program runs itself with the argument
 * "hide": it calls secrets_hide, executes itself again and prints what is left.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "keys/secrets.h"

#define PASSPHRASE "CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE"
#define DISTRIBUTION "DISTRIBUTION_ACCOUNT_PRIVATE_KEY"
#define NO_PIPE 9 /* an open descriptor of another kind, in the second program */
#define SECRET "correct-horse-battery-staple"

/* ---- the second program */

static void tell(const char *name, int fd)
{
    char value[256] = "-";
    if (fd >= 0) {
        ssize_t len = read(fd, value, sizeof value - 1);
        value[len < 0 ? 0 : len] = '\0';
        if ((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
            strcpy(value, "would be inherited");
    }
    printf("%s=%s\n", name, value);
}

static bool environment_has(const char *text)
{
    char environment[1 << 16];
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    ssize_t len = read(fd, environment, sizeof environment);
    close(fd);
    return len < 0 || memmem(environment, (size_t)len, text, strlen(text)) != NULL;
}

static int hide(char **argv)
{
    struct keyd_secrets secrets;
    struct detail detail = {0};
    char name[32] = "";
    if (secrets_hide(argv, &detail) != ERR_OK || secrets_open(&secrets, &detail) != ERR_OK) {
        printf("refused: %s\n", detail.text);
        return 0;
    }
    FILE *comm = fopen("/proc/self/comm", "re");
    if (comm == NULL || fgets(name, sizeof name, comm) == NULL)
        return 1;
    fclose(comm);
    printf("environment=%s\n", environment_has(SECRET) || getenv(PASSPHRASE) ? "has it" : "clean");
    printf("kept=%s arguments=%s name=%s", getenv("KEPT"), argv[2], name);
    tell("master", secrets.fd[SECRET_MASTER_KEY]);
    tell("passphrase", secrets.fd[SECRET_PASSPHRASE]);
    tell("distribution", secrets.fd[SECRET_DISTRIBUTION]);
    return 0;
}

/* Returns what the second program prints when this program is started with this environment. The caller frees
 * it. */
static char *hidden(const char *const environment[])
{
    int ends[2], status;
    struct buf said = {0};
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), NO_PIPE);
        execve(
            "/proc/self/exe", (char *[]){"test_secrets", "hide", "an argument", NULL}, (char **)environment);
        _exit(127);
    }
    close(ends[1]);
    uint8_t part[256];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
        buf_add(&said, part, (size_t)n);
    buf_add(&said, "", 1);
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return (char *)said.data;
}

static void expect(const char *const environment[], const char *expected)
{
    AUTO_FREE char *said = hidden(environment);
    if (strstr(said, expected) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", expected, said);
}

/* ---- values */

TEST(secret_values_are_removed_from_the_environment_and_still_read)
{
    const char *const environment[] = {"KEPT=1", PASSPHRASE "=" SECRET, DISTRIBUTION "=S" SECRET, NULL};
    expect(environment, "environment=clean\nkept=1 arguments=an argument name=test_secrets\n"
                        "master=-\npassphrase=" SECRET "\ndistribution=S" SECRET "\n");
}

TEST(without_secret_values_the_program_is_not_executed_again)
{
    const char *const environment[] = {"KEPT=1", PASSPHRASE "=", NULL};
    expect(environment, "master=-\npassphrase=-\ndistribution=-\n");
}

TEST(a_value_and_a_file_together_are_refused)
{
    const char *const environment[] = {PASSPHRASE "=" SECRET, PASSPHRASE "_FILE=/dev/null", NULL};
    expect(environment, "refused: give " PASSPHRASE " or " PASSPHRASE "_FILE, not both");
}

TEST(a_value_too_long_is_refused)
{
    AUTO_FREE char *value = NEW_ARRAY(8000, char);
    memset(value, 'x', 7999);
    memcpy(value, DISTRIBUTION "=", sizeof DISTRIBUTION);
    const char *const environment[] = {value, NULL};
    expect(environment, "refused: " DISTRIBUTION " is longer than");
}

TEST(descriptors_that_are_no_numbers_are_refused)
{
    static const char *const numbers[] = {"1", "", "a b"};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        AUTO_FREE char *variable = mem_format("FAIRWAY_SECRET_PIPES=%s", numbers[i]);
        const char *const environment[] = {variable, NULL};
        expect(environment, "refused: FAIRWAY_SECRET_PIPES is set by fairway only");
    }
}

/* ---- files */

static char path[] = "/tmp/fairway-secret-XXXXXX";

static enum err open_with(mode_t mode, uid_t owner, struct detail *detail)
{
    struct keyd_secrets secrets;
    assert_int_equal(chown(path, owner, (gid_t)-1), 0);
    assert_int_equal(chmod(path, mode), 0);
    enum err e = secrets_open(&secrets, detail);
    if (e == ERR_OK) {
        char value[8];
        assert_int_equal(read(secrets.fd[SECRET_MASTER_KEY], value, sizeof value), 3);
        assert_int_equal(secrets.fd[SECRET_PASSPHRASE], -1);
        close(secrets.fd[SECRET_MASTER_KEY]);
    }
    return e;
}

TEST(only_files_that_others_cannot_read_are_accepted)
{
    static const struct {
        mode_t mode;
        bool of_root, of_another;
    } modes[] = {{0400, true, true}, {0600, true, true}, {0440, true, false}, {0640, true, false},
        {0444, false, false}, {0404, false, false}, {0602, false, false}, {0601, false, false},
        {0420, false, false}, {0660, false, false}, {0410, false, false}, {0777, false, false}};
    const uid_t me = geteuid();
    setenv("MASTER_KEY_FILE", path, 1);
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        for (int root = 0; root < 2; root++) {
            struct detail detail = {0};
            if (me != 0 && root)
                continue; /* files of an ordinary user */
            bool fine = root ? modes[i].of_root : modes[i].of_another;
            enum err e = open_with(modes[i].mode, root ? 0 : me != 0 ? me : 65534, &detail);
            if (e != (fine ? ERR_OK : ERR_CONFIG) || (!fine && strstr(detail.text, "mode to 0400") == NULL))
                fail_msg("mode %o of %s: %s %s", modes[i].mode, root ? "root" : "another", err_code(e),
                    detail.text);
        }
    unsetenv("MASTER_KEY_FILE");
}

TEST(a_missing_file_is_named)
{
    struct keyd_secrets secrets;
    struct detail detail;
    setenv(DISTRIBUTION "_FILE", "/nonexistent/seed", 1);
    assert_int_equal(secrets_open(&secrets, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, DISTRIBUTION "_FILE"));
    assert_non_null(strstr(detail.text, "/nonexistent/seed"));
    unsetenv(DISTRIBUTION "_FILE");
}

/* An error with one closes the others. */
TEST(no_descriptor_stays_open_after_an_error)
{
    struct keyd_secrets secrets;
    struct detail detail;
    assert_int_equal(chmod(path, 0400), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    setenv("MASTER_KEY_FILE", path, 1);
    setenv(DISTRIBUTION "_FILE", "/nonexistent/seed", 1);
    assert_int_equal(secrets_open(&secrets, &detail), ERR_CONFIG);
    assert_int_equal(fcntl(next, F_GETFD), -1);
    unsetenv("MASTER_KEY_FILE");
    unsetenv(DISTRIBUTION "_FILE");
}

static int set_up(void **state)
{
    int fd = mkstemp(path);
    return fd >= 0 && write(fd, "key", 3) == 3 ? close(fd) : -1;
}

static int tear_down(void **state)
{
    return unlink(path);
}

GROUP_FIXTURE(set_up, tear_down)

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "hide") == 0 ? hide(argv) : check_run();
}
