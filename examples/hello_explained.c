/* Runs a plan, with a word about each step. Compile it as C11 and link libgantry-runtime alone:
 *
 *   gantry compile model.onnx -o model.gantry
 *   cc hello_explained.c -lgantry-runtime -o hello && ./hello model.gantry [FUNCTION]
 */
#include "gantry-c/runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call returns a status. The message that goes with a failure belongs to the calling thread
 * and lasts until its next failure. */
static void check(gantry_status_t status, const char *doing) {
  if (status == GANTRY_OK)
    return;
  fprintf(stderr, "error: %s: %s\n", doing, gantry_last_error());
  exit(status == GANTRY_DOES_NOT_FIT ? 3 : 1);
}

/* What the runtime has to say arrives here, from whatever thread it happens in. */
static void print_log(void *context, gantry_severity_t severity, const char *text) {
  (void)context;
  fprintf(stderr, "%s: %s\n", severity >= GANTRY_SEVERITY_WARNING ? "warning" : "note", text);
}

/* Gantry uses arrays in place when they begin at a 64-byte boundary, and copies others through an
 * aligned buffer at each run. aligned_alloc wants a size that is a multiple of the alignment. */
static void *allocate(uint64_t size) {
  void *data = aligned_alloc(64, (size_t)((size + 64) / 64 * 64));
  if (!data)
    abort();
  return memset(data, 0, (size_t)size);
}

static void print_type(const gantry_tensor_info_t *info) {
  static const char *const names[] = {"f32", "f64", "f16", "bf16", "i8",  "u8", "i16",
                                      "u16", "i32", "u32", "i64",  "u64", "i1"};
  printf("%s[", names[info->element]);
  for (uint32_t i = 0; i < info->rank; ++i)
    printf("%s%" PRId64, i ? "," : "", info->dims[i]);
  printf("] on %s", info->device);
}

static void print_first_values(const gantry_tensor_info_t *info, const void *data) {
  if (info->element != GANTRY_F32)
    return;
  uint64_t count = info->size / sizeof(float);
  for (uint64_t i = 0; i < count && i < 8; ++i)
    printf(" %g", ((const float *)data)[i]);
  printf("%s\n", count > 8 ? " ..." : "");
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s PLAN [FUNCTION]\n", argv[0]);
    return 2;
  }

  /* The runtime owns the devices, the threads and the log. Options that are zero mean the default;
   * struct_size lets a newer library understand an older program. */
  gantry_runtime_options_t options = {0};
  options.struct_size = sizeof options;
  options.log = print_log;
  gantry_runtime_t *runtime = NULL;
  check(gantry_runtime_create(&options, &runtime), "starting");

  /* A plan is mapped, not read: its weights are used where the file lies in memory. */
  gantry_plan_t *plan = NULL;
  check(gantry_plan_load(runtime, argv[1], &plan), "loading");

  /* A plan holds one function or several (train, predict, one per batch size). */
  uint32_t function = 0;
  if (argc > 2)
    check(gantry_plan_find_function(plan, argv[2], &function), "choosing a function");
  printf("function %s\n", gantry_plan_function_name(plan, function));

  /* A session is the memory to run in. Threads may share one and then take turns; for runs at the
   * same time, make several: they share the weights. */
  gantry_session_t *session = NULL;
  check(gantry_session_create(plan, NULL, &session), "creating a session");

  /* Bindings say where inputs come from and outputs go to. They stay bound from run to run. */
  gantry_bindings_t *bindings = NULL;
  check(gantry_bindings_create(plan, function, &bindings), "creating bindings");
  uint32_t num_inputs = gantry_plan_num_inputs(plan, function);
  void **arrays = calloc(num_inputs + 1, sizeof *arrays);
  for (uint32_t i = 0; i < num_inputs; ++i) {
    gantry_tensor_info_t info;
    check(gantry_plan_input(plan, function, i, &info), "asking for an input");
    printf("input %s: ", info.name);
    print_type(&info);
    printf("\n");
    arrays[i] = allocate(info.size);
    if (info.element == GANTRY_F32)
      for (uint64_t k = 0; k < info.size / sizeof(float); ++k)
        ((float *)arrays[i])[k] = (float)k;
    check(gantry_bindings_set_input(bindings, info.name, arrays[i], info.element, info.dims,
                                    info.rank),
          "binding an input");
  }

  /* run is submit and wait in one. */
  gantry_fence_t *fence = NULL;
  check(gantry_session_submit(session, bindings, &fence), "submitting");
  check(gantry_fence_wait(fence), "running");
  gantry_fence_destroy(fence);

  /* Outputs that nobody bound lie in memory of the bindings' until the next run. */
  for (uint32_t i = 0; i < gantry_plan_num_outputs(plan, function); ++i) {
    gantry_tensor_info_t info;
    const void *data = NULL;
    check(gantry_plan_output(plan, function, i, &info), "asking for an output");
    check(gantry_bindings_output_at(bindings, i, &data), "reading an output");
    printf("output %s: ", info.name);
    print_type(&info);
    printf("\n ");
    print_first_values(&info, data);
  }

  /* What was used: the counters equal the plan. */
  for (size_t i = 0; i < gantry_runtime_num_devices(runtime); ++i) {
    gantry_device_info_t device = {.struct_size = sizeof device};
    check(gantry_runtime_device(runtime, i, &device), "asking for a device");
    printf("%s: %" PRIu64 " bytes in use, %" PRIu64 " bytes of constants in place, %" PRIu64
           " copies\n",
           device.name, device.bytes_in_use, device.mapped_bytes, device.copies);
  }

  /* In any order: each keeps what it needs. */
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
  for (uint32_t i = 0; i < num_inputs; ++i)
    free(arrays[i]);
  free(arrays);
  return 0;
}
