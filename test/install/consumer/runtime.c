/* A program of somebody else: uses what was installed, of the runtime half alone. */
#include <gantry-c/runtime.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  gantry_runtime_t *runtime = NULL;
  if (gantry_runtime_create(NULL, &runtime) != GANTRY_OK)
    return fprintf(stderr, "no runtime: %s\n", gantry_last_error()), 1;

  gantry_plan_t *plan = NULL;
  gantry_status_t status = gantry_plan_load_memory(runtime, "not a plan", 10, NULL, NULL, &plan);
  if (status != GANTRY_CORRUPT || plan != NULL || strlen(gantry_last_error()) == 0)
    return fprintf(stderr, "ten bytes were taken for a plan: status %d\n", status), 1;

  printf("gantry %s, %u threads\n", gantry_runtime_version(), gantry_runtime_threads(runtime));
  gantry_runtime_destroy(runtime);
  return 0;
}
