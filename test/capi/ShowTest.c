/* What plans say of themselves, without runtime and compiler. gantry-capi-show-test FOLDER     with
 * hello.gantry and counter.gantry, as gantry-make-test-plans makes them */
#include "gantry-c/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(const char *what, const char *got, const char *expected) {
  if (got && strcmp(got, expected) == 0)
    return;
  fprintf(stderr, "%s is\n%s\nnot\n%s\n(last error: '%s')\n", what, got ? got : "(null)", expected,
          gantry_show_last_error());
  ++failures;
}

static void expect_part(const char *what, const char *got, const char *part) {
  if (got && strstr(got, part))
    return;
  fprintf(stderr, "%s is\n%s\nwithout\n%s\n", what, got ? got : "(null)", part);
  ++failures;
}

static gantry_plan_view_t *open_view(const char *folder, const char *name) {
  char path[4000];
  gantry_plan_view_t *view = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (gantry_plan_view_open(path, &view) != GANTRY_OK) {
    fprintf(stderr, "%s\n", gantry_show_last_error());
    exit(1);
  }
  return view;
}

static gantry_text_t *shown(const gantry_plan_view_t *view, gantry_show_t what, gantry_form_t form,
                            const gantry_show_options_t *options) {
  gantry_text_t *text = NULL;
  if (gantry_plan_view_show(view, what, form, options, &text) != GANTRY_OK ||
      strlen(gantry_text_string(text)) != gantry_text_size(text))
    ++failures;
  return text;
}

static void expect_shown(const gantry_plan_view_t *view, const char *function, gantry_show_t what,
                         gantry_form_t form, const char *expected) {
  gantry_show_options_t options = {.struct_size = sizeof options, .function = function};
  gantry_text_t *text = shown(view, what, form, function ? &options : NULL);
  expect("what is shown", gantry_text_string(text), expected);
  gantry_text_destroy(text);
}

static void expect_in(const gantry_plan_view_t *view, gantry_show_options_t options,
                      gantry_show_t what, gantry_form_t form, const char *part) {
  options.struct_size = sizeof options;
  gantry_text_t *text = shown(view, what, form, &options);
  expect_part("what is shown", gantry_text_string(text), part);
  gantry_text_destroy(text);
}

static void expect_refused(gantry_status_t got, gantry_status_t status, const char *message) {
  if (got != status)
    ++failures;
  expect("the message", gantry_show_last_error(), message);
}

static void test_showing(const gantry_plan_view_t *view) {
  expect_shown(view, NULL, GANTRY_SHOW_LOG, GANTRY_FORM_TEXT,
               "placed 0 ops; 0 fall-backs; 0 copies per run, 0 bytes; 0 at load\n");
  expect_shown(view, "main", GANTRY_SHOW_LOG, GANTRY_FORM_JSON, "");
  expect_shown(view, NULL, GANTRY_SHOW_COPIES, GANTRY_FORM_TEXT, "");
  expect_shown(view, NULL, GANTRY_SHOW_MEMORY, GANTRY_FORM_TEXT,
               "CPU:0: constants 64 bytes, variables 0 bytes, transient 64 bytes\n");
  expect_shown(view, NULL, GANTRY_SHOW_MEMORY, GANTRY_FORM_JSON,
               "[{\"device\":\"/job:localhost/replica:0/task:0/"
               "device:CPU:0\",\"driver\":\"host\",\"constants\":64,\"variables\":0,\"transient\":"
               "64,\"lower_bound\":0,\"limit\":0}]");
}

static void test_explaining(const gantry_plan_view_t *view) {
  const gantry_show_options_t plain = {0}, memory = {.memory = 1}, all = {.all = 1, .width = 7};
  expect_in(view, plain, GANTRY_SHOW_EXPLAIN, GANTRY_FORM_TEXT, "\nfunction main\n");
  expect_in(view, memory, GANTRY_SHOW_EXPLAIN, GANTRY_FORM_TEXT, "n sessions of the plan take");
  expect_in(view, all, GANTRY_SHOW_EXPLAIN, GANTRY_FORM_TEXT, "\n2 kernels, 2 launches for ");
  expect_in(view, plain, GANTRY_SHOW_EXPLAIN, GANTRY_FORM_JSON,
            "\"functions\":[{\"name\":\"main\"");
  expect_in(view, memory, GANTRY_SHOW_EXPLAIN, GANTRY_FORM_JSON, "\"values\":[");
  expect_in(view, plain, GANTRY_SHOW_TIMELINE, GANTRY_FORM_TEXT, "CPU:0 compute");
  expect_in(view, plain, GANTRY_SHOW_TIMELINE, GANTRY_FORM_JSON,
            "[{\"function\":\"main\",\"device\":");
  expect_in(view, plain, GANTRY_SHOW_REPORT, GANTRY_FORM_TEXT, "<!doctype html>");
  expect_in(view, plain, GANTRY_SHOW_REPORT, GANTRY_FORM_JSON, "\"arenas\":[");
}

/* A run that is given is told in the place of the predicted one. */
static void test_moments(const gantry_plan_view_t *view) {
  const gantry_moment_t run[] = {{0, 0, 0, 1}, {0, 1, 1, 4}},
                        nowhere[] = {{0, 0, 0, 1}, {0, 99, 1, 4}};
  const gantry_show_options_t given = {.moments = run, .num_moments = 2};
  const gantry_show_options_t wrong = {
      .struct_size = sizeof wrong, .moments = nowhere, .num_moments = 2};
  expect_in(view, given, GANTRY_SHOW_TIMELINE, GANTRY_FORM_TEXT, "                 4 s");
  expect_in(view, given, GANTRY_SHOW_TIMELINE, GANTRY_FORM_JSON, "\"start\":1,\"end\":4}]");
  gantry_text_t *text = NULL;
  expect_refused(
      gantry_plan_view_show(view, GANTRY_SHOW_TIMELINE, GANTRY_FORM_TEXT, &wrong, &text),
      GANTRY_INVALID_ARGUMENT,
      "there is no command number 99 of a function number 0, of which a moment is given");
}

static void test_refusals(const gantry_plan_view_t *view) {
  gantry_text_t *text = (gantry_text_t *)&failures;
  gantry_plan_view_t *none = (gantry_plan_view_t *)&failures;
  const gantry_show_options_t other = {.struct_size = sizeof other, .function = "other"};
  const gantry_show_options_t op = {.struct_size = sizeof op, .op = "MatMul"};
  const gantry_show_options_t unset = {0};
  expect_refused(gantry_plan_view_show(view, GANTRY_SHOW_LOG, GANTRY_FORM_TEXT, &other, &text),
                 GANTRY_NOT_FOUND, "no function is called 'other'; the functions are main");
  expect_refused(gantry_plan_view_show(view, GANTRY_SHOW_EXPLAIN, GANTRY_FORM_TEXT, &op, &text),
                 GANTRY_NOT_FOUND, "op 'MatMul' describes no op");
  expect_refused(gantry_plan_view_show(view, GANTRY_SHOW_LOG, GANTRY_FORM_TEXT, &unset, &text),
                 GANTRY_INVALID_ARGUMENT, "gantry_show_options_t: struct_size is not set");
  expect_refused(gantry_plan_view_show(view, (gantry_show_t)7, GANTRY_FORM_TEXT, NULL, &text),
                 GANTRY_INVALID_ARGUMENT,
                 "gantry_plan_view_show: there is no gantry_show_t 7 or no gantry_form_t 0");
  expect_refused(gantry_plan_view_show(NULL, GANTRY_SHOW_LOG, GANTRY_FORM_TEXT, NULL, &text),
                 GANTRY_INVALID_ARGUMENT, "gantry_plan_view_show: an argument is a null pointer");
  expect_refused(gantry_plan_view_open("/nowhere/a.gantry", &none), GANTRY_NOT_FOUND,
                 "cannot open '/nowhere/a.gantry': no such file or folder");
  if (text || none || gantry_text_string(NULL) || gantry_text_size(NULL))
    ++failures;
}

static void test_diff(const gantry_plan_view_t *a, const gantry_plan_view_t *b) {
  gantry_text_t *same = NULL, *other = NULL, *said = NULL;
  if (gantry_plan_view_diff(a, a, GANTRY_FORM_JSON, NULL, &same) != GANTRY_OK ||
      gantry_plan_view_diff(a, b, GANTRY_FORM_JSON, NULL, &other) != GANTRY_OK ||
      gantry_plan_view_diff(a, a, GANTRY_FORM_TEXT, NULL, &said) != GANTRY_OK)
    ++failures;
  expect_part("the diff", gantry_text_string(same), "{\"same\":true,");
  expect_part("the diff", gantry_text_string(other), "{\"same\":false,");
  expect("the diff", gantry_text_string(said), "same placement, copies, memory and prediction\n");
  gantry_text_destroy(same);
  gantry_text_destroy(other);
  gantry_text_destroy(said);
}

/* Bytes of any alignment do: here of a file, one byte behind where malloc puts them. */
static void test_bytes(const char *folder) {
  char path[4000];
  snprintf(path, sizeof path, "%s/hello.gantry", folder);
  FILE *file = fopen(path, "rb");
  static char bytes[1 << 20];
  const size_t size = file ? fread(bytes + 1, 1, sizeof bytes - 1, file) : 0;
  if (file)
    fclose(file);
  gantry_plan_view_t *view = NULL;
  if (gantry_plan_view_of(bytes + 1, size, &view) != GANTRY_OK)
    expect("the error", gantry_show_last_error(), "none");
  memset(bytes, 0, sizeof bytes);
  test_showing(view);
  gantry_plan_view_destroy(view);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  gantry_plan_view_t *hello = open_view(argv[1], "hello.gantry");
  gantry_plan_view_t *counter = open_view(argv[1], "counter.gantry");
  test_showing(hello);
  test_explaining(hello);
  test_moments(hello);
  test_refusals(hello);
  test_diff(hello, counter);
  test_bytes(argv[1]);
  gantry_plan_view_destroy(hello);
  gantry_plan_view_destroy(counter);
  if (failures == 0)
    printf("plans say what they should\n");
  return failures != 0;
}
