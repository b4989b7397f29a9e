/* What plans say of themselves, without a compiler. gantry-capi-show-test FOLDER     with
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
          gantry_last_error());
  ++failures;
}

static gantry_plan_t *load(gantry_runtime_t *runtime, const char *folder, const char *name) {
  char path[4000];
  gantry_plan_t *plan = NULL;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (gantry_plan_load(runtime, path, &plan) != GANTRY_OK) {
    fprintf(stderr, "%s\n", gantry_last_error());
    exit(1);
  }
  return plan;
}

static void expect_shown(const gantry_plan_t *plan, const char *function, gantry_show_t what,
                         gantry_form_t form, const char *expected) {
  gantry_text_t *text = NULL;
  if (gantry_plan_show(plan, function, what, form, &text) != GANTRY_OK)
    ++failures;
  expect("what is shown", gantry_text_string(text), expected);
  gantry_text_destroy(text);
}

static void expect_refused(gantry_status_t got, gantry_status_t status, const char *message) {
  if (got != status)
    ++failures;
  expect("the message", gantry_last_error(), message);
}

static void test_showing(const gantry_plan_t *plan) {
  expect_shown(plan, NULL, GANTRY_SHOW_LOG, GANTRY_FORM_TEXT,
               "placed 0 ops; 0 fall-backs; 0 copies per run, 0 bytes; 0 at load\n");
  expect_shown(plan, "main", GANTRY_SHOW_LOG, GANTRY_FORM_JSON, "");
  expect_shown(plan, NULL, GANTRY_SHOW_COPIES, GANTRY_FORM_TEXT, "");
  expect_shown(plan, NULL, GANTRY_SHOW_MEMORY, GANTRY_FORM_TEXT,
               "CPU:0: constants 64 bytes, variables 0 bytes, transient 64 bytes\n");
  expect_shown(plan, NULL, GANTRY_SHOW_MEMORY, GANTRY_FORM_JSON,
               "[{\"device\":\"/job:localhost/replica:0/task:0/"
               "device:CPU:0\",\"driver\":\"host\",\"constants\":64,\"variables\":0,\"transient\":"
               "64,\"lower_bound\":0,\"limit\":0}]");
}

static void test_refusals(const gantry_plan_t *plan) {
  gantry_text_t *text = (gantry_text_t *)&failures;
  expect_refused(gantry_plan_show(plan, "other", GANTRY_SHOW_LOG, GANTRY_FORM_TEXT, &text),
                 GANTRY_NOT_FOUND, "there is no function 'other'; the functions are 'main'");
  expect_refused(gantry_plan_show(plan, NULL, (gantry_show_t)7, GANTRY_FORM_TEXT, &text),
                 GANTRY_INVALID_ARGUMENT,
                 "gantry_plan_show: there is no gantry_show_t 7 or no gantry_form_t 0");
  expect_refused(gantry_plan_show(NULL, NULL, GANTRY_SHOW_LOG, GANTRY_FORM_TEXT, &text),
                 GANTRY_INVALID_ARGUMENT, "gantry_plan_show: an argument is a null pointer");
  if (text || gantry_text_string(NULL))
    ++failures;
}

static void test_diff(const gantry_plan_t *a, const gantry_plan_t *b) {
  gantry_text_t *same = NULL, *other = NULL;
  if (gantry_plan_diff(a, a, &same) != GANTRY_OK || gantry_plan_diff(a, b, &other) != GANTRY_OK)
    ++failures;
  if (strncmp(gantry_text_string(same), "{\"same\":true,", 13) != 0)
    expect("the diff", gantry_text_string(same), "{\"same\":true,...");
  if (strncmp(gantry_text_string(other), "{\"same\":false,", 14) != 0)
    expect("the diff", gantry_text_string(other), "{\"same\":false,...");
  gantry_text_destroy(same);
  gantry_text_destroy(other);
}

int main(int argc, char **argv) {
  gantry_runtime_t *runtime = NULL;
  if (argc != 2 || gantry_runtime_create(NULL, &runtime) != GANTRY_OK)
    return 2;
  gantry_plan_t *hello = load(runtime, argv[1], "hello.gantry");
  gantry_plan_t *counter = load(runtime, argv[1], "counter.gantry");
  test_showing(hello);
  test_refusals(hello);
  test_diff(hello, counter);
  gantry_plan_destroy(hello);
  gantry_plan_destroy(counter);
  gantry_runtime_destroy(runtime);
  if (failures == 0)
    printf("plans say what they should\n");
  return failures != 0;
}
