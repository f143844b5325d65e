/* What help and docs/methods.md print of every method and estimator: that it is all there, in the
 * form that they rely on, and that it speaks of every option. */
#include "testing.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "methods/list.h"

enum { WIDTH = 80, INDENT = 4, SUMMARY_MAX = 80 };

typedef void check(const char *kind, const gn_method *m);

static void for_all(check *look)
{
    for (size_t i = 0; gn_methods[i]; i++)
        look("method", gn_methods[i]);
    for (size_t i = 0; gn_estimators[i]; i++)
        look("estimator", gn_estimators[i]);
}

#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("%s '%s': ", kind, m->name);                                               \
            print_error(__VA_ARGS__);                                                              \
            print_error("\n");                                                                     \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

static bool has_year(const char *text)
{
    for (; *text; text++)
        if (strspn(text, "0123456789") == 4 && (text[0] == '1' || text[0] == '2'))
            return true;
    return false;
}

static void check_lines(const char *kind, const gn_method *m)
{
    REQUIRE(m->paper && has_year(m->paper), "its paper has no year");
    REQUIRE(m->title && m->title[0], "its paper has no title");
    REQUIRE(m->summary && islower((unsigned char)m->summary[0]),
            "its summary is no line of a list");
    size_t length = strlen(m->summary);
    REQUIRE(length <= SUMMARY_MAX && m->summary[length - 1] != '.', "its summary: '%s'",
            m->summary);
}

static void every_line_of_the_list_is_complete(void **state)
{
    (void)state;
    for_all(check_lines);
}

/* Prose is a line that ends a sentence; formulas are indented, and no wider than a terminal;
 * between the two there are empty lines. */
static void check_form(const char *kind, const gn_method *m)
{
    bool was_formula = false, was_empty = true;
    int formulas = 0;
    REQUIRE(m->description && m->description[0], "it has no description");
    for (const char *line = m->description; *line;) {
        int length = (int)strcspn(line, "\n");
        bool formula = line[0] == ' ', empty = length == 0;
        for (int i = 0; i < length; i++)
            REQUIRE(isprint((unsigned char)line[i]), "character %d of '%.*s'", line[i], length,
                    line);
        if (formula)
            REQUIRE(length > INDENT && length <= WIDTH && strspn(line, " ") >= INDENT,
                    "formula '%.*s'", length, line);
        else if (!empty)
            REQUIRE(strchr(".:", line[length - 1]), "no sentence ends '%.*s'", length, line);
        REQUIRE(!empty || !was_empty, "two empty lines");
        REQUIRE(empty || was_empty || (formula && was_formula), "no empty line before '%.*s'",
                length, line);
        formulas += formula;
        was_formula = formula;
        was_empty = empty;
        line += length + (line[length] == '\n');
    }
    REQUIRE(!was_empty, "it ends in an empty line");
    REQUIRE(formulas > 0, "it has no formula");
}

static void descriptions_are_paragraphs_and_formulas(void **state)
{
    (void)state;
    for_all(check_form);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool says(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
            return true;
    return false;
}

/* The readings of a method that its variants stand for need words too. */
static void check_options(const char *kind, const gn_method *m)
{
    for (size_t i = 0; i < m->option_count; i++) {
        const gn_option *o = &m->options[i];
        char word[64];
        REQUIRE(says(m->description, o->name), "its description does not speak of %s", o->name);
        for (int w = 0;
             strcmp(o->name, "variant") == 0 && gn_choice_word(o->choices, w, word, 64)[0]; w++)
            REQUIRE(says(m->description, word), "its description does not speak of variant %s",
                    word);
    }
}

static void descriptions_speak_of_every_option(void **state)
{
    (void)state;
    for_all(check_options);
}

/* When to use it; and what becomes of a method that uses groups when there are no attributes. */
static void check_advice(const char *kind, const gn_method *m)
{
    REQUIRE(strstr(m->description, "se it "), "its description does not say when to use it");
    bool groups = strcmp(kind, "method") == 0 && m->attributes == GN_ATTRIBUTES_GROUPS;
    REQUIRE(!groups || strstr(m->description, "unknown attributes"),
            "its description does not say what it becomes when attributes are unknown");
    REQUIRE(strcmp(kind, "method") != 0 || groups || strstr(m->description, "ttributes are not") ||
                strstr(m->description, "no attributes"),
            "its description does not say that it uses no attributes");
}

static void descriptions_say_when_to_use_it(void **state)
{
    (void)state;
    for_all(check_advice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_the_list_is_complete),
        cmocka_unit_test(descriptions_are_paragraphs_and_formulas),
        cmocka_unit_test(descriptions_speak_of_every_option),
        cmocka_unit_test(descriptions_say_when_to_use_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
