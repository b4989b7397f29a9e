/* Compiles a graph from memory and runs the plan, without a file in between.
 *
 * The graph is an ONNX model, y = -reshape(x, s): the shape of y depends on the value of s, so that
 * value is given to the compiler, as an array. What is left to give at run time is x. */
#include "gantry-c/compiler.h"
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>

/* A ModelProto, a line a field: number and kind, length, content. */
static const char model[] = "\x08\x08"                                   /* IR version 8 */
                            "B\x04\n\x00\x10\x11"                        /* opset 17 */
                            ":U"                                         /* graph, 85 bytes */
                            "\n\x12\n\x01x\n\x01s\x12\x01r\"\x07Reshape" /* r = Reshape(x, s) */
                            "\n\x0b\n\x01r\x12\x01y\"\x03Neg"            /* y = Neg(r) */
                            "\x12\x01g"                                  /* name g */
                            "Z\x13\n\x01x\x12\x0e\n\x0c\x08\x01\x12\x08\n\x02\x08\x02\n\x02\x08\x03"
                            /* input x: float[2,3] */
                            "Z\x0f\n\x01s\x12\n\n\x08\x08\x07\x12\x04\n\x02\x08\x02"
                            /* input s: int64[2] */
                            "b\t\n\x01y\x12\x04\n\x02\x08\x01"; /* output y: float */

static void check(gantry_status_t status) {
  if (status != GANTRY_OK) {
    fprintf(stderr, "error: %s\n", gantry_last_error());
    exit(1);
  }
}

/* The plan owns what it was loaded from. */
static void release(void *artifact) { gantry_artifact_destroy(artifact); }

static gantry_artifact_t *compile(void) {
  int64_t shape[] = {3, 2}, two[] = {2};
  const gantry_value_t value = {
      .name = "s", .element = GANTRY_I64, .rank = 1, .dims = two, .data = shape};
  gantry_compile_request_t request = {.struct_size = sizeof request};
  gantry_artifact_t *artifact = NULL;
  request.data = model;
  request.data_size = sizeof model - 1;
  request.name = "model.onnx";
  request.values = &value;
  request.num_values = 1;
  if (gantry_compile(&request, &artifact) != GANTRY_OK) {
    fprintf(stderr, "error: %s\n", gantry_compiler_last_error());
    exit(1);
  }
  return artifact;
}

static void print(gantry_plan_t *plan, gantry_bindings_t *bindings) {
  gantry_tensor_info_t info;
  const void *data = NULL;
  check(gantry_plan_output(plan, 0, 0, &info));
  check(gantry_bindings_output_at(bindings, 0, &data));
  printf("%s: %d by %d:", info.name, (int)info.dims[0], (int)info.dims[1]);
  for (size_t i = 0; i < info.size / sizeof(float); ++i)
    printf(" %g", ((const float *)data)[i]);
  printf("\n");
}

int main(void) {
  static const float x[] = {1, 2, 3, 4, 5, 6};
  static const int64_t dims[] = {2, 3};
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  gantry_fence_t *fence = NULL;
  size_t size = 0;
  gantry_artifact_t *artifact = compile();
  const void *bytes = gantry_artifact_data(artifact, &size);

  check(gantry_runtime_create(NULL, &runtime));
  check(gantry_plan_load_memory(runtime, bytes, size, release, artifact, &plan));
  check(gantry_session_create(plan, NULL, &session));
  check(gantry_bindings_create(plan, 0, &bindings));
  check(gantry_bindings_set_input(bindings, "x", x, GANTRY_F32, dims, 2));

  int done = 0;
  check(gantry_session_submit(session, bindings, &fence));
  check(gantry_fence_poll(fence, &done));
  while (!done) {
    /* Here is time for something else. */
    check(gantry_fence_wait_for(fence, 1000000, &done));
  }
  print(plan, bindings);

  gantry_fence_destroy(fence);
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
  return 0;
}
