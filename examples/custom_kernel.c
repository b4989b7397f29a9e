/* A kernel of the program's own. The graph has an op of that name,
 *
 *   %y = gantry.custom "example.softsign"(%x) : (tensor<8xf32>) -> tensor<8xf32>
 *
 * and the plan that is compiled from it looks the kernel up when it is loaded.
 *   custom_kernel PLAN        input 0 is f32, 0, 1, 2, ... */
#include "gantry-c/runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Computes work items begin..end-1, each on its own: the runtime may cut the range in any way and
 * run the parts on several threads. buffers: the operands, then the results. */
static void softsign(void *const *buffers, int64_t begin, int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] / (1 + fabsf(x[i]));
}

static void check(gantry_status_t status) {
  if (status != GANTRY_OK) {
    fprintf(stderr, "error: %s\n", gantry_last_error());
    exit(1);
  }
}

int main(int argc, char **argv) {
  gantry_runtime_t *runtime;
  gantry_plan_t *plan;
  gantry_session_t *session;
  gantry_bindings_t *bindings;
  gantry_tensor_info_t x, y;
  const void *result;
  check(gantry_runtime_create(NULL, &runtime));
  check(gantry_kernel_register(runtime, "example.softsign", softsign)); /* before loading */
  check(gantry_plan_load(runtime, argc > 1 ? argv[1] : "custom.gantry", &plan));
  check(gantry_session_create(plan, NULL, &session));
  check(gantry_bindings_create(plan, 0, &bindings));

  check(gantry_plan_input(plan, 0, 0, &x));
  float *values = malloc(x.size + 1);
  for (size_t i = 0; i < x.size / sizeof *values; ++i)
    values[i] = (float)i;
  check(gantry_bindings_set_input_at(bindings, 0, values, GANTRY_F32, x.dims, x.rank));
  check(gantry_session_run(session, bindings));

  check(gantry_plan_output(plan, 0, 0, &y));
  check(gantry_bindings_output_at(bindings, 0, &result));
  for (size_t i = 0; i < y.size / sizeof(float); ++i)
    printf("%g ", ((const float *)result)[i]);
  printf("\n");

  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
  free(values);
  return 0;
}
