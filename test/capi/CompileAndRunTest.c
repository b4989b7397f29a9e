/* Both halves of the API in one program, as an application uses them: a graph is compiled in
 * memory, the artifact becomes a plan without a copy, and the plan runs. gantry-capi-compile-test
 * GRAPH FOLDER     the graph: y = relu(x @ w), z = y + y; a scratch folder */
#include "gantry-c/compiler.h"
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: not true: %s (last errors: '%s', '%s')\n", __FILE__, __LINE__,       \
              #condition, gantry_last_error(), gantry_compiler_last_error());                      \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)
#define NEED(condition)                                                                            \
  do {                                                                                             \
    int before = failures;                                                                         \
    EXPECT(condition);                                                                             \
    if (failures != before)                                                                        \
      exit(1);                                                                                     \
  } while (0)

/* Counts the compiler's lines by severity and keeps the last error. */
struct log {
  int lines[5];
  char error[1024];
};

static void receive(void *context, gantry_severity_t severity, const char *text) {
  struct log *log = context;
  ++log->lines[severity];
  if (severity == GANTRY_SEVERITY_ERROR)
    snprintf(log->error, sizeof log->error, "%s", text);
}

static int released;
static void release(void *artifact) {
  ++released;
  gantry_artifact_destroy(artifact);
}

/* x = 0 1 2 / 3 4 5, w of the graph: 1 -1 / 0 2 / -1 1. */
static void run(gantry_plan_t *plan) {
  static const float x[] = {0, 1, 2, 3, 4, 5};
  static const int64_t dims[] = {2, 3};
  static const float expected[] = {0, 8, 0, 20};
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  const void *z = NULL;
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  NEED(gantry_bindings_set_input(bindings, "x", x, GANTRY_F32, dims, 2) == GANTRY_OK);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  NEED(gantry_bindings_output(bindings, "z", &z) == GANTRY_OK);
  EXPECT(memcmp(z, expected, sizeof expected) == 0);
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
}

static void test_through_memory(gantry_runtime_t *runtime, const char *graph) {
  struct log log = {{0}, ""};
  gantry_artifact_t *artifact = NULL;
  gantry_plan_t *plan = NULL;
  size_t size = 0;
  NEED(gantry_compile(graph, NULL, 0, receive, &log, &artifact) == GANTRY_OK);
  EXPECT(log.lines[GANTRY_SEVERITY_PROGRESS] > 0 && log.lines[GANTRY_SEVERITY_ERROR] == 0);
  const void *data = gantry_artifact_data(artifact, &size);
  NEED(data != NULL && size > 0);
  NEED(gantry_plan_load_memory(runtime, data, size, release, artifact, &plan) == GANTRY_OK);
  EXPECT(released == 0);
  run(plan);
  gantry_plan_destroy(plan);
  EXPECT(released == 1); /* the plan was the artifact's owner */
}

static void test_through_a_file(gantry_runtime_t *runtime, const char *graph, const char *folder) {
  char path[4000], flag[4096];
  snprintf(path, sizeof path, "%s/compiled.gantry", folder);
  snprintf(flag, sizeof flag, "write-to=%s", path);
  const char *flags[] = {flag};
  gantry_artifact_t *artifact = NULL;
  gantry_plan_t *plan = NULL;
  size_t size = 1;
  NEED(gantry_compile(graph, flags, 1, NULL, NULL, &artifact) == GANTRY_OK);
  gantry_artifact_data(artifact, &size);
  EXPECT(size == 0);
  gantry_artifact_destroy(artifact);
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  run(plan);
  gantry_plan_destroy(plan);
  remove(path);
}

static void test_text(const char *graph) {
  const char *flags[] = {"stop-after=import"};
  gantry_artifact_t *artifact = NULL;
  size_t size = 0;
  NEED(gantry_compile(graph, flags, 1, NULL, NULL, &artifact) == GANTRY_OK);
  const char *text = gantry_artifact_data(artifact, &size);
  EXPECT(size > 20 && memcmp(text, "module", 6) == 0 && text[size - 1] == '\n');
  gantry_artifact_destroy(artifact);
}

static void test_failures(const char *graph) {
  struct log log = {{0}, ""};
  gantry_artifact_t *artifact = NULL;
  const char *unknown[] = {"colour=blue"}, *value[] = {"value=x=none.npy"};
  EXPECT(gantry_compile(graph, unknown, 1, receive, &log, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strstr(gantry_compiler_last_error(), "unknown compile flag 'colour'") != NULL);
  EXPECT(gantry_compile(graph, value, 1, receive, &log, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(log.error, "--value x: cannot open 'none.npy': no such file or folder") == 0);
  EXPECT(strcmp(log.error, gantry_compiler_last_error()) == 0);
  EXPECT(gantry_compile("none.mlir", NULL, 0, receive, &log, &artifact) != GANTRY_OK);
  EXPECT(strstr(log.error, "none.mlir") != NULL);
  EXPECT(gantry_compile(graph, NULL, 0, NULL, NULL, NULL) == GANTRY_INVALID_ARGUMENT);
  EXPECT(artifact == NULL);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s GRAPH FOLDER\n", argv[0]);
    return 2;
  }
  gantry_runtime_t *runtime = NULL;
  EXPECT(strcmp(gantry_compiler_version(), gantry_runtime_version()) == 0);
  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  test_through_memory(runtime, argv[1]);
  test_through_a_file(runtime, argv[1], argv[2]);
  test_text(argv[1]);
  test_failures(argv[1]);
  gantry_runtime_destroy(runtime);
  if (failures == 0)
    printf("passed\n");
  return failures != 0;
}
