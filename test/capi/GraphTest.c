/* Graphs call by call, compilers that are kept, diagnostics in parts: what Python is made of.
 */
#include "gantry-c/graph.h"
#include "gantry-c/runtime.h"
#include "gantry-c/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPILER_ERROR() gantry_compiler_last_error()
#include "Expect.h"

/* The call fails like that, in these words. */
#define REFUSED(call, status, message)                                                             \
  do {                                                                                             \
    EXPECT((call) == (status));                                                                    \
    if (strcmp(gantry_compiler_last_error(), message) != 0) {                                      \
      fprintf(stderr, "%s:%d: the message is\n  %s\nnot\n  %s\n", __FILE__, __LINE__,              \
              gantry_compiler_last_error(), message);                                              \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)
#define LENGTH(list) (sizeof(list) / sizeof *(list))

static gantry_compiler_t *compiler;
static gantry_runtime_t *runtime;

/* ---- helpers: the calls without what most of them leave out ---- */

static const int64_t two_three[] = {2, 3};
static const gantry_tensor_type_t matrix = {GANTRY_F32, 2, two_three};
static const gantry_tensor_type_t scalar = {GANTRY_I64, 0, NULL};

static gantry_graph_t *make_graph(void) {
  gantry_graph_t *graph = NULL;
  NEED(gantry_graph_create(compiler, NULL, &graph) == GANTRY_OK);
  NEED(gantry_graph_function(graph, "main") == GANTRY_OK);
  return graph;
}

static gantry_graph_value_t argument(gantry_graph_t *graph, const char *name,
                                     gantry_tensor_type_t type, const char *device) {
  const gantry_graph_argument_t given = {
      .struct_size = sizeof given, .name = name, .type = type, .device = device};
  gantry_graph_value_t value = 99;
  NEED(gantry_graph_argument(graph, &given, &value) == GANTRY_OK);
  return value;
}

static gantry_graph_value_t constant(gantry_graph_t *graph, gantry_tensor_type_t type,
                                     const void *data) {
  const gantry_graph_constant_t given = {.struct_size = sizeof given, .type = type, .data = data};
  gantry_graph_value_t value = 99;
  NEED(gantry_graph_constant(graph, &given, &value) == GANTRY_OK);
  return value;
}

static gantry_graph_op_t describe(const char *name, const gantry_graph_value_t *operands,
                                  size_t count) {
  const gantry_graph_op_t op = {
      .struct_size = sizeof op, .name = name, .operands = operands, .num_operands = count};
  return op;
}

static gantry_graph_value_t op(gantry_graph_t *graph, const char *name,
                               const gantry_graph_value_t *operands, size_t count) {
  const gantry_graph_op_t given = describe(name, operands, count);
  gantry_graph_value_t result = 99;
  size_t results = 0;
  NEED(gantry_graph_op(graph, &given, &result, 1, &results) == GANTRY_OK);
  EXPECT(results == 1);
  return result;
}

static gantry_graph_value_t op2(gantry_graph_t *graph, const char *name, gantry_graph_value_t a,
                                gantry_graph_value_t b) {
  const gantry_graph_value_t operands[] = {a, b};
  return op(graph, name, operands, 2);
}

static void give(gantry_graph_t *graph, const char *name, gantry_graph_value_t value) {
  const gantry_graph_output_t output = {value, name, NULL};
  NEED(gantry_graph_return(graph, &output, 1) == GANTRY_OK);
}

static gantry_compile_request_t request_for(gantry_graph_t *graph) {
  const gantry_compile_request_t request = {.struct_size = sizeof request, .graph = graph};
  return request;
}

static void release_artifact(void *artifact) { gantry_artifact_destroy(artifact); }

static gantry_plan_t *load(gantry_artifact_t *artifact) {
  gantry_plan_t *plan = NULL;
  size_t size = 0;
  const void *data = gantry_artifact_data(artifact, &size);
  NEED(gantry_plan_load_memory(runtime, data, size, release_artifact, artifact, &plan) ==
       GANTRY_OK);
  return plan;
}

static gantry_plan_t *compile(gantry_graph_t *graph) {
  const gantry_compile_request_t request = request_for(graph);
  gantry_artifact_t *artifact = NULL;
  NEED(gantry_compile(&request, &artifact) == GANTRY_OK);
  return load(artifact);
}

/* ---- graphs ---- */

static const float ramp[] = {0, 1, 2, 3, 4, 5};

/* y = x + x * x, also as text. */
static gantry_graph_t *square_and_add(void) {
  gantry_graph_t *graph = make_graph();
  gantry_graph_value_t x = argument(graph, "x", matrix, NULL);
  give(graph, "y", op2(graph, "add", x, op2(graph, "gantry.mul", x, x)));
  return graph;
}

static void expect_square_and_add(gantry_plan_t *plan) {
  static const float expected[] = {0, 2, 6, 12, 20, 30};
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  const void *y = NULL;
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  NEED(gantry_bindings_set_input(bindings, "x", ramp, GANTRY_F32, two_three, 2) == GANTRY_OK);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  NEED(gantry_bindings_output(bindings, "y", &y) == GANTRY_OK);
  EXPECT(memcmp(y, expected, sizeof expected) == 0);
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
}

static void test_running_a_graph(void) {
  gantry_graph_t *graph = square_and_add();
  expect_square_and_add(compile(graph));
  /* The text is the same graph. */
  const char *text = NULL;
  NEED(gantry_graph_print(graph, 0, &text) == GANTRY_OK);
  EXPECT(strstr(text, "func.func @main(%arg0: tensor<2x3xf32> {gantry.name = \"x\"}) -> "
                      "(tensor<2x3xf32> {gantry.name = \"y\"})") != NULL);
  gantry_compile_request_t request = {.struct_size = sizeof request};
  request.data = text;
  request.data_size = strlen(text);
  request.compiler = compiler;
  gantry_artifact_t *artifact = NULL;
  NEED(gantry_compile(&request, &artifact) == GANTRY_OK);
  gantry_graph_destroy(graph);
  expect_square_and_add(load(artifact));
}

static void test_types(void) {
  static const int64_t open[] = {-1, 3};
  const gantry_tensor_type_t rows = {GANTRY_F32, 2, open};
  gantry_graph_t *graph = make_graph();
  gantry_graph_value_t x = argument(graph, "x", rows, NULL), m = argument(graph, "m", matrix, NULL);
  const gantry_graph_value_t factors[] = {x, m};
  const gantry_attribute_t transpose = {
      .name = "transpose_b", .kind = GANTRY_ATTRIBUTE_UNIT, .value = {.integer = 1}};
  gantry_graph_op_t matmul = describe("matmul", factors, 2);
  matmul.attributes = &transpose;
  matmul.num_attributes = 1;
  gantry_graph_value_t product = 99;
  gantry_tensor_type_t type;
  NEED(gantry_graph_op(graph, &matmul, &product, 1, NULL) == GANTRY_OK);
  NEED(gantry_graph_value_type(graph, product, &type) == GANTRY_OK);
  EXPECT(type.element == GANTRY_F32 && type.rank == 2 && type.dims[0] == -1 && type.dims[1] == 2);
  NEED(gantry_graph_value_type(graph, m, &type) == GANTRY_OK);
  EXPECT(type.rank == 2 && type.dims[0] == 2 && type.dims[1] == 3);
  REFUSED(gantry_graph_value_type(graph, 77, &type), GANTRY_INVALID_ARGUMENT,
          "there is no value number 77");
  gantry_graph_destroy(graph);
}

/* Every kind of attribute that ops have. */
static void test_attributes(void) {
  static const int64_t four[] = {4}, low[] = {1}, high[] = {2};
  const gantry_tensor_type_t row = {GANTRY_F32, 1, four}, zero = {GANTRY_F32, 0, NULL};
  static const float nothing[] = {0};
  gantry_graph_t *graph = make_graph();
  const gantry_graph_value_t x = argument(graph, "x", row, NULL);
  const gantry_graph_value_t padded[] = {x, constant(graph, zero, nothing)};
  const gantry_attribute_t pads[] = {
      {.name = "low", .kind = GANTRY_ATTRIBUTE_INTS, .count = 1, .value = {.integers = low}},
      {.name = "high", .kind = GANTRY_ATTRIBUTE_INTS, .count = 1, .value = {.integers = high}},
      {.name = "mode", .kind = GANTRY_ATTRIBUTE_ENUM, .value = {.text = "reflect"}}};
  gantry_graph_op_t pad = describe("pad", padded, 2);
  pad.attributes = pads;
  pad.num_attributes = 3;
  gantry_graph_value_t y = 99, z = 99;
  NEED(gantry_graph_op(graph, &pad, &y, 1, NULL) == GANTRY_OK);
  /* A whole number is a number. */
  const gantry_attribute_t alpha = {
      .name = "alpha", .kind = GANTRY_ATTRIBUTE_INT, .value = {.integer = 2}};
  gantry_graph_op_t leaky = describe("leaky_relu", &y, 1);
  leaky.attributes = &alpha;
  leaky.num_attributes = 1;
  leaky.label = "leak";
  NEED(gantry_graph_op(graph, &leaky, &z, 1, NULL) == GANTRY_OK);
  const gantry_attribute_t there = {
      .name = "device", .kind = GANTRY_ATTRIBUTE_DEVICE, .value = {.text = "CPU:0"}};
  gantry_graph_op_t copy = describe("copy", &z, 1);
  copy.attributes = &there;
  copy.num_attributes = 1;
  NEED(gantry_graph_op(graph, &copy, &z, 1, NULL) == GANTRY_OK);
  give(graph, NULL, z);
  const char *text = NULL;
  NEED(gantry_graph_print(graph, 0, &text) == GANTRY_OK);
  EXPECT(
      strstr(text, "high = array<i64: 2>, low = array<i64: 1>, mode = #gantry<pad_mode reflect>"));
  EXPECT(strstr(text, "alpha = 2.000000e+00 : f64, gantry.name = \"leak\""));
  EXPECT(strstr(text, "to \"CPU:0\" : tensor<7xf32>"));
  gantry_graph_destroy(graph);
}

/* sum of 0..n-1 by a loop; then, by a branch, that or n. */
static gantry_graph_t *loop_and_branch(void) {
  static const int64_t nothing[] = {0}, step[] = {1}, hundred[] = {100};
  gantry_graph_t *graph = make_graph();
  const gantry_graph_value_t n = argument(graph, "n", scalar, NULL);
  const gantry_graph_value_t one = constant(graph, scalar, step);
  const gantry_graph_value_t zero = constant(graph, scalar, nothing);
  const gantry_graph_value_t inits[] = {zero, zero};
  const gantry_tensor_type_t carried[] = {scalar, scalar};
  const gantry_attribute_t less = {
      .name = "direction", .kind = GANTRY_ATTRIBUTE_ENUM, .value = {.text = "lt"}};
  gantry_graph_value_t in[2], sums[2], flag, chosen;

  gantry_graph_op_t loop = describe("while", inits, 2);
  NEED(gantry_graph_begin_op(graph, &loop) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, carried, 2, in) == GANTRY_OK);
  const gantry_graph_value_t compared[] = {in[0], n};
  gantry_graph_op_t compare = describe("compare", compared, 2);
  compare.attributes = &less;
  compare.num_attributes = 1;
  NEED(gantry_graph_op(graph, &compare, &flag, 1, NULL) == GANTRY_OK);
  NEED(gantry_graph_end_region(graph, &flag, 1) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, carried, 2, in) == GANTRY_OK);
  const gantry_graph_value_t next[] = {op2(graph, "add", in[0], one),
                                       op2(graph, "add", in[1], in[0])};
  NEED(gantry_graph_end_region(graph, next, 2) == GANTRY_OK);
  NEED(gantry_graph_end_op(graph, sums, 2, NULL) == GANTRY_OK);

  const gantry_graph_value_t limits[] = {sums[1], constant(graph, scalar, hundred)};
  compare.operands = limits;
  NEED(gantry_graph_op(graph, &compare, &flag, 1, NULL) == GANTRY_OK);
  const gantry_graph_op_t branch = describe("if", &flag, 1);
  NEED(gantry_graph_begin_op(graph, &branch) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  NEED(gantry_graph_end_region(graph, &sums[1], 1) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  NEED(gantry_graph_end_region(graph, &n, 1) == GANTRY_OK);
  NEED(gantry_graph_end_op(graph, &chosen, 1, NULL) == GANTRY_OK);
  give(graph, "y", chosen);
  return graph;
}

static int64_t run_scalar(gantry_session_t *session, gantry_bindings_t *bindings, int64_t n) {
  const void *y = NULL;
  NEED(gantry_bindings_set_input(bindings, "n", &n, GANTRY_I64, NULL, 0) == GANTRY_OK);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  NEED(gantry_bindings_output(bindings, "y", &y) == GANTRY_OK);
  return *(const int64_t *)y;
}

static void test_control_flow(void) {
  gantry_graph_t *graph = loop_and_branch();
  gantry_plan_t *plan = compile(graph);
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  EXPECT(run_scalar(session, bindings, 10) == 45);
  EXPECT(run_scalar(session, bindings, 20) == 20);
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_graph_destroy(graph);
}

/* An input that turns out to be needed in a branch is the function's: it can be used there, behind
 * it, and after a branch that was abandoned. */
static void test_inputs_that_come_late(void) {
  gantry_graph_t *graph = make_graph();
  const gantry_graph_value_t n = argument(graph, "n", scalar, NULL);
  const gantry_attribute_t less = {
      .name = "direction", .kind = GANTRY_ATTRIBUTE_ENUM, .value = {.text = "lt"}};
  gantry_graph_value_t flag, chosen;
  static const int64_t fifteen[] = {15};
  const gantry_graph_value_t compared[] = {n, constant(graph, scalar, fifteen)};
  gantry_graph_op_t compare = describe("compare", compared, 2);
  compare.attributes = &less;
  compare.num_attributes = 1;
  NEED(gantry_graph_op(graph, &compare, &flag, 1, NULL) == GANTRY_OK);

  const gantry_graph_op_t branch = describe("if", &flag, 1);
  NEED(gantry_graph_begin_op(graph, &branch) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  const gantry_graph_value_t late = argument(graph, "late", scalar, NULL);
  NEED(gantry_graph_abandon_op(graph) == GANTRY_OK);

  NEED(gantry_graph_begin_op(graph, &branch) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  const gantry_graph_value_t sum = op2(graph, "add", n, late);
  NEED(gantry_graph_end_region(graph, &sum, 1) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  const gantry_graph_value_t later = argument(graph, "later", scalar, NULL);
  NEED(gantry_graph_end_region(graph, &later, 1) == GANTRY_OK);
  NEED(gantry_graph_end_op(graph, &chosen, 1, NULL) == GANTRY_OK);
  give(graph, "y", op2(graph, "add", chosen, late));

  gantry_plan_t *plan = compile(graph);
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  const int64_t hundred = 100, thousand = 1000;
  NEED(gantry_bindings_set_input(bindings, "late", &hundred, GANTRY_I64, NULL, 0) == GANTRY_OK);
  NEED(gantry_bindings_set_input(bindings, "later", &thousand, GANTRY_I64, NULL, 0) == GANTRY_OK);
  EXPECT(run_scalar(session, bindings, 10) == 210);
  EXPECT(run_scalar(session, bindings, 20) == 1100);
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_graph_destroy(graph);
}

/* A counter that two functions share. */
static void test_variables(void) {
  static const int64_t start[] = {40};
  gantry_graph_t *graph = NULL;
  NEED(gantry_graph_create(compiler, NULL, &graph) == GANTRY_OK);
  const gantry_graph_constant_t initial = {
      .struct_size = sizeof initial, .type = scalar, .data = start, .name = "count"};
  const gantry_graph_variable_t variable = {
      .struct_size = sizeof variable, .initial = &initial, .device = "CPU:0"};
  NEED(gantry_graph_variable(graph, &variable) == GANTRY_OK);
  REFUSED(gantry_graph_variable(graph, &variable), GANTRY_INVALID_ARGUMENT,
          "the name 'count' is taken");
  const gantry_graph_constant_t zeros = {
      .struct_size = sizeof zeros, .type = scalar, .name = "zeros"};
  const gantry_graph_variable_t second = {.struct_size = sizeof second, .initial = &zeros};
  NEED(gantry_graph_variable(graph, &second) == GANTRY_OK);
  const gantry_attribute_t which = {
      .name = "variable", .kind = GANTRY_ATTRIBUTE_SYMBOL, .value = {.text = "count"}};
  NEED(gantry_graph_function(graph, "add") == GANTRY_OK);
  const gantry_graph_value_t n = argument(graph, "n", scalar, NULL);
  gantry_graph_op_t access = describe("assign_add", &n, 1);
  access.attributes = &which;
  access.num_attributes = 1;
  size_t results = 9;
  NEED(gantry_graph_op(graph, &access, NULL, 0, &results) == GANTRY_OK);
  EXPECT(results == 0);
  access = describe("read", NULL, 0);
  access.attributes = &which;
  access.num_attributes = 1;
  gantry_graph_value_t count;
  NEED(gantry_graph_op(graph, &access, &count, 1, NULL) == GANTRY_OK);
  give(graph, "y", count);

  const gantry_attribute_t other = {
      .name = "variable", .kind = GANTRY_ATTRIBUTE_SYMBOL, .value = {.text = "counter"}};
  NEED(gantry_graph_function(graph, "wrong") == GANTRY_OK);
  access.attributes = &other;
  REFUSED(gantry_graph_op(graph, &access, &count, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "there is no variable 'counter'");

  /* The function that is open is left out. */
  gantry_plan_t *plan = compile(graph);
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  EXPECT(run_scalar(session, bindings, 2) == 42);
  EXPECT(run_scalar(session, bindings, 1) == 43);
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_graph_destroy(graph);
}

static int released;
static void count_release(void *context) { ++*(int *)context; }

/* Borrowed bytes are given back once, whatever becomes of the constant. */
static void test_borrowed_constants(void) {
  static float large[1000];
  static const int64_t thousand[] = {1000}, few[] = {2}, negative[] = {-5};
  gantry_graph_constant_t given = {.struct_size = sizeof given,
                                   .type = {GANTRY_F32, 1, thousand},
                                   .data = large,
                                   .release = count_release,
                                   .release_context = &released,
                                   .name = "w"};
  for (int i = 0; i < 1000; ++i)
    large[i] = (float)i;
  gantry_graph_t *graph = make_graph();
  gantry_graph_value_t w = 99, small = 99;
  released = 0;
  NEED(gantry_graph_constant(graph, &given, &w) == GANTRY_OK);
  EXPECT(released == 0);
  give(graph, "y", op(graph, "neg", &w, 1));
  gantry_plan_destroy(compile(graph));
  EXPECT(released == 0);
  const char *text = NULL;
  NEED(gantry_graph_print(graph, 0, &text) == GANTRY_OK);
  EXPECT(strstr(text, "dense_resource<w>") && strstr(text, "dialect_resources") &&
         strlen(text) > 8000);
  NEED(gantry_graph_print(graph, GANTRY_PRINT_NO_WEIGHTS, &text) == GANTRY_OK);
  EXPECT(strstr(text, "dense_resource<w>") && strlen(text) < 800);
  gantry_graph_destroy(graph);
  EXPECT(released == 1);

  /* Few bytes are copied and given back at once; so are those of a constant that is refused. */
  graph = make_graph();
  given.type.dims = few;
  released = 0;
  NEED(gantry_graph_constant(graph, &given, &small) == GANTRY_OK);
  EXPECT(released == 1);
  given.type.dims = negative;
  REFUSED(gantry_graph_constant(graph, &given, &small), GANTRY_INVALID_ARGUMENT,
          "a tensor has a dimension of size -5");
  EXPECT(released == 2);
  gantry_graph_destroy(graph);
}

/* ---- places and devices ---- */

struct told {
  int count, notes;
  gantry_status_t status;
  char file[64], node[64], op[64], text[512], line[512];
  uint32_t at_line, at_column;
};

static void keep(void *context, const gantry_diagnostic_t *diagnostic) {
  struct told *told = context;
  ++told->count;
  told->notes += (int)diagnostic->num_notes;
  told->status = diagnostic->status;
  told->at_line = diagnostic->line;
  told->at_column = diagnostic->column;
  snprintf(told->file, sizeof told->file, "%s", diagnostic->file);
  snprintf(told->node, sizeof told->node, "%s", diagnostic->node);
  snprintf(told->op, sizeof told->op, "%s", diagnostic->op);
  snprintf(told->text, sizeof told->text, "%s", diagnostic->text);
  snprintf(told->line, sizeof told->line, "%s", diagnostic->told);
}

static void test_diagnostics_of_the_builder(void) {
  struct told told = {0};
  const gantry_graph_options_t options = {
      .struct_size = sizeof options, .name = "step", .diagnose = keep, .diagnose_context = &told};
  static const int64_t five[] = {5};
  const gantry_tensor_type_t row = {GANTRY_F32, 1, five};
  gantry_graph_t *graph = NULL;
  NEED(gantry_graph_create(compiler, &options, &graph) == GANTRY_OK);
  NEED(gantry_graph_function(graph, "main") == GANTRY_OK);
  const gantry_graph_value_t operands[] = {argument(graph, "x", matrix, NULL),
                                           argument(graph, "y", row, NULL)};
  gantry_graph_op_t add = describe("add", operands, 2);
  gantry_graph_value_t sum = 99;
  add.label = "sum";
  NEED(gantry_graph_location(graph, "net/layers.py", 12, 5) == GANTRY_OK);
  REFUSED(gantry_graph_op(graph, &add, &sum, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "node 'sum' of layers.py:12:5: 'gantry.add' op operands cannot be broadcast to each "
          "other: [2,3] and [5]");
  EXPECT(told.count == 1 && told.status == GANTRY_INVALID_ARGUMENT && sum == 99);
  EXPECT(strcmp(told.file, "layers.py") == 0 && told.at_line == 12 && told.at_column == 5);
  EXPECT(strcmp(told.node, "sum") == 0 && strcmp(told.op, "gantry.add") == 0);
  EXPECT(strcmp(told.text,
                "'gantry.add' op operands cannot be broadcast to each other: [2,3] and [5]") == 0);
  EXPECT(strcmp(told.line, gantry_compiler_last_error()) == 0);
  /* The graph is as it was. */
  give(graph, "z", op2(graph, "add", operands[0], operands[0]));
  gantry_plan_destroy(compile(graph));
  gantry_graph_destroy(graph);
}

/* Arguments on two devices, with copies explicit: the compiler's error is at the Python line. */
static void test_diagnostics_of_the_compiler(void) {
  static const char *const flags[] = {"copies=explicit"};
  const gantry_topology_flags_t devices = {
      .struct_size = sizeof devices, .devices = "GPU:0,GPU:1", .simulate = 1};
  gantry_topology_t *topology = NULL;
  NEED(gantry_topology_parse(&devices, NULL, &topology) == GANTRY_OK);
  gantry_graph_t *graph = make_graph();
  NEED(gantry_graph_location(graph, "train.py", 3, 1) == GANTRY_OK);
  const gantry_graph_value_t x = argument(graph, "x", matrix, "GPU:0");
  const gantry_graph_value_t y = argument(graph, "y", matrix, "GPU:1");
  NEED(gantry_graph_location(graph, "train.py", 7, 9) == GANTRY_OK);
  give(graph, "z", op2(graph, "add", x, y));
  struct told told = {0};
  gantry_compile_request_t request = request_for(graph);
  request.topology = gantry_topology_to_json(topology);
  request.flags = flags;
  request.num_flags = 1;
  request.diagnose = keep;
  request.diagnose_context = &told;
  gantry_artifact_t *artifact = NULL;
  REFUSED(
      gantry_compile(&request, &artifact), GANTRY_INVALID_ARGUMENT,
      "train.py:7:9: 'AddV2' runs on '/job:localhost/replica:0/task:0/device:GPU:0', and copies "
      "are explicit: operand 1 ('y') is on '/job:localhost/replica:0/task:0/device:GPU:1'; "
      "bring it there with gantry.copy, place both on one device, or compile with "
      "--copies=auto");
  EXPECT(told.count == 1 && told.notes == 1 && told.at_line == 7 && told.at_column == 9);
  EXPECT(strcmp(told.file, "train.py") == 0);
  request.num_flags = 0;
  NEED(gantry_compile(&request, &artifact) == GANTRY_OK);
  gantry_artifact_destroy(artifact);

  static const char *const twice[] = {"devices=GPU:0"};
  request.flags = twice;
  request.num_flags = 1;
  REFUSED(gantry_compile(&request, &artifact), GANTRY_INVALID_ARGUMENT,
          "the devices are given twice, by a flag and by the request's topology; give one of them");
  request.num_flags = 0;
  request.topology = "[";
  REFUSED(gantry_compile(&request, &artifact), GANTRY_INVALID_ARGUMENT,
          "topology: this is not JSON, see line 1, column 1");
  gantry_topology_destroy(topology);
  gantry_graph_destroy(graph);
}

static void test_device_scopes(void) {
  gantry_graph_t *graph = make_graph();
  const gantry_graph_value_t x = argument(graph, "x", matrix, NULL);
  NEED(gantry_graph_location(graph, "net.py", 4, 2) == GANTRY_OK);
  NEED(gantry_graph_push_device(graph, "/job:localhost/GPU:1", GANTRY_SOFT_PREFER) == GANTRY_OK);
  const gantry_graph_value_t y = op(graph, "relu", &x, 1);
  NEED(gantry_graph_push_device(graph, "CPU", GANTRY_SOFT_UNSET) == GANTRY_OK);
  const gantry_graph_value_t c = constant(graph, matrix, ramp);
  NEED(gantry_graph_pop_device(graph) == GANTRY_OK);
  NEED(gantry_graph_pop_device(graph) == GANTRY_OK);
  REFUSED(gantry_graph_pop_device(graph), GANTRY_FAILED_PRECONDITION,
          "net.py:4:2: no device's scope is open");
  REFUSED(
      gantry_graph_push_device(graph, "TPU:0", GANTRY_SOFT_UNSET), GANTRY_INVALID_ARGUMENT,
      "net.py:4:2: device name 'TPU:0', column 1: 'TPU' is not a device type; the types are CPU "
      "and GPU");
  give(graph, "y", op2(graph, "add", y, c));
  const char *text = NULL;
  NEED(gantry_graph_print(graph, 0, &text) == GANTRY_OK);
  EXPECT(strstr(text, "gantry.relu %arg0 {gantry.device = "
                      "#gantry.device<\"/job:localhost/device:GPU:1\">"));
  EXPECT(strstr(text, "gantry.origin = #loc, gantry.soft = #gantry<soft prefer>}"));
  EXPECT(strstr(text, "#loc = loc(\"net.py\":4:2)"));
  EXPECT(strstr(text, "gantry.constant {gantry.device = "
                      "#gantry.device<\"/job:localhost/device:CPU:*\">"));
  NEED(gantry_graph_print(graph, GANTRY_PRINT_LOCATIONS, &text) == GANTRY_OK);
  EXPECT(strstr(text, "loc(\"net.py\":4:2)"));
  gantry_graph_destroy(graph);
}

/* ---- what is refused ---- */

static void test_wrong_ops(void) {
  gantry_graph_t *graph = make_graph();
  gantry_graph_value_t x = argument(graph, "x", matrix, NULL),
                       n = argument(graph, "n", scalar, NULL);
  gantry_graph_value_t result = 99;
  const gantry_graph_value_t both[] = {x, n};
  gantry_graph_op_t wrong = describe("softmaxx", &x, 1);
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "there is no op 'softmaxx'");
  wrong = describe("launch", &x, 1);
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "gantry.launch is not made like other ops of a graph");
  wrong = describe("if", &x, 1);
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "gantry.if has regions; begin it with gantry_graph_begin_op");
  wrong = describe("add", &x, 1);
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "gantry.add takes the operands (lhs, rhs), got 1");
  wrong = describe("exp", &n, 1);
  REFUSED(
      gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
      "operand 'input' of gantry.exp is 'tensor<i64>'; its elements may be f32, f64, f16, bf16");
  wrong = describe("add", both, 2);
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "'gantry.add' op operands have different element types: 'f32' and 'i64'");
  wrong = describe("reshape", &x, 1);
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "gantry.reshape does not infer the type of its result; give result_types");
  static const int64_t four[] = {4}, huge[] = {1 << 30, 1 << 30};
  const gantry_tensor_type_t row = {GANTRY_F32, 1, four}, large = {GANTRY_F32, 2, huge};
  wrong.result_types = &row;
  wrong.num_result_types = 1;
  REFUSED(
      gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
      "'gantry.reshape' op input 'tensor<2x3xf32>' has 6 elements, result 'tensor<4xf32>' has 4");
  wrong.result_types = &large;
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_UNSUPPORTED,
          "a tensor would be larger than 64 TiB");
  x = 55;
  wrong = describe("relu", &x, 1);
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "there is no value number 55 of 2");
  wrong.struct_size = 0;
  REFUSED(gantry_graph_op(graph, &wrong, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "gantry_graph_op_t: struct_size is not set");
  EXPECT(result == 99);
  gantry_graph_destroy(graph);
}

static void refuse_attribute(gantry_attribute_t attribute, const char *message) {
  gantry_graph_t *graph = make_graph();
  const gantry_graph_value_t x = argument(graph, "x", matrix, NULL);
  gantry_graph_value_t result = 99;
  gantry_graph_op_t softmax = describe("softmax", &x, 1);
  softmax.attributes = &attribute;
  softmax.num_attributes = attribute.name ? 1 : 0;
  REFUSED(gantry_graph_op(graph, &softmax, &result, 1, NULL), GANTRY_INVALID_ARGUMENT, message);
  gantry_graph_destroy(graph);
}

static void test_wrong_attributes(void) {
  gantry_attribute_t axis = {.name = NULL};
  refuse_attribute(axis, "gantry.softmax needs the attribute 'axis' (int)");
  axis.name = "axes";
  axis.kind = GANTRY_ATTRIBUTE_INT;
  axis.value.integer = 7;
  refuse_attribute(axis, "gantry.softmax has no attribute 'axes'; it has axis");
  axis.name = "axis";
  refuse_attribute(axis, "'gantry.softmax' op axis 7 is outside the 2 dimensions of the input");
  axis.kind = GANTRY_ATTRIBUTE_STRING;
  axis.value.text = "last";
  refuse_attribute(axis, "attribute 'axis' of gantry.softmax is of the kind int, got string");
  axis.kind = GANTRY_ATTRIBUTE_TEXT;
  refuse_attribute(
      axis, "attribute 'axis' of gantry.softmax cannot be read: 'last': expected attribute value");
  axis.value.text = "1.0 : f64";
  refuse_attribute(axis, "gantry.softmax: attribute 'axis' failed to satisfy constraint: 64-bit "
                         "signless integer attribute");
  axis.value.text = NULL;
  refuse_attribute(axis, "attribute 'axis': its text is a null pointer");
  axis.kind = (gantry_attribute_kind_t)50;
  refuse_attribute(axis, "attribute 'axis' is of a kind that there is not");

  gantry_graph_t *graph = make_graph();
  const gantry_graph_value_t x = argument(graph, "x", matrix, NULL);
  const gantry_graph_value_t both[] = {x, x};
  gantry_graph_value_t result = 99;
  gantry_graph_op_t compare = describe("compare", both, 2);
  const gantry_attribute_t less = {
      .name = "direction", .kind = GANTRY_ATTRIBUTE_ENUM, .value = {.text = "less"}};
  compare.attributes = &less;
  compare.num_attributes = 1;
  REFUSED(gantry_graph_op(graph, &compare, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "attribute 'direction' of gantry.compare is 'less'; it is one of eq, ne, lt, le, gt, ge");
  gantry_graph_destroy(graph);
}

static void test_wrong_order(void) {
  gantry_graph_t *graph = NULL;
  const gantry_graph_output_t output = {0, NULL, NULL};
  gantry_graph_value_t value = 99;
  const char *text = NULL;
  NEED(gantry_graph_create(compiler, NULL, &graph) == GANTRY_OK);
  REFUSED(gantry_graph_return(graph, &output, 1), GANTRY_FAILED_PRECONDITION,
          "no function is open; begin one with gantry_graph_function");
  REFUSED(gantry_graph_print(graph, 0, &text), GANTRY_FAILED_PRECONDITION,
          "the graph has no function that has ended; end one with gantry_graph_return");
  NEED(gantry_graph_function(graph, "main") == GANTRY_OK);
  REFUSED(gantry_graph_function(graph, "other"), GANTRY_FAILED_PRECONDITION,
          "'@main' is open; end it with gantry_graph_return");
  const gantry_graph_value_t x = argument(graph, "x", matrix, NULL);
  const gantry_graph_argument_t again = {.struct_size = sizeof again, .name = "x", .type = matrix};
  REFUSED(gantry_graph_argument(graph, &again, &value), GANTRY_INVALID_ARGUMENT,
          "two inputs of 'main' are called 'x'; every input needs a name of its own");
  const gantry_graph_value_t y = op(graph, "relu", &x, 1);
  REFUSED(gantry_graph_begin_region(graph, NULL, 0, NULL), GANTRY_FAILED_PRECONDITION,
          "a region begins in an op that has begun; begin one with gantry_graph_begin_op");
  REFUSED(gantry_graph_end_region(graph, NULL, 0), GANTRY_FAILED_PRECONDITION, "no region is open");
  REFUSED(gantry_graph_end_op(graph, NULL, 0, NULL), GANTRY_FAILED_PRECONDITION,
          "no op with regions has begun");
  REFUSED(gantry_graph_abandon_op(graph), GANTRY_FAILED_PRECONDITION,
          "no op with regions has begun");
  const gantry_graph_output_t outputs[] = {{x, "y", NULL}, {y, "y", NULL}};
  REFUSED(gantry_graph_return(graph, outputs, 2), GANTRY_INVALID_ARGUMENT,
          "two outputs of 'main' are called 'y'; every output needs a name of its own");
  NEED(gantry_graph_push_device(graph, "CPU:0", GANTRY_SOFT_UNSET) == GANTRY_OK);
  REFUSED(gantry_graph_return(graph, outputs, 1), GANTRY_FAILED_PRECONDITION,
          "a device's scope is open; end it with gantry_graph_pop_device");
  NEED(gantry_graph_pop_device(graph) == GANTRY_OK);
  NEED(gantry_graph_return(graph, outputs, 1) == GANTRY_OK);
  REFUSED(gantry_graph_function(graph, "main"), GANTRY_INVALID_ARGUMENT,
          "the name 'main' is taken");
  NEED(gantry_graph_function(graph, "next") == GANTRY_OK);
  gantry_graph_op_t late = describe("relu", &x, 1);
  REFUSED(gantry_graph_op(graph, &late, &value, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "value 0 cannot be used here: it was made in a region or function that has ended");
  gantry_graph_destroy(graph);
}

static void test_wrong_regions(void) {
  static const uint8_t yes[] = {1};
  const gantry_tensor_type_t flag_type = {GANTRY_I1, 0, NULL};
  gantry_graph_t *graph = make_graph();
  const gantry_graph_value_t x = argument(graph, "x", matrix, NULL);
  const gantry_graph_value_t n = argument(graph, "n", scalar, NULL);
  const gantry_graph_value_t flag = constant(graph, flag_type, yes);
  gantry_graph_value_t result = 99;
  const gantry_graph_op_t branch = describe("if", &flag, 1);
  NEED(gantry_graph_begin_op(graph, &branch) == GANTRY_OK);
  gantry_graph_op_t relu = describe("relu", &x, 1);
  REFUSED(gantry_graph_op(graph, &relu, &result, 1, NULL), GANTRY_FAILED_PRECONDITION,
          "gantry.if has begun; begin a region of it with gantry_graph_begin_region, or end it");
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  const gantry_graph_value_t inside = op(graph, "relu", &x, 1);
  REFUSED(gantry_graph_end_op(graph, &result, 1, NULL), GANTRY_FAILED_PRECONDITION,
          "a region is open; end it with gantry_graph_end_region");
  NEED(gantry_graph_end_region(graph, &inside, 1) == GANTRY_OK);
  REFUSED(gantry_graph_end_op(graph, &result, 1, NULL), GANTRY_FAILED_PRECONDITION,
          "gantry.if has 2 regions, and 1 of them was given");
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  REFUSED(gantry_graph_end_region(graph, &inside, 1), GANTRY_INVALID_ARGUMENT,
          "value 3 cannot be used here: it was made in a region or function that has ended");
  NEED(gantry_graph_end_region(graph, &n, 1) == GANTRY_OK);
  /* The branches disagree; the op goes. */
  REFUSED(gantry_graph_end_op(graph, &result, 1, NULL), GANTRY_INVALID_ARGUMENT,
          "'gantry.if' op then region must yield ('tensor<i64>'), yields ('tensor<2x3xf32>')");
  REFUSED(gantry_graph_end_op(graph, &result, 1, NULL), GANTRY_FAILED_PRECONDITION,
          "no op with regions has begun");
  /* After an error inside, the op can be given up, with what is in it. */
  NEED(gantry_graph_begin_op(graph, &branch) == GANTRY_OK);
  NEED(gantry_graph_begin_region(graph, NULL, 0, NULL) == GANTRY_OK);
  NEED(gantry_graph_push_device(graph, "CPU:0", GANTRY_SOFT_UNSET) == GANTRY_OK);
  (void)op(graph, "relu", &x, 1);
  NEED(gantry_graph_abandon_op(graph) == GANTRY_OK);
  give(graph, "y", op(graph, "neg", &x, 1));
  const char *text = NULL;
  NEED(gantry_graph_print(graph, 0, &text) == GANTRY_OK);
  EXPECT(!strstr(text, "gantry.if") && !strstr(text, "relu") && !strstr(text, "gantry.device"));
  gantry_graph_destroy(graph);
}

/* ---- compilers ---- */

/* What was compiled before has no say in what is compiled now. */
static void test_same_plan_again(void) {
  gantry_artifact_t *first = NULL, *later = NULL;
  for (int i = 0; i < 3; ++i) {
    gantry_graph_t *graph = loop_and_branch();
    const gantry_compile_request_t request = request_for(graph);
    NEED(gantry_compile(&request, i == 0 ? &first : &later) == GANTRY_OK);
    if (i > 0) {
      size_t size = 0, same = 1;
      const void *a = gantry_artifact_data(first, &size), *b = gantry_artifact_data(later, &same);
      EXPECT(size == same && memcmp(a, b, size) == 0);
      gantry_artifact_destroy(later);
    }
    gantry_graph_destroy(graph);
  }
  gantry_artifact_destroy(first);
}

static void test_requests(void) {
  gantry_graph_t *graph = square_and_add();
  gantry_compile_request_t request = request_for(graph);
  gantry_artifact_t *artifact = NULL;
  request.compiler = compiler;
  REFUSED(gantry_compile(&request, &artifact), GANTRY_INVALID_ARGUMENT,
          "gantry_compile: the request cannot be read: it has a graph, which has its own context, "
          "and a compiler; give one of them");
  request.compiler = NULL;
  request.file = "x.mlir";
  REFUSED(gantry_compile(&request, &artifact), GANTRY_INVALID_ARGUMENT,
          "gantry_compile: the request cannot be read: it has more than one of file, data and "
          "graph; give one of them");
  request.file = NULL;
  request.graph = NULL;
  REFUSED(gantry_compile(&request, &artifact), GANTRY_INVALID_ARGUMENT,
          "gantry_compile: the request cannot be read: it has neither a file nor data nor a graph");
  gantry_cancel_t *cancel = NULL;
  NEED(gantry_cancel_create(&cancel) == GANTRY_OK);
  gantry_cancel_set(cancel);
  request.graph = graph;
  request.cancel = cancel;
  REFUSED(gantry_compile(&request, &artifact), GANTRY_CANCELLED, "the compilation was cancelled");
  gantry_cancel_destroy(cancel);
  /* The graph's context does not look at the token any more. */
  expect_square_and_add(compile(graph));
  gantry_graph_destroy(graph);
}

static void test_op_table(void) {
  const char *json = gantry_op_table_json();
  EXPECT(strncmp(json, "{\"version\":1,\"ops\":[{\"name\":\"abs\",", 34) == 0);
  EXPECT(strstr(json, "{\"name\":\"mask\",\"arity\":\"optional\",\"elements\":[\"f32\",\"f64\","
                      "\"f16\",\"bf16\"]}"));
  EXPECT(strstr(json, "{\"name\":\"mode\",\"kind\":\"enum\",\"optional\":false,\"enum\":{\"name\":"
                      "\"pad_mode\",\"cases\":[\"constant\",\"reflect\",\"edge\",\"wrap\"]}}"));
  /* Of the first operand, which is the condition, and of what is made of a key. */
  EXPECT(strstr(json, "\"kernel\":[\"i1\"],\"infers_types\":true,\"log_name\":\"SelectV2\""));
  EXPECT(strstr(json, "\"kernel\":[\"f32\",\"f64\",\"f16\",\"bf16\"],\"infers_types\":false,"
                      "\"log_name\":\"RandomUniform"));
  EXPECT(strstr(json, "\"regions\":[{\"name\":\"then_body\",\"variadic\":false}"));
}

int main(void) {
  const gantry_compiler_options_t one_thread = {.struct_size = sizeof one_thread, .threads = 1};
  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  for (int with_compiler = 0; with_compiler < 2; ++with_compiler) {
    if (with_compiler)
      NEED(gantry_compiler_create(&one_thread, &compiler) == GANTRY_OK);
    test_running_a_graph();
    test_types();
    test_attributes();
    test_control_flow();
    test_inputs_that_come_late();
    test_variables();
    test_borrowed_constants();
    test_diagnostics_of_the_builder();
    test_diagnostics_of_the_compiler();
    test_device_scopes();
    test_wrong_ops();
    test_wrong_attributes();
    test_wrong_order();
    test_wrong_regions();
    test_same_plan_again();
    if (with_compiler)
      test_requests();
  }
  test_op_table();
  /* Graphs outlive their compiler. */
  gantry_graph_t *graph = square_and_add();
  gantry_compiler_destroy(compiler);
  expect_square_and_add(compile(graph));
  gantry_graph_destroy(graph);
  gantry_runtime_destroy(runtime);
  if (failures == 0)
    printf("graphs: all as expected\n");
  return failures != 0;
}
