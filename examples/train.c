/* Trains a line through points, on from the variables in FILE where it is there, and writes them back.
 *
 *   train FILE.safetensors    y = 2 a - b + 3, from 8 points: w becomes 2 -1, b becomes 3
 *
 * What computes a loss is enough: the flags "train", "optimizer" and "trainable", those of the tool,
 * make variables of the graph's named constants, and two functions of the graph. `step` gives the
 * loss, and the variables their next values; `evaluate` gives what the graph gives. A model in an
 * ONNX file is trained in the same way: `request.file` names it. */
#include "gantry-c/compiler.h"
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>

static const char graph[] =
    "func.func @line(%x: tensor<8x2xf32> {gantry.name = \"x\"},\n"
    "                %y: tensor<8x1xf32> {gantry.name = \"y\"})\n"
    "    -> (tensor<8x1xf32> {gantry.name = \"guess\"}, tensor<f32> {gantry.name = \"loss\"}) {\n"
    "  %w = gantry.constant {gantry.name = \"w\"} dense<0.0> : tensor<2x1xf32>\n"
    "  %b = gantry.constant {gantry.name = \"b\"} dense<0.0> : tensor<1xf32>\n"
    "  %0 = gantry.matmul %x, %w : (tensor<8x2xf32>, tensor<2x1xf32>) -> tensor<8x1xf32>\n"
    "  %1 = gantry.add %0, %b : (tensor<8x1xf32>, tensor<1xf32>) -> tensor<8x1xf32>\n"
    "  %2 = gantry.sub %1, %y : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>\n"
    "  %3 = gantry.mul %2, %2 : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>\n"
    "  %4 = gantry.reduce_mean %3 {axes = array<i64: 0, 1>} : (tensor<8x1xf32>) -> tensor<f32>\n"
    "  return %1, %4 : tensor<8x1xf32>, tensor<f32>\n"
    "}\n";

static void fail(const char *why) {
  fprintf(stderr, "error: %s\n", why);
  exit(1);
}

static void check(gantry_status_t status) {
  if (status != GANTRY_OK)
    fail(gantry_last_error());
}

static gantry_artifact_t *compile(void) {
  const char *flags[] = {"train=loss", "optimizer=adam,rate=0.1"};
  gantry_compile_request_t request = {.struct_size = sizeof request};
  gantry_artifact_t *artifact = NULL;
  request.data = graph;
  request.data_size = sizeof graph - 1;
  request.name = "line.mlir";
  request.flags = flags;
  request.num_flags = sizeof flags / sizeof *flags;
  if (gantry_compile(&request, &artifact) != GANTRY_OK)
    fail(gantry_compiler_last_error());
  return artifact;
}

/* The plan owns what it was loaded from. */
static void release(void *artifact) { gantry_artifact_destroy(artifact); }

/* What a function is called with: each has bindings of its own, for its own outputs. */
static gantry_bindings_t *bind(gantry_plan_t *plan, const char *name, const float *x,
                               const float *y) {
  static const int64_t x_dims[] = {8, 2}, y_dims[] = {8, 1};
  gantry_bindings_t *bindings = NULL;
  uint32_t function = 0;
  check(gantry_plan_find_function(plan, name, &function));
  check(gantry_bindings_create(plan, function, &bindings));
  check(gantry_bindings_set_input(bindings, "x", x, GANTRY_F32, x_dims, 2));
  check(gantry_bindings_set_input(bindings, "y", y, GANTRY_F32, y_dims, 2));
  return bindings;
}

static float loss_of(gantry_session_t *session, gantry_bindings_t *bindings) {
  const void *loss = NULL;
  check(gantry_session_run(session, bindings));
  check(gantry_bindings_output(bindings, "loss", &loss));
  return *(const float *)loss;
}

int main(int argc, char **argv) {
  static gantry_runtime_t *runtime; /* static: nothing is destroyed, all lives until the end */
  static gantry_plan_t *plan;
  static gantry_state_t *state;
  static gantry_session_t *session;
  float x[16], y[8], w[2], b[1];
  size_t size = 0;
  if (argc != 2)
    fail("usage: train FILE.safetensors");
  for (int i = 0; i < 8; ++i) {
    x[2 * i] = (float)(i % 4) - 1.5f;
    x[2 * i + 1] = (float)(i / 4) - 0.5f;
    y[i] = 2 * x[2 * i] - x[2 * i + 1] + 3;
  }
  gantry_artifact_t *artifact = compile();
  const void *bytes = gantry_artifact_data(artifact, &size);
  check(gantry_runtime_create(NULL, &runtime));
  check(gantry_plan_load_memory(runtime, bytes, size, release, artifact, &plan));
  check(gantry_state_create(plan, &state)); /* w and b, what adam keeps of them, and the step */
  const gantry_status_t loaded = gantry_state_load(state, argv[1], NULL, 0);
  if (loaded != GANTRY_NOT_FOUND)
    check(loaded);
  check(gantry_session_create(plan, state, &session));
  gantry_bindings_t *step = bind(plan, "step", x, y), *look = bind(plan, "evaluate", x, y);

  printf("loss before: %.3f\n", loss_of(session, look));
  for (int i = 0; i < 200; ++i)
    loss_of(session, step);
  printf("loss after 200 steps: %.3f\n", loss_of(session, look));
  check(gantry_state_read(state, "w", w, sizeof w));
  check(gantry_state_read(state, "b", b, sizeof b));
  printf("w: %.2f %.2f, b: %.2f\n", w[0], w[1], b[0]);
  check(gantry_state_save(state, argv[1], "{\"made by\": \"examples/train.c\"}"));
  return 0;
}
