/* Prints the table of options as docker/options.md. Knows no option and no command by name. */
#include "commands.h"

#include <inttypes.h>

#include "base/mem.h"
#include "options.h"

/* Texts are written for lines of a terminal: a page breaks its own lines. */
static void print_text(const char *text, FILE *to)
{
    for (; *text != '\0'; text++)
        if (*text == '\n') {
            while (text[1] == ' ')
                text++;
            putc(' ', to);
        } else {
            putc(*text, to);
        }
}

/* What the help text leaves to the other columns of the table. */
static void print_bounds(const struct config_option *option, FILE *to)
{
    if (option->kind == CONFIG_NUMBER)
        fprintf(to, ". %" PRIu64 " to %" PRIu64, option->min, option->max);
    else if (option->kind == CONFIG_DURATION)
        fprintf(to, ". %g to %g, or as 600ms", (double)option->min / 1000, (double)option->max / 1000);
    else if (option->kind == CONFIG_SWITCH)
        fputs(". on or off", to);
    if (!config_has_flag(option))
        fputs(". Environment only", to);
}

static void print_row(const struct option_row *row, FILE *to)
{
    const struct config_option *option = &row->option;
    AUTO_FREE char *flag = config_flag(option->name);
    fprintf(to, "| `%s%s`", config_is_flag_only(option) ? "--" : "",
        config_is_flag_only(option) ? flag : option->name);
    fprintf(to, " | %s | ", option->fallback != NULL ? option->fallback : "");
    print_text(option->help, to);
    print_bounds(option, to);
    fputs(" |", to);
    for (size_t i = 0, named = 0; i < command_count; i++)
        if ((commands[i].options & row->readers) != 0)
            fprintf(to, "%s%s", named++ == 0 ? " " : ", ", commands[i].name);
    fputs(" |\n", to);
}

void pages_print_markdown(FILE *to)
{
    fputs("# Options\n\n"
          "`fairway --help=markdown` prints this page. An option is an environment variable and a flag of "
          "the same\n"
          "name (`MAX_FEE`, `--max-fee`), which overrides the variable. One that says \"Environment only\" "
          "has no flag,\n"
          "because every user of the machine can read a command line; with `_FILE` after its name (unless it "
          "ends so), it\n"
          "names a file that has the value. The last column has the commands that read the option.\n",
        to);
    for (size_t i = 0; i < option_row_count; i++)
        if (option_rows[i].option.name == NULL)
            fprintf(to, "\n## %s\n\n| option | default | meaning | commands |\n| --- | --- | --- | --- |\n",
                option_rows[i].option.help);
        else
            print_row(&option_rows[i], to);
}
