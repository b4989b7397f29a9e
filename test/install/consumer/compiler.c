/* A program of somebody else: compiles the graph that it is given with what was installed. */
#include <gantry-c/compiler.h>

#include <stdio.h>

int main(int argc, char **argv) {
  if (argc != 2)
    return fprintf(stderr, "usage: consumer GRAPH\n"), 2;
  gantry_compile_request_t request = {.struct_size = sizeof request, .file = argv[1]};
  gantry_artifact_t *plan = NULL;
  if (gantry_compile(&request, &plan) != GANTRY_OK)
    return fprintf(stderr, "no plan: %s\n", gantry_compiler_last_error()), 1;
  size_t size = 0;
  gantry_artifact_data(plan, &size);
  printf("gantry %s made a plan of %zu bytes\n", gantry_compiler_version(), size);
  gantry_artifact_destroy(plan);
  return size == 0;
}
