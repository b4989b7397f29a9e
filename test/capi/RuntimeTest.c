/* The whole runtime API from C: every call at least once, the failures with their words.
 *   gantry-capi-test FOLDER     with the plans of MakePlans.cpp */
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: not true: %s (last error: %s)\n", __FILE__, __LINE__, #condition,    \
              gantry_last_error());                                                                \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)
#define EXPECT_ERROR(call, code, text)                                                             \
  do {                                                                                             \
    EXPECT((call) == (code));                                                                      \
    EXPECT(strstr(gantry_last_error(), text) != NULL);                                             \
  } while (0)
#define NEED(call)                                                                                 \
  do {                                                                                             \
    if ((call) != GANTRY_OK) {                                                                     \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, gantry_last_error());          \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

static char path_buffer[4096];
static const char *in_folder(const char *folder, const char *name) {
  snprintf(path_buffer, sizeof path_buffer, "%s/%s", folder, name);
  return path_buffer;
}

static void test_runtime(void) {
  gantry_runtime_options_t options = {0};
  gantry_runtime_t *runtime = NULL;
  EXPECT_ERROR(gantry_runtime_create(&options, &runtime), GANTRY_INVALID_ARGUMENT, "struct_size");
  EXPECT(runtime == NULL);
  options.struct_size = sizeof options;
  options.threads = 2;
  NEED(gantry_runtime_create(&options, &runtime));
  EXPECT(gantry_runtime_threads(runtime) == 2);
  EXPECT(gantry_runtime_num_devices(runtime) == 0); /* none is used yet */
  EXPECT(strcmp(gantry_runtime_version(), "0.1.0") == 0);
  EXPECT_ERROR(gantry_runtime_create(NULL, NULL), GANTRY_INVALID_ARGUMENT, "null pointer");

  /* Devices can be configured until a plan is loaded; test_hello comes too late. */
  const char *bindings[] = {"GPU:0=GPU:3", "GPU:1"};
  gantry_runtime_options_t devices = {.struct_size = sizeof devices, .sim_order = "random:1"};
  devices.bindings = bindings;
  devices.num_bindings = 1;
  NEED(gantry_runtime_configure_devices(runtime, &devices));
  devices.num_bindings = 2;
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &devices), GANTRY_INVALID_ARGUMENT,
               "GPU:0=GPU:3");
  devices.bindings = NULL;
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &devices), GANTRY_INVALID_ARGUMENT,
               "null pointer");
  devices.num_bindings = 0;
  devices.sim_order = "sideways";
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &devices), GANTRY_INVALID_ARGUMENT,
               "virtual and random:SEED");
  gantry_runtime_destroy(runtime);
  gantry_runtime_destroy(NULL);
}

static void test_queries(gantry_plan_t *plan) {
  gantry_tensor_info_t info;
  uint32_t index = 9;
  const char *json = NULL;
  EXPECT(gantry_plan_num_functions(plan) == 1);
  EXPECT(strcmp(gantry_plan_function_name(plan, 0), "main") == 0);
  EXPECT(gantry_plan_function_name(plan, 1) == NULL);
  NEED(gantry_plan_find_function(plan, "main", &index));
  EXPECT(index == 0);
  EXPECT_ERROR(gantry_plan_find_function(plan, "x", &index), GANTRY_NOT_FOUND, "'main'");
  EXPECT(gantry_plan_num_inputs(plan, 0) == 1 && gantry_plan_num_outputs(plan, 0) == 1);
  EXPECT(gantry_plan_num_inputs(plan, 1) == 0 && gantry_plan_num_outputs(plan, 1) == 0);
  NEED(gantry_plan_input(plan, 0, 0, &info));
  EXPECT(strcmp(info.name, "x") == 0 && info.element == GANTRY_F32 && info.rank == 1);
  EXPECT(info.dims[0] == 4 && info.size == 16 && strstr(info.device, "CPU:0"));
  NEED(gantry_plan_output(plan, 0, 0, &info));
  EXPECT(strcmp(info.name, "y") == 0);
  EXPECT_ERROR(gantry_plan_output(plan, 0, 1, &info), GANTRY_INVALID_ARGUMENT, "no number 1 of 1");
  EXPECT_ERROR(gantry_plan_input(plan, 3, 0, &info), GANTRY_INVALID_ARGUMENT, "function number 3");
  NEED(gantry_plan_find_input(plan, 0, "x", &index));
  NEED(gantry_plan_find_output(plan, 0, "y", &index));
  EXPECT_ERROR(gantry_plan_find_input(plan, 0, "z", &index), GANTRY_NOT_FOUND, "'x' f32[4]");
  NEED(gantry_plan_describe_json(plan, &json));
  EXPECT(json[0] == '{' && strstr(json, "\"symbol\":\"add_f32\""));
}

static void test_bindings(gantry_bindings_t *bindings, float *x, float *y) {
  int64_t dims[] = {4}, other[] = {2, 2};
  const void *data = NULL;
  EXPECT_ERROR(gantry_bindings_set_input(bindings, "x", x, GANTRY_F32, other, 2),
               GANTRY_INVALID_ARGUMENT, "expected f32[4], got f32[2,2]");
  EXPECT_ERROR(gantry_bindings_set_input(bindings, "x", x, (gantry_element_type_t)15, dims, 1),
               GANTRY_INVALID_ARGUMENT, "unknown element type 15");
  EXPECT_ERROR(gantry_bindings_set_input(bindings, "x", x, GANTRY_F32, NULL, 1),
               GANTRY_INVALID_ARGUMENT, "null pointer");
  EXPECT_ERROR(gantry_bindings_set_input(bindings, "z", x, GANTRY_F32, dims, 1), GANTRY_NOT_FOUND,
               "the inputs are 'x' f32[4]");
  NEED(gantry_bindings_output(bindings, "y", &data)); /* memory of the bindings' own */
  EXPECT(data != NULL && data != y);
  NEED(gantry_bindings_set_input(bindings, "x", x, GANTRY_F32, dims, 1));
  NEED(gantry_bindings_set_input_at(bindings, 0, x, GANTRY_F32, dims, 1));
  NEED(gantry_bindings_set_output(bindings, "y", y, GANTRY_F32, dims, 1));
  NEED(gantry_bindings_set_output_at(bindings, 0, y, GANTRY_F32, dims, 1));
  NEED(gantry_bindings_output_at(bindings, 0, &data));
  EXPECT(data == y);
}

static void test_running(gantry_session_t *session, gantry_bindings_t *bindings, float *y) {
  gantry_fence_t *fence = NULL;
  gantry_command_time_t times[1];
  size_t count = 0;
  NEED(gantry_session_run(session, bindings));
  EXPECT(y[0] == 12 && y[3] == 24);
  y[0] = 0;
  NEED(gantry_session_submit(session, bindings, &fence));
  NEED(gantry_fence_wait(fence));
  EXPECT(gantry_fence_done(fence) == 1 && y[0] == 12);
  gantry_fence_destroy(fence);
  NEED(gantry_session_run_timed(session, bindings, times, 1, &count));
  EXPECT(count == 2); /* more than fit */
  EXPECT(strcmp(times[0].name, "sum") == 0 && strcmp(times[0].kernel, "add_f32") == 0);
  EXPECT(times[0].calls == 1 && strstr(times[0].device, "CPU:0") && !times[0].location[0]);
}

static void test_hello(const char *folder) {
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  gantry_state_t *state = (gantry_state_t *)&runtime;
  gantry_device_info_t device = {0};
  float x[] = {1, 2, 3, 4}, y[4] = {0};

  NEED(gantry_runtime_create(NULL, &runtime));
  EXPECT_ERROR(gantry_plan_load(runtime, in_folder(folder, "absent.gantry"), &plan),
               GANTRY_NOT_FOUND, "absent.gantry");
  EXPECT(plan == NULL);
  NEED(gantry_plan_load(runtime, in_folder(folder, "hello.gantry"), &plan));
  test_queries(plan);
  NEED(gantry_session_create(plan, NULL, &session));
  NEED(gantry_session_state(session, &state));
  EXPECT(state == NULL); /* no variables */
  EXPECT_ERROR(gantry_bindings_create(plan, 5, &bindings), GANTRY_INVALID_ARGUMENT, "number 5");
  NEED(gantry_bindings_create(plan, 0, &bindings));
  EXPECT_ERROR(gantry_session_run(session, bindings), GANTRY_INVALID_ARGUMENT, "is not bound");
  test_bindings(bindings, x, y);
  test_running(session, bindings, y);

  EXPECT(gantry_runtime_num_devices(runtime) == 1);
  EXPECT_ERROR(gantry_runtime_device(runtime, 0, &device), GANTRY_INVALID_ARGUMENT, "struct_size");
  device.struct_size = sizeof device;
  NEED(gantry_runtime_device(runtime, 0, &device));
  EXPECT(strcmp(device.driver, "host") == 0 && device.total_bytes >= device.free_bytes);
  EXPECT(device.mapped_bytes == 16 && device.bytes_in_use >= 64);
  EXPECT(device.run_copies[GANTRY_COPY_SAME_DEVICE].copies == device.copies);
  EXPECT(device.load_copies[GANTRY_COPY_HOST_TO_DEVICE].bytes == 0);
  EXPECT_ERROR(gantry_runtime_device(runtime, 1, &device), GANTRY_INVALID_ARGUMENT,
               "number 1 of 1");

  gantry_runtime_options_t late = {.struct_size = sizeof late};
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &late), GANTRY_FAILED_PRECONDITION,
               "make another runtime");

  /* In the wrong order on purpose: each keeps what it needs. */
  gantry_runtime_destroy(runtime);
  gantry_plan_destroy(plan);
  NEED(gantry_session_run(session, bindings));
  gantry_session_destroy(session);
  gantry_bindings_destroy(bindings);
}

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  void *data = NULL;
  if (!file)
    exit(1);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  data = aligned_alloc(64, (*size + 63) / 64 * 64);
  if (fread(data, 1, *size, file) != *size)
    exit(1);
  fclose(file);
  return data;
}

static void count_release(void *context) { ++*(int *)context; }

static void test_memory(const char *folder) {
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  size_t size = 0;
  int released = 0;
  char *bytes = read_file(in_folder(folder, "hello.gantry"), &size);
  NEED(gantry_runtime_create(NULL, &runtime));
  NEED(gantry_plan_load_memory(runtime, bytes, size, NULL, NULL, &plan)); /* copied */
  gantry_plan_destroy(plan);
  NEED(gantry_plan_load_memory(runtime, bytes, size, count_release, &released, &plan));
  EXPECT(released == 0);
  gantry_plan_destroy(plan);
  EXPECT(released == 1);
  /* Released also when loading fails. */
  EXPECT_ERROR(gantry_plan_load_memory(runtime, bytes, size - 1, count_release, &released, &plan),
               GANTRY_CORRUPT, "cut off");
  EXPECT(released == 2 && plan == NULL);
  EXPECT_ERROR(
      gantry_plan_load_memory(runtime, bytes + 1, size - 1, count_release, &released, &plan),
      GANTRY_INVALID_ARGUMENT, "64-byte boundary");
  EXPECT(released == 3);
  gantry_runtime_destroy(runtime);
  free(bytes);
}

static void negate(void *const *buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    ((float *)buffers[1])[i] = -((const float *)buffers[0])[i];
}

static void test_custom_kernel(const char *folder) {
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  float x[] = {1, 2, 3, 4};
  int64_t dims[] = {4};
  const void *y = NULL;
  NEED(gantry_runtime_create(NULL, &runtime));
  EXPECT_ERROR(gantry_plan_load(runtime, in_folder(folder, "custom.gantry"), &plan),
               GANTRY_NOT_FOUND, "no kernel 'example.softsign' is registered");
  EXPECT_ERROR(gantry_kernel_register(runtime, "example.softsign", NULL), GANTRY_INVALID_ARGUMENT,
               "has no function");
  NEED(gantry_kernel_register(runtime, "example.softsign", negate));
  NEED(gantry_plan_load(runtime, in_folder(folder, "custom.gantry"), &plan));
  NEED(gantry_session_create(plan, NULL, &session));
  NEED(gantry_bindings_create(plan, 0, &bindings));
  NEED(gantry_bindings_set_input_at(bindings, 0, x, GANTRY_F32, dims, 1));
  NEED(gantry_session_run(session, bindings));
  NEED(gantry_bindings_output_at(bindings, 0, &y));
  EXPECT(((const float *)y)[3] == -4);
  gantry_bindings_destroy(bindings);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
}

static void test_state(const char *folder) {
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  gantry_state_t *state = NULL, *same = NULL;
  gantry_session_t *session = NULL;
  gantry_bindings_t *step = NULL;
  gantry_tensor_info_t info;
  float x[] = {1, 2, 3, 4}, v[] = {10, 10, 10, 10};
  int64_t dims[] = {4};
  NEED(gantry_runtime_create(NULL, &runtime));
  NEED(gantry_plan_load(runtime, in_folder(folder, "counter.gantry"), &plan));
  NEED(gantry_state_create(plan, &state));
  EXPECT(gantry_state_num_variables(state) == 1);
  NEED(gantry_state_variable(state, 0, &info));
  EXPECT(strcmp(info.name, "v") == 0 && info.size == 16);
  EXPECT_ERROR(gantry_state_variable(state, 1, &info), GANTRY_INVALID_ARGUMENT, "number 1 of 1");
  NEED(gantry_state_write(state, "v", v, sizeof v));
  EXPECT_ERROR(gantry_state_write(state, "v", v, 4), GANTRY_INVALID_ARGUMENT,
               "has 16 bytes, got 4");
  EXPECT_ERROR(gantry_state_read(state, "w", v, 16), GANTRY_NOT_FOUND, "the variables are 'v'");
  NEED(gantry_session_create(plan, state, &session));
  NEED(gantry_session_state(session, &same));
  NEED(gantry_bindings_create(plan, 0, &step));
  NEED(gantry_bindings_set_input(step, "x", x, GANTRY_F32, dims, 1));
  NEED(gantry_session_run(session, step));
  NEED(gantry_state_read(same, "v", v, sizeof v));
  EXPECT(v[0] == 11 && v[3] == 14);
  gantry_bindings_destroy(step);
  gantry_session_destroy(session);
  gantry_state_destroy(same);
  gantry_state_destroy(state);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  test_runtime();
  test_hello(argv[1]);
  test_memory(argv[1]);
  test_custom_kernel(argv[1]);
  test_state(argv[1]);
  if (failures)
    fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
