/* Reads options by a table of the program, and checks the form of each, never what they mean together. */
#include "base/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/secret_file.h"
#include "base/text.h"

#define URL_MAX 4096 /* bytes */

struct config {
    const struct config_option *options;
    size_t option_count;
    char **values; /* one for each option; NULL: not given */
    char **arguments;
    size_t argument_count;
    bool help;
};

/* database-url of DATABASE_URL; the caller frees it. */
static char *config_flag(const char *name)
{
    char *flag = mem_copy_text(name);
    for (char *at = flag; *at != '\0'; at++)
        *at = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
    return flag;
}

static void set(struct config *config, size_t option, const char *value)
{
    free(config->values[option]);
    config->values[option] = mem_copy_text(value);
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool config_is_flag_only(const struct config_option *option)
{
    return option->kind == CONFIG_FLAG || option->kind == CONFIG_FLAG_SWITCH;
}

/* Reads NAME_FILE, if it is set. */
static enum err read_url_file(struct config *config, size_t option, struct detail *detail)
{
    const char *name = config->options[option].name;
    AUTO_FREE char *file = mem_format("%s_FILE", name);
    const char *path = environment(file);
    if (path == NULL)
        return ERR_OK;
    if (environment(name) != NULL)
        return detail_set(detail, ERR_CONFIG, "give %s or %s, not both", name, file);
    return secret_file_read(file, path, URL_MAX, &config->values[option], detail);
}

static enum err read_environment(struct config *config, struct detail *detail)
{
    for (size_t i = 0; i < config->option_count; i++) {
        const struct config_option *option = &config->options[i];
        if (option->kind == CONFIG_SECRET || config_is_flag_only(option))
            continue;
        enum err e = option->kind == CONFIG_URL ? read_url_file(config, i, detail) : ERR_OK;
        if (e != ERR_OK)
            return e;
        const char *value = environment(option->name);
        if (value != NULL)
            set(config, i, value);
    }
    return ERR_OK;
}

static bool config_has_flag(const struct config_option *option)
{
    return option->kind != CONFIG_SECRET && option->kind != CONFIG_URL;
}

/* Returns the option that a flag names (without dashes, up to '='), or option_count. */
static size_t find_flag(const struct config *config, const char *text, size_t len)
{
    for (size_t i = 0; i < config->option_count; i++) {
        AUTO_FREE char *flag = config_flag(config->options[i].name);
        if (strlen(flag) == len && memcmp(flag, text, len) == 0)
            return i;
    }
    return config->option_count;
}

static enum err read_flags(struct config *config, int argc, char **argv, struct detail *detail)
{
    bool flags = true;
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        if (!flags || text[0] != '-' || text[1] == '\0') {
            config->arguments[config->argument_count++] = mem_copy_text(text);
            continue;
        }
        if (text_equal(text, "--")) {
            flags = false;
            continue;
        }
        if (text_equal(text, "--help") || text_equal(text, "-h")) {
            config->help = true;
            continue;
        }
        const char *name = text + (text[1] == '-' ? 2 : 1), *equals = strchr(name, '=');
        size_t option = find_flag(config, name, equals != NULL ? (size_t)(equals - name) : strlen(name));
        if (text[1] == '-' && option < config->option_count && !config_has_flag(&config->options[option]))
            return detail_set(detail, ERR_CONFIG,
                "%s is no flag, because every user of this machine can read a command line: set it in the"
                " environment (see --help)",
                config->options[option].name);
        if (text[1] != '-' || option == config->option_count)
            return detail_set(detail, ERR_CONFIG, "unknown option %.*s (see --help)",
                (int)(equals != NULL ? equals - text : (long)strlen(text)), text);
        if (equals == NULL && config->options[option].kind == CONFIG_FLAG_SWITCH) {
            set(config, option, "on");
            continue;
        }
        if (equals == NULL && i + 1 == argc)
            return detail_set(detail, ERR_CONFIG, "%s needs a value", text);
        set(config, option, equals != NULL ? equals + 1 : argv[++i]);
    }
    return ERR_OK;
}

static bool parse_switch(const char *text, bool *on)
{
    static const char *const words[][2] = {{"off", "on"}, {"no", "yes"}, {"false", "true"}, {"0", "1"}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        for (int value = 0; value <= 1; value++)
            if (strcasecmp(text, words[i][value]) == 0) {
                *on = value == 1;
                return true;
            }
    return false;
}

static bool digit(const char **at, uint64_t *out)
{
    if (**at < '0' || **at > '9')
        return false;
    *out = (uint64_t)(*(*at)++ - '0');
    return true;
}

/* Three decimals are whole milliseconds. */
static bool parse_duration(const char *text, uint64_t max_ms, uint64_t *ms)
{
    const char *at = text;
    uint64_t value = 0, next;
    while (value <= max_ms && digit(&at, &next))
        value = 10 * value + next;
    const bool in_ms = at != text && text_equal(at, "ms"), has_decimals = at != text && *at == '.';
    if (!in_ms)
        value *= 1000;
    at += in_ms ? 2 : has_decimals;
    for (uint64_t unit = 100; has_decimals && unit > 0 && digit(&at, &next); unit /= 10)
        value += unit * next;
    *ms = value;
    return at != text && *at == '\0' && at[-1] != '.' && value <= max_ms;
}

static enum err check_value(const struct config_option *option, const char *value, struct detail *detail)
{
    bool on;
    uint64_t number;
    if ((option->kind == CONFIG_SWITCH || option->kind == CONFIG_FLAG_SWITCH) && !parse_switch(value, &on))
        return detail_set(detail, ERR_CONFIG, "%s must be on or off, not \"%.40s\"", option->name, value);
    if (option->kind == CONFIG_NUMBER &&
        (text_to_u64(value, option->max, &number) != ERR_OK || number < option->min))
        return detail_set(detail, ERR_CONFIG, "%s must be a whole number from %llu to %llu, not \"%.40s\"",
            option->name, (unsigned long long)option->min, (unsigned long long)option->max, value);
    if (option->kind == CONFIG_DURATION &&
        (!parse_duration(value, option->max, &number) || number < option->min))
        return detail_set(detail, ERR_CONFIG,
            "%s must be from %g to %g seconds, or in milliseconds (600ms), not \"%.40s\"", option->name,
            (double)option->min / 1000, (double)option->max / 1000, value);
    return ERR_OK;
}

enum err config_load(const struct config_option options[], size_t option_count, int argc, char **argv,
    struct config **out, struct detail *detail)
{
    struct config *config = NEW(struct config);
    config->options = options;
    config->option_count = option_count;
    config->values = NEW_ARRAY(option_count, char *);
    config->arguments = NEW_ARRAY((size_t)argc, char *);
    enum err e = read_environment(config, detail);
    if (e == ERR_OK)
        e = read_flags(config, argc, argv, detail);
    for (size_t i = 0; e == ERR_OK && !config->help && i < option_count; i++)
        if (config->values[i] != NULL)
            e = check_value(&options[i], config->values[i], detail);
    if (e != ERR_OK) {
        config_free(config);
        return e;
    }
    *out = config;
    return ERR_OK;
}

void config_free(struct config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < config->option_count; i++)
        free(config->values[i]);
    for (size_t i = 0; i < config->argument_count; i++)
        free(config->arguments[i]);
    free(config->values);
    free(config->arguments);
    free(config);
}

/* option_count: it is not in the table, or a secret */
static size_t position(const struct config *config, const char *name)
{
    size_t i = 0;
    while (i < config->option_count &&
           (!text_equal(config->options[i].name, name) || config->options[i].kind == CONFIG_SECRET))
        i++;
    return i;
}

bool config_knows(const struct config *config, const char *name)
{
    return position(config, name) < config->option_count;
}

static size_t find(const struct config *config, const char *name)
{
    const size_t i = position(config, name);
    INVARIANT(i < config->option_count);
    return i;
}

const char *config_text(const struct config *config, const char *name)
{
    size_t i = find(config, name);
    return config->values[i] != NULL ? config->values[i] : config->options[i].fallback;
}

uint64_t config_number(const struct config *config, const char *name)
{
    uint64_t value;
    INVARIANT(text_to_u64(config_text(config, name), UINT64_MAX, &value) == ERR_OK);
    return value;
}

uint64_t config_ms(const struct config *config, const char *name)
{
    uint64_t ms;
    INVARIANT(parse_duration(config_text(config, name), UINT64_MAX / 10000, &ms));
    return ms;
}

bool config_is_on(const struct config *config, const char *name)
{
    bool on = false;
    const char *text = config_text(config, name);
    INVARIANT(text == NULL || parse_switch(text, &on));
    return on;
}

bool config_is_given(const struct config *config, const char *name)
{
    return config->values[find(config, name)] != NULL;
}

static bool has_variable(const struct config_option *option)
{
    return option->name != NULL && !config_is_flag_only(option);
}

static bool one_edit_apart(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    if (*a == '\0' || *b == '\0')
        return strlen(a) + strlen(b) == 1;
    return text_equal(a + 1, b) || text_equal(a, b + 1) || text_equal(a + 1, b + 1) ||
           (a[0] == b[1] && a[1] == b[0] && text_equal(a + 2, b + 2));
}

const char *config_likely(const struct config_option options[], size_t option_count, const char *variable)
{
    const size_t whole = strlen(variable), len = text_ends(variable, "_FILE") ? whole - 5 : whole;
    AUTO_FREE char *name = mem_format("%.*s", (int)len, variable);
    for (size_t i = 0; i < option_count; i++)
        if (has_variable(&options[i]) &&
            (text_equal(options[i].name, variable) ||
                (!config_has_flag(&options[i]) && text_equal(options[i].name, name))))
            return NULL;
    for (size_t i = 0; i < option_count; i++) {
        const char *option = options[i].name;
        if (!has_variable(&options[i]) || strlen(option) < 6)
            continue;
        if (one_edit_apart(option, variable) ||
            (!config_has_flag(&options[i]) && one_edit_apart(option, name)))
            return option;
    }
    return NULL;
}

char *config_changes(const struct config *config)
{
    struct buf out = {0};
    for (size_t i = 0; i < config->option_count; i++) {
        const struct config_option *option = &config->options[i];
        const char *value = config->values[i];
        if (option->kind == CONFIG_SECRET || value == NULL || text_equal(value, option->fallback))
            continue;
        AUTO_FREE char *pair = mem_format(
            "%s%s=%s", out.len > 0 ? " " : "", option->name, option->kind == CONFIG_URL ? "(set)" : value);
        buf_add(&out, pair, strlen(pair));
    }
    buf_add(&out, "", 1);
    return (char *)out.data;
}

bool config_wants_help(const struct config *config)
{
    return config->help;
}

size_t config_argument_count(const struct config *config)
{
    return config->argument_count;
}

const char *config_argument(const struct config *config, size_t i)
{
    return i < config->argument_count ? config->arguments[i] : NULL;
}

static void print_bounds(const struct config_option *option, FILE *to)
{
    if (option->kind == CONFIG_NUMBER)
        fprintf(to, "; %" PRIu64 " to %" PRIu64, option->min, option->max);
    else if (option->kind == CONFIG_DURATION)
        fprintf(to, "; %g to %g, or as 600ms", (double)option->min / 1000, (double)option->max / 1000);
    if (option->fallback != NULL)
        fprintf(to, " [%s]", option->fallback);
    putc('\n', to);
}

void config_print(const struct config_option options[], size_t option_count, FILE *to)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct config_option *option = &options[i];
        AUTO_FREE char *flag = config_flag(option->name);
        const bool is_file = text_ends(option->name, "_FILE");
        if (!config_has_flag(option))
            fprintf(to, "  %s%s%s%s (environment only)\n      %s\n", option->name, is_file ? "" : ", ",
                is_file ? "" : option->name, is_file ? "" : "_FILE", option->help);
        else if (config_is_flag_only(option))
            fprintf(to, "  --%s\n      %s\n", flag, option->help);
        else {
            fprintf(to, "  --%s, %s\n      %s", flag, option->name, option->help);
            print_bounds(option, to);
        }
    }
}
