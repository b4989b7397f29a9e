/* Runs a plan once and prints its outputs, in as few lines as it takes.
 *   hello_terse PLAN          every input is 0, 1, 2, ... (f32 only) */
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>

static void check(gantry_status_t status) {
  if (status != GANTRY_OK) {
    fprintf(stderr, "error: %s\n", gantry_last_error());
    exit(1);
  }
}

int main(int argc, char **argv) {
  static gantry_runtime_t *runtime; /* static: nothing is destroyed, all lives until the end */
  static gantry_plan_t *plan;
  static gantry_session_t *session;
  static gantry_bindings_t *bindings;
  gantry_tensor_info_t info;
  check(gantry_runtime_create(NULL, &runtime));
  check(gantry_plan_load(runtime, argc > 1 ? argv[1] : "model.gantry", &plan));
  check(gantry_session_create(plan, NULL, &session));
  check(gantry_bindings_create(plan, 0, &bindings));
  for (uint32_t i = 0; i < gantry_plan_num_inputs(plan, 0); ++i) {
    check(gantry_plan_input(plan, 0, i, &info));
    float *values = malloc(info.size + 1);
    for (size_t k = 0; k < info.size / sizeof *values; ++k)
      values[k] = (float)k;
    check(gantry_bindings_set_input_at(bindings, i, values, GANTRY_F32, info.dims, info.rank));
  }
  check(gantry_session_run(session, bindings));
  for (uint32_t i = 0; i < gantry_plan_num_outputs(plan, 0); ++i) {
    const void *data;
    check(gantry_plan_output(plan, 0, i, &info));
    check(gantry_bindings_output_at(bindings, i, &data));
    printf("%s:", info.name);
    for (size_t k = 0; info.element == GANTRY_F32 && k < info.size / sizeof(float); ++k)
      printf(" %g", ((const float *)data)[k]);
    printf("\n");
  }
  return 0;
}
