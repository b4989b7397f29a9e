/* Both halves of the API in one program, as an application uses them: a graph is compiled in
 * memory, the artifact becomes a plan without a copy, and the plan runs. gantry-capi-compile-test
 * GRAPH FOLDER     the graph: y = relu(x @ w), z = y + y; a scratch folder */
#include "gantry-c/compiler.h"
#include "gantry-c/runtime.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILER_ERROR() gantry_compiler_last_error()
#include "Expect.h"

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

/* The request for a file, with up to one flag. */
static gantry_compile_request_t request_for(const char *file, const char *const *flag) {
  gantry_compile_request_t request = {.struct_size = sizeof request};
  request.file = file;
  request.flags = flag;
  request.num_flags = flag ? 1 : 0;
  return request;
}

/* With 1 for `scratch_above`, the artifact is a mapped file instead of memory. */
static void test_through_memory(gantry_runtime_t *runtime, const char *graph,
                                uint64_t scratch_above) {
  struct log log = {{0}, ""};
  gantry_compile_request_t request = request_for(graph, NULL);
  request.scratch_above = scratch_above;
  request.log = receive;
  request.log_context = &log;
  released = 0;
  gantry_artifact_t *artifact = NULL;
  gantry_plan_t *plan = NULL;
  size_t size = 0;
  NEED(gantry_compile(&request, &artifact) == GANTRY_OK);
  EXPECT(log.lines[GANTRY_SEVERITY_PROGRESS] > 0 && log.lines[GANTRY_SEVERITY_ERROR] == 0);
  const void *data = gantry_artifact_data(artifact, &size);
  NEED(data != NULL && size > 0);
  NEED(gantry_plan_load_memory(runtime, data, size, release, artifact, &plan) == GANTRY_OK);
  EXPECT(released == 0);
  run(plan);
  gantry_plan_destroy(plan);
  EXPECT(released == 1); /* the plan was the artifact's owner */
}

/* An outline is smaller than its plan by code and weights, and no runtime takes it. */
static void test_outline(gantry_runtime_t *runtime, const char *graph) {
  gantry_compile_request_t request = request_for(graph, NULL);
  gantry_artifact_t *whole = NULL, *outline = NULL;
  NEED(gantry_compile(&request, &whole) == GANTRY_OK);
  struct log log = {{0}, ""};
  request.outline = 1;
  request.log = receive;
  request.log_context = &log;
  NEED(gantry_compile(&request, &outline) == GANTRY_OK);
  size_t size = 0, whole_size = 0;
  const void *data = gantry_artifact_data(outline, &size);
  gantry_artifact_data(whole, &whole_size);
  EXPECT(data != NULL && size > 0 && size < whole_size);
  gantry_plan_t *plan = NULL;
  EXPECT(gantry_plan_load_memory(runtime, data, size, NULL, NULL, &plan) ==
         GANTRY_INVALID_ARGUMENT);
  EXPECT(plan == NULL);
  EXPECT(strstr(gantry_last_error(), "an outline, which has neither weights nor code, cannot be "
                                     "run; compile the graph to a plan"));
  gantry_artifact_destroy(outline);
  gantry_artifact_destroy(whole);
}

static void test_through_a_file(gantry_runtime_t *runtime, const char *graph, const char *folder) {
  char path[4000];
  snprintf(path, sizeof path, "%s/compiled.gantry", folder);
  gantry_compile_request_t request = request_for(graph, NULL);
  request.output = path;
  gantry_artifact_t *artifact = NULL;
  gantry_plan_t *plan = NULL;
  size_t size = 1;
  NEED(gantry_compile(&request, &artifact) == GANTRY_OK);
  gantry_artifact_data(artifact, &size);
  EXPECT(size == 0);
  gantry_artifact_destroy(artifact);
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  run(plan);
  gantry_plan_destroy(plan);
  remove(path);
}

/* Sets the token when a phase of that name begins. */
struct stop {
  gantry_cancel_t *cancel;
  const char *phase;
};

static void stop_at(void *context, gantry_severity_t severity, const char *text) {
  struct stop *stop = context;
  if (severity == GANTRY_SEVERITY_PROGRESS && strcmp(text, stop->phase) == 0)
    gantry_cancel_set(stop->cancel);
}

static void test_cancelling(const char *graph, const char *folder) {
  static const char *const phases[] = {"import", "compile", "generate code", "write"};
  char path[4000];
  snprintf(path, sizeof path, "%s/cancelled.gantry", folder);
  remove(path);
  for (size_t i = 0; i < sizeof phases / sizeof *phases; ++i) {
    struct stop stop = {NULL, phases[i]};
    NEED(gantry_cancel_create(&stop.cancel) == GANTRY_OK);
    gantry_compile_request_t request = request_for(graph, NULL);
    request.output = path;
    request.log = stop_at;
    request.log_context = &stop;
    request.cancel = stop.cancel;
    gantry_artifact_t *artifact = (gantry_artifact_t *)path;
    EXPECT(gantry_compile(&request, &artifact) == GANTRY_CANCELLED);
    EXPECT(artifact == NULL);
    EXPECT(strstr(gantry_compiler_last_error(), "the compilation was cancelled") != NULL);
    FILE *written = fopen(path, "rb");
    EXPECT(written == NULL);
    gantry_cancel_reset(stop.cancel);
    request.log = NULL;
    EXPECT(gantry_compile(&request, &artifact) == GANTRY_OK);
    gantry_artifact_destroy(artifact);
    remove(path);
    gantry_cancel_destroy(stop.cancel);
  }
}

static void test_text(const char *graph) {
  const char *flags[] = {"stop-after=import"};
  const gantry_compile_request_t request = request_for(graph, flags);
  gantry_artifact_t *artifact = NULL;
  size_t size = 0;
  NEED(gantry_compile(&request, &artifact) == GANTRY_OK);
  const char *text = gantry_artifact_data(artifact, &size);
  EXPECT(size > 20 && memcmp(text, "module", 6) == 0 && text[size - 1] == '\n');
  gantry_artifact_destroy(artifact);
}

static void test_why_not(const char *graph) {
  const char *flags[] = {"devices=CPU:0,GPU:0"};
  const gantry_compile_request_t request = request_for(graph, flags);
  gantry_artifact_t *artifact = NULL;
  size_t size = 0;
  NEED(gantry_why_not(&request, "Relu", "GPU:0", &artifact) == GANTRY_OK);
  const char *text = gantry_artifact_data(artifact, &size);
  EXPECT(size > 0 && strstr(text, "is on GPU:0 already\n") != NULL);
  gantry_artifact_destroy(artifact);
  artifact = NULL;
  EXPECT(gantry_why_not(&request, "Relu", "GPU:1", &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strstr(gantry_compiler_last_error(),
                "--why-not: '/job:localhost/replica:0/task:0/device:GPU:1': unknown device") !=
         NULL);
  EXPECT(artifact == NULL);
}

/* Bytes of a graph need no terminator behind them; folders are found beside them. */
static void test_bytes(const char *graph) {
  static char bytes[4096];
  FILE *file = fopen(graph, "rb");
  NEED(file != NULL);
  size_t size = fread(bytes, 1, sizeof bytes - 1, file);
  fclose(file);
  bytes[size] = '}';
  gantry_compile_request_t request = request_for(NULL, NULL);
  gantry_artifact_t *artifact = NULL;
  request.data = bytes;
  request.data_size = size;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_OK);
  gantry_artifact_destroy(artifact);
  request.data_size = 20;
  request.name = "folder/half.mlir";
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strncmp(gantry_compiler_last_error(), "folder/half.mlir:", 17) == 0);
}

/* MLIR does not check what it reads of bytecode, so that it is not given any. */
static void test_bytecode(void) {
  static const char bytes[] = "ML\xefR and whatever else it would believe";
  const char *trusted[] = {"trust-bytecode"};
  gantry_compile_request_t request = request_for(NULL, NULL);
  gantry_artifact_t *artifact = NULL;
  gantry_graph_info_t *info = NULL;
  request.data = bytes;
  request.data_size = sizeof bytes - 1;
  for (int i = 0; i < 3; ++i) {
    gantry_status_t status = i == 0   ? gantry_compile(&request, &artifact)
                             : i == 1 ? gantry_check(&request, &info)
                                      : gantry_why_not(&request, "Relu", "CPU:0", &artifact);
    EXPECT(status == GANTRY_INVALID_ARGUMENT && artifact == NULL && info == NULL);
    EXPECT(strcmp(gantry_compiler_last_error(),
                  "<memory>: this is MLIR bytecode, whose reader does not check what it reads; "
                  "write the graph as text (gantry-opt FILE), or say --trust-bytecode of a file of "
                  "your own") == 0);
  }
  request.flags = trusted;
  request.num_flags = 1;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strstr(gantry_compiler_last_error(), "this is MLIR bytecode") == NULL);
}

static void *compile_there(void *graph) {
  const gantry_compile_request_t request = request_for((const char *)graph, NULL);
  gantry_artifact_t *artifact = NULL;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_DOES_NOT_FIT && artifact == NULL);
  EXPECT(strstr(gantry_compiler_last_error(), "the stack of this thread has ") != NULL);
  EXPECT(strstr(gantry_compiler_last_error(), "left, compiling takes up to 1 MiB") != NULL);
  return NULL;
}

static void test_small_stack(char *graph) {
  pthread_attr_t attributes;
  pthread_t thread;
  NEED(pthread_attr_init(&attributes) == 0);
  NEED(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  NEED(pthread_create(&thread, &attributes, compile_there, graph) == 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

/* y = -reshape(x, s), x: float[2,n], s: int64[2]; see examples/compile_in_memory.c. */
static const char shaped[] =
    "\x08\x08"
    "B\x04\n\x00\x10\x11"
    ":V"
    "\n\x12\n\x01x\n\x01s\x12\x01r\"\x07Reshape"
    "\n\x0b\n\x01r\x12\x01y\"\x03Neg"
    "\x12\x01g"
    "Z\x14\n\x01x\x12\x0f\n\x0d\x08\x01\x12\x09\n\x02\x08\x02\n\x03\x12\x01n"
    "Z\x0f\n\x01s\x12\n\n\x08\x08\x07\x12\x04\n\x02\x08\x02"
    "b\t\n\x01y\x12\x04\n\x02\x08\x01";

static void test_check(void) {
  gantry_compile_request_t request = request_for(NULL, NULL);
  gantry_graph_info_t *info = NULL;
  gantry_port_t port = {.struct_size = sizeof port};
  request.data = shaped;
  request.data_size = sizeof shaped - 1;
  NEED(gantry_check(&request, &info) == GANTRY_OK);
  NEED(gantry_graph_info_num_inputs(info) == 2 && gantry_graph_info_num_outputs(info) == 1);
  NEED(gantry_graph_info_input(info, 0, &port) == GANTRY_OK);
  EXPECT(strcmp(port.name, "x") == 0 && strcmp(port.type, "f32[2,n]") == 0);
  EXPECT(port.element == GANTRY_F32 && port.rank == 2);
  EXPECT(port.dims[0] == 2 && port.dim_names[0] == NULL);
  EXPECT(port.dims[1] == -1 && strcmp(port.dim_names[1], "n") == 0);
  NEED(gantry_graph_info_output(info, 0, &port) == GANTRY_OK);
  EXPECT(strcmp(port.name, "y") == 0 && port.rank == -1);
  EXPECT(gantry_graph_info_output(info, 1, &port) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(), "there is no output number 1 of 1") == 0);
  NEED(gantry_graph_info_num_open_dims(info) == 1);
  EXPECT(strcmp(gantry_graph_info_open_dim(info, 0), "n") == 0);
  NEED(gantry_graph_info_num_shape_inputs(info) == 1);
  EXPECT(strcmp(gantry_graph_info_shape_input(info, 0), "s") == 0);
  EXPECT(gantry_graph_info_shape_input(info, 1) == NULL);
  EXPECT(strstr(gantry_graph_info_text(info), "input s decides shapes") != NULL);
  EXPECT(gantry_graph_info_json(info)[0] == '{');
  gantry_graph_info_destroy(info);
}

/* Candidates that no shape needs stay inputs; values must be compiled in. */
static void test_values(gantry_runtime_t *runtime) {
  int64_t shape[] = {3, 2}, two[] = {2};
  float numbers[] = {1, 2};
  gantry_value_t values[] = {{"s", GANTRY_I64, 1, two, shape}, {"x", GANTRY_F32, 1, two, numbers}};
  const char *flags[] = {"dim=n=3"};
  gantry_compile_request_t request = request_for(NULL, flags);
  gantry_artifact_t *artifact = NULL;
  gantry_plan_t *plan = NULL;
  size_t size = 0;
  request.data = shaped;
  request.data_size = sizeof shaped - 1;
  request.candidates = values;
  request.num_candidates = 2;
  NEED(gantry_compile(&request, &artifact) == GANTRY_OK);
  NEED(gantry_artifact_num_shape_values(artifact) == 1);
  EXPECT(strcmp(gantry_artifact_shape_value(artifact, 0), "s") == 0);
  EXPECT(gantry_artifact_shape_value(artifact, 1) == NULL);
  const void *data = gantry_artifact_data(artifact, &size);
  NEED(gantry_plan_load_memory(runtime, data, size, NULL, NULL, &plan) == GANTRY_OK);
  EXPECT(gantry_plan_num_inputs(plan, 0) == 1);
  gantry_plan_destroy(plan);
  gantry_artifact_destroy(artifact);

  request.candidates = NULL;
  request.values = values;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "gantry_compile: the request cannot be read: candidates is a null pointer, and "
                "num_candidates is 2") == 0);
  request.num_candidates = 0;
  request.num_values = 1;
  values[0].name = "z";
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "<memory>: a value is given for 'z', which is no input of the graph") == 0);
  values[0].name = "s";
  values[0].dims = NULL;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "the value for input 's' has 1 dimensions, but dims is a null pointer") == 0);
  values[0].dims = two;
  values[0].data = NULL;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "the value for input 's' has 2 elements, but data is a null pointer") == 0);
  two[0] = -1;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "the value for input 's' has dimensions that are negative or too large") == 0);
  values[0].element = (gantry_element_type_t)13;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "the value for input 's' has the element type 13, which does not exist") == 0);
  two[0] = 2;
  values[0].element = GANTRY_I64;
  values[0].data = shape;
  values[1] = values[0];
  request.num_values = 2;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(), "the value for input 's' is given twice") == 0);
}

/* Every flag of the table is one that the compiler reads. */
static void test_flags(const char *graph) {
  static const char *const names[] = {
#define GANTRY_COMPILE_FLAG(name, metavar, repeatable, help) name,
#include "gantry/Support/CompileFlags.def"
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const gantry_compile_request_t request = request_for(graph, &names[i]);
    gantry_artifact_t *artifact = NULL;
    if (gantry_compile(&request, &artifact) != GANTRY_OK)
      EXPECT(strstr(gantry_compiler_last_error(), "unknown compile flag") == NULL);
    gantry_artifact_destroy(artifact);
  }
}

/* Words that stand alone, and a library. */
static void test_libraries(void) {
  for (const char *const *known = (const char *[]){"auto", "none", "cublaslt", NULL}; *known;
       ++known) {
    char flag[32];
    const char *flags[] = {flag};
    snprintf(flag, sizeof flag, "libraries=%s", *known);
    EXPECT(gantry_check_flags(flags, 1) == GANTRY_OK);
    strcat(flag, ",auto");
    EXPECT(gantry_check_flags(flags, 1) == GANTRY_INVALID_ARGUMENT);
    EXPECT(strstr(gantry_compiler_last_error(), " stands alone") != NULL);
  }
}

static void test_failures(const char *graph) {
  struct log log = {{0}, ""};
  gantry_artifact_t *artifact = NULL;
  const char *unknown[] = {"colour=blue"}, *value[] = {"value=x=none.npy"},
             *library[] = {"libraries=cublas"};
  gantry_compile_request_t request = request_for(graph, unknown);
  request.log = receive;
  request.log_context = &log;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strstr(gantry_compiler_last_error(), "unknown compile flag 'colour'") != NULL);
  request.flags = value;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "--value x: cannot open 'none.npy': no such file or folder") == 0);
  request.flags = library;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "unknown library 'cublas' in --libraries; known are cublaslt, or auto or none") ==
         0);
  /* The log has the first error of each call. */
  EXPECT(log.lines[GANTRY_SEVERITY_ERROR] == 3);
  EXPECT(strcmp(log.error, gantry_compiler_last_error()) == 0);
  request.num_flags = 0;
  request.file = "none.mlir";
  EXPECT(gantry_compile(&request, &artifact) != GANTRY_OK);
  EXPECT(strstr(log.error, "none.mlir") != NULL);
  EXPECT(gantry_compile(&request, NULL) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(), "gantry_compile: an argument is a null pointer") ==
         0);
  EXPECT(gantry_compile(NULL, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "gantry_compile: the request cannot be read: it is a null pointer") == 0);
  request.data = graph;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(
      strcmp(gantry_compiler_last_error(),
             "gantry_compile: the request cannot be read: it has more than one of file, data and "
             "graph; give one of them") == 0);
  request.file = request.data = NULL;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "gantry_compile: the request cannot be read: it has neither a file nor data nor a "
                "graph") == 0);
  request.struct_size = 0;
  EXPECT(gantry_compile(&request, &artifact) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strcmp(gantry_compiler_last_error(),
                "gantry_compile: the request cannot be read: struct_size is not set") == 0);
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
  test_through_memory(runtime, argv[1], 0);
  test_through_memory(runtime, argv[1], 1);
  test_outline(runtime, argv[1]);
  test_through_a_file(runtime, argv[1], argv[2]);
  test_cancelling(argv[1], argv[2]);
  test_text(argv[1]);
  test_why_not(argv[1]);
  test_bytes(argv[1]);
  test_bytecode();
  test_small_stack(argv[1]);
  test_check();
  test_values(runtime);
  test_flags(argv[1]);
  test_libraries();
  test_failures(argv[1]);
  gantry_runtime_destroy(runtime);
  if (failures == 0)
    printf("passed\n");
  return failures != 0;
}
