/* The whole runtime API from C: every call at least once, the failures with their words.
 *   gantry-capi-test FOLDER     with the plans of MakePlans.cpp */
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Expect.h"

#define EXPECT_ERROR(call, code, text)                                                             \
  do {                                                                                             \
    EXPECT((call) == (code));                                                                      \
    EXPECT(strstr(gantry_last_error(), text) != NULL);                                             \
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
  NEED(gantry_runtime_create(&options, &runtime) == GANTRY_OK);
  EXPECT(gantry_runtime_threads(runtime) == 2);
  EXPECT(gantry_runtime_num_devices(runtime) == 0); /* none is used yet */
  EXPECT(strcmp(gantry_runtime_version(), "0.1.0") == 0);
  EXPECT_ERROR(gantry_runtime_create(NULL, NULL), GANTRY_INVALID_ARGUMENT, "null pointer");

  /* Devices can be configured until a plan is loaded; test_hello comes too late. */
  const char *bindings[] = {"GPU:0=GPU:3", "GPU:1"};
  gantry_runtime_options_t devices = {.struct_size = sizeof devices, .sim_order = "random:1"};
  devices.bindings = bindings;
  devices.num_bindings = 1;
  NEED(gantry_runtime_configure_devices(runtime, &devices) == GANTRY_OK);
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
  gantry_kernel_choice_t choice = {0};
  const char *json = NULL;
  EXPECT(gantry_plan_num_functions(plan) == 1);
  EXPECT(strcmp(gantry_plan_function_name(plan, 0), "main") == 0);
  EXPECT(gantry_plan_function_name(plan, 1) == NULL);
  NEED(gantry_plan_find_function(plan, "main", &index) == GANTRY_OK);
  EXPECT(index == 0);
  EXPECT_ERROR(gantry_plan_find_function(plan, "x", &index), GANTRY_NOT_FOUND, "'main'");
  EXPECT(gantry_plan_num_inputs(plan, 0) == 1 && gantry_plan_num_outputs(plan, 0) == 1);
  EXPECT(gantry_plan_num_inputs(plan, 1) == 0 && gantry_plan_num_outputs(plan, 1) == 0);
  NEED(gantry_plan_input(plan, 0, 0, &info) == GANTRY_OK);
  EXPECT(strcmp(info.name, "x") == 0 && info.element == GANTRY_F32 && info.rank == 1);
  EXPECT(info.dims[0] == 4 && info.size == 16 && strstr(info.device, "CPU:0"));
  NEED(gantry_plan_output(plan, 0, 0, &info) == GANTRY_OK);
  EXPECT(strcmp(info.name, "y") == 0);
  EXPECT_ERROR(gantry_plan_output(plan, 0, 1, &info), GANTRY_INVALID_ARGUMENT,
               "no output number 1 of 1");
  EXPECT_ERROR(gantry_plan_input(plan, 3, 0, &info), GANTRY_INVALID_ARGUMENT, "function number 3");
  NEED(gantry_plan_find_input(plan, 0, "x", &index) == GANTRY_OK);
  NEED(gantry_plan_find_output(plan, 0, "y", &index) == GANTRY_OK);
  EXPECT_ERROR(gantry_plan_find_input(plan, 0, "z", &index), GANTRY_NOT_FOUND, "'x' f32[4]");
  EXPECT(gantry_plan_num_kernel_choices(plan) == 2 && gantry_plan_num_kernel_choices(NULL) == 0);
  EXPECT_ERROR(gantry_plan_kernel_choice(plan, 0, &choice), GANTRY_INVALID_ARGUMENT, "struct_size");
  choice.struct_size = sizeof choice;
  EXPECT_ERROR(gantry_plan_kernel_choice(plan, 2, &choice), GANTRY_INVALID_ARGUMENT,
               "there is no kernel choice number 2 of 2");
  NEED(gantry_plan_kernel_choice(plan, 0, &choice) == GANTRY_OK);
  EXPECT(strcmp(choice.kernel, "add_f32") == 0 && strcmp(choice.driver, "host") == 0);
  EXPECT(choice.variant == 0 && !choice.passed_over[0] && strstr(choice.device, "CPU:0"));
  EXPECT(strcmp(choice.description, "code") == 0);
  NEED(gantry_plan_describe_json(plan, &json) == GANTRY_OK);
  EXPECT(json[0] == '{' && strstr(json, "\"symbol\":\"add_f32\""));
  size_t size = 0;
  EXPECT(gantry_plan_data(plan, &size) && (uintptr_t)gantry_plan_data(plan, NULL) % 64 == 0);
  EXPECT(size > 0);
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
  NEED(gantry_bindings_output(bindings, "y", &data) == GANTRY_OK); /* memory of the bindings' own */
  EXPECT(data != NULL && data != y);
  NEED(gantry_bindings_set_input(bindings, "x", x, GANTRY_F32, dims, 1) == GANTRY_OK);
  NEED(gantry_bindings_set_input_at(bindings, 0, x, GANTRY_F32, dims, 1) == GANTRY_OK);
  NEED(gantry_bindings_set_output(bindings, "y", y, GANTRY_F32, dims, 1) == GANTRY_OK);
  NEED(gantry_bindings_set_output_at(bindings, 0, y, GANTRY_F32, dims, 1) == GANTRY_OK);
  NEED(gantry_bindings_output_at(bindings, 0, &data) == GANTRY_OK);
  EXPECT(data == y);
}

static void test_running(gantry_session_t *session, gantry_bindings_t *bindings, float *y) {
  gantry_fence_t *fence = NULL;
  gantry_command_time_t times[1];
  size_t count = 0;
  int done = 0;
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  size_t moments = 1; /* nothing is simulated */
  EXPECT(gantry_session_timeline(session, NULL, 0, &moments) == GANTRY_OK && moments == 0);
  EXPECT(gantry_session_timeline(session, NULL, 1, &moments) == GANTRY_INVALID_ARGUMENT);
  EXPECT(y[0] == 12 && y[3] == 24);
  y[0] = 0;
  NEED(gantry_session_submit(session, bindings, &fence) == GANTRY_OK);
  NEED(gantry_fence_wait(fence) == GANTRY_OK);
  EXPECT(gantry_fence_done(fence) == 1 && y[0] == 12);
  NEED(gantry_fence_poll(fence, &done) == GANTRY_OK);
  EXPECT(done == 1);
  done = 0;
  NEED(gantry_fence_wait_for(fence, UINT64_MAX, &done) == GANTRY_OK);
  EXPECT(done == 1);
  EXPECT_ERROR(gantry_fence_poll(NULL, &done), GANTRY_INVALID_ARGUMENT, "gantry_fence_poll");
  EXPECT_ERROR(gantry_fence_wait_for(fence, 0, NULL), GANTRY_INVALID_ARGUMENT,
               "gantry_fence_wait_for");
  gantry_fence_destroy(fence);
  NEED(gantry_session_run_timed(session, bindings, times, 1, &count) == GANTRY_OK);
  EXPECT(count == 2); /* more than fit */
  EXPECT(strcmp(times[0].name, "sum") == 0 && strcmp(times[0].kernel, "add_f32") == 0);
  EXPECT(times[0].calls == 1 && strstr(times[0].device, "CPU:0") && !times[0].location[0]);
}

static void test_names(void) {
  EXPECT(strcmp(gantry_status_name(GANTRY_OK), "OK") == 0);
  EXPECT(strcmp(gantry_status_name(GANTRY_DOES_NOT_FIT), "DOES_NOT_FIT") == 0);
  EXPECT(strcmp(gantry_status_name(GANTRY_CANCELLED), "CANCELLED") == 0);
  EXPECT(gantry_status_name((gantry_status_t)(GANTRY_CANCELLED + 1)) == NULL);
  EXPECT(gantry_status_name((gantry_status_t)-1) == NULL);
  EXPECT(gantry_element_size(GANTRY_F64) == 8 && gantry_element_size(GANTRY_BF16) == 2);
  EXPECT(gantry_element_size(GANTRY_I1) == 1);
  EXPECT(gantry_element_size((gantry_element_type_t)(GANTRY_I1 + 1)) == 0);
  EXPECT(strcmp(gantry_element_name(GANTRY_U16), "u16") == 0);
  EXPECT(gantry_element_name((gantry_element_type_t)-1) == NULL);
}

/* Before its first command here; between commands in test/unit/Runtime/SessionTest.cpp. */
static void test_cancelling(gantry_session_t *session, gantry_bindings_t *bindings) {
  gantry_cancel_t *cancel = NULL;
  NEED(gantry_cancel_create(&cancel) == GANTRY_OK);
  EXPECT_ERROR(gantry_cancel_create(NULL), GANTRY_INVALID_ARGUMENT, "null pointer");
  EXPECT(!gantry_cancel_is_set(cancel) && !gantry_cancel_is_set(NULL));
  NEED(gantry_bindings_set_cancel(bindings, cancel) == GANTRY_OK);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  gantry_cancel_set(cancel);
  EXPECT(gantry_cancel_is_set(cancel));
  EXPECT_ERROR(gantry_session_run(session, bindings), GANTRY_CANCELLED, "cancelled before this");
  gantry_cancel_reset(cancel);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  gantry_cancel_set(cancel);
  NEED(gantry_bindings_set_cancel(bindings, NULL) == GANTRY_OK);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  gantry_cancel_destroy(cancel);
  gantry_cancel_destroy(NULL);
}

/* What a failed call leaves behind: null pointers, and everything else as it was. */
static void test_failures_leave(const gantry_plan_t *plan, gantry_session_t *session,
                                gantry_bindings_t *bindings) {
  static const char dirt[] = "dirt";
  gantry_runtime_options_t unset = {0};
  gantry_runtime_t *runtime = (gantry_runtime_t *)dirt;
  gantry_plan_t *loaded = (gantry_plan_t *)dirt;
  gantry_state_t *state = (gantry_state_t *)dirt;
  gantry_session_t *made = (gantry_session_t *)dirt;
  gantry_bindings_t *bound = (gantry_bindings_t *)dirt;
  gantry_fence_t *fence = (gantry_fence_t *)dirt;
  const char *json = dirt;
  const void *data = dirt;
  EXPECT(gantry_runtime_create(&unset, &runtime) != GANTRY_OK && runtime == NULL);
  EXPECT(gantry_plan_load(NULL, "x", &loaded) != GANTRY_OK && loaded == NULL);
  loaded = (gantry_plan_t *)dirt;
  EXPECT(gantry_plan_load_memory(NULL, dirt, 4, NULL, NULL, &loaded) != GANTRY_OK);
  EXPECT(loaded == NULL);
  EXPECT(gantry_plan_describe_json(NULL, &json) != GANTRY_OK && json == NULL);
  size_t size = 1;
  EXPECT(gantry_plan_data(NULL, &size) == NULL && size == 0);
  EXPECT(gantry_state_create(NULL, &state) != GANTRY_OK && state == NULL);
  state = (gantry_state_t *)dirt;
  EXPECT(gantry_session_state(NULL, &state) != GANTRY_OK && state == NULL);
  EXPECT(gantry_session_create(NULL, NULL, &made) != GANTRY_OK && made == NULL);
  EXPECT(gantry_bindings_create(plan, 99, &bound) != GANTRY_OK && bound == NULL);
  EXPECT(gantry_session_submit(session, NULL, &fence) != GANTRY_OK && fence == NULL);
  EXPECT(gantry_bindings_output(bindings, "nobody", &data) != GANTRY_OK && data == NULL);
  data = dirt;
  EXPECT(gantry_bindings_output_at(bindings, 99, &data) != GANTRY_OK && data == NULL);

  uint32_t index = 77;
  gantry_tensor_info_t info = {.rank = 77};
  gantry_kernel_choice_t choice = {.struct_size = sizeof choice, .variant = 77};
  size_t count = 77;
  int done = 77;
  EXPECT(gantry_plan_find_function(plan, "nobody", &index) != GANTRY_OK && index == 77);
  EXPECT(gantry_plan_find_input(plan, 0, "nobody", &index) != GANTRY_OK && index == 77);
  EXPECT(gantry_plan_find_output(plan, 99, "y", &index) != GANTRY_OK && index == 77);
  EXPECT(gantry_plan_input(plan, 0, 99, &info) != GANTRY_OK && info.rank == 77);
  EXPECT(gantry_plan_output(plan, 99, 0, &info) != GANTRY_OK && info.rank == 77);
  EXPECT(gantry_plan_kernel_choice(plan, 99, &choice) != GANTRY_OK && choice.variant == 77);
  gantry_cancel_t *cancel = NULL;
  NEED(gantry_cancel_create(&cancel) == GANTRY_OK);
  gantry_cancel_set(cancel);
  NEED(gantry_bindings_set_cancel(bindings, cancel) == GANTRY_OK);
  EXPECT(gantry_session_run_timed(session, bindings, NULL, 0, &count) != GANTRY_OK && count == 77);
  NEED(gantry_bindings_set_cancel(bindings, NULL) == GANTRY_OK);
  gantry_cancel_destroy(cancel);
  EXPECT(gantry_fence_poll(NULL, &done) != GANTRY_OK && done == 77);
}

static void test_hello(const char *folder) {
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  gantry_session_t *session = NULL;
  gantry_bindings_t *bindings = NULL;
  gantry_state_t *state = (gantry_state_t *)&runtime;
  gantry_device_info_t device = {0};
  float x[] = {1, 2, 3, 4}, y[4] = {0};

  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  EXPECT_ERROR(gantry_plan_load(runtime, in_folder(folder, "absent.gantry"), &plan),
               GANTRY_NOT_FOUND, "absent.gantry");
  EXPECT(plan == NULL);
  NEED(gantry_plan_load(runtime, in_folder(folder, "hello.gantry"), &plan) == GANTRY_OK);
  test_queries(plan);
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_session_state(session, &state) == GANTRY_OK);
  EXPECT(state == NULL); /* no variables */
  EXPECT_ERROR(gantry_bindings_create(plan, 5, &bindings), GANTRY_INVALID_ARGUMENT, "number 5");
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  EXPECT_ERROR(gantry_session_run(session, bindings), GANTRY_INVALID_ARGUMENT, "is not bound");
  test_bindings(bindings, x, y);
  test_running(session, bindings, y);
  test_cancelling(session, bindings);
  test_failures_leave(plan, session, bindings);

  EXPECT(gantry_runtime_num_devices(runtime) == 1);
  EXPECT_ERROR(gantry_runtime_device(runtime, 0, &device), GANTRY_INVALID_ARGUMENT, "struct_size");
  device.struct_size = sizeof device;
  NEED(gantry_runtime_device(runtime, 0, &device) == GANTRY_OK);
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
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
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
  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  NEED(gantry_plan_load_memory(runtime, bytes, size, NULL, NULL, &plan) == GANTRY_OK); /* copied */
  gantry_plan_destroy(plan);
  NEED(gantry_plan_load_memory(runtime, bytes, size, count_release, &released, &plan) == GANTRY_OK);
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
  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  EXPECT_ERROR(gantry_plan_load(runtime, in_folder(folder, "custom.gantry"), &plan),
               GANTRY_NOT_FOUND, "no kernel 'example.softsign' is registered");
  EXPECT_ERROR(gantry_kernel_register(runtime, "example.softsign", NULL), GANTRY_INVALID_ARGUMENT,
               "has no function");
  NEED(gantry_kernel_register(runtime, "example.softsign", negate) == GANTRY_OK);
  NEED(gantry_plan_load(runtime, in_folder(folder, "custom.gantry"), &plan) == GANTRY_OK);
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  NEED(gantry_bindings_set_input_at(bindings, 0, x, GANTRY_F32, dims, 1) == GANTRY_OK);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  NEED(gantry_bindings_output_at(bindings, 0, &y) == GANTRY_OK);
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
  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  NEED(gantry_plan_load(runtime, in_folder(folder, "counter.gantry"), &plan) == GANTRY_OK);
  NEED(gantry_state_create(plan, &state) == GANTRY_OK);
  EXPECT(gantry_state_num_variables(state) == 1);
  NEED(gantry_state_variable(state, 0, &info) == GANTRY_OK);
  EXPECT(strcmp(info.name, "v") == 0 && info.size == 16);
  EXPECT_ERROR(gantry_state_variable(state, 1, &info), GANTRY_INVALID_ARGUMENT, "number 1 of 1");
  NEED(gantry_state_write(state, "v", v, sizeof v) == GANTRY_OK);
  EXPECT_ERROR(gantry_state_write(state, "v", v, 4), GANTRY_INVALID_ARGUMENT,
               "has 16 bytes, got 4");
  EXPECT_ERROR(gantry_state_read(state, "w", v, 16), GANTRY_NOT_FOUND, "the variables are 'v'");
  NEED(gantry_session_create(plan, state, &session) == GANTRY_OK);
  NEED(gantry_session_state(session, &same) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &step) == GANTRY_OK);
  NEED(gantry_bindings_set_input(step, "x", x, GANTRY_F32, dims, 1) == GANTRY_OK);
  NEED(gantry_session_run(session, step) == GANTRY_OK);
  NEED(gantry_state_read(same, "v", v, sizeof v) == GANTRY_OK);
  EXPECT(v[0] == 11 && v[3] == 14);
  gantry_bindings_destroy(step);
  gantry_session_destroy(session);
  gantry_state_destroy(same);
  gantry_state_destroy(state);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
}

/* The variables that are no mirrors, or all, with their values in `data`, four each. */
static uint32_t values_of(gantry_state_t *state, int with_mirrors, gantry_value_t *values,
                          float data[][4]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < gantry_state_num_variables(state); ++i) {
    gantry_tensor_info_t info;
    NEED(gantry_state_variable(state, i, &info) == GANTRY_OK);
    if (!with_mirrors && gantry_state_mirror_of(state, i))
      continue;
    values[count] = (gantry_value_t){info.name, info.element, info.rank, info.dims, data[count]};
    ++count;
  }
  NEED(gantry_state_read_values(state, values, count) == GANTRY_OK);
  return count;
}

/* A session of its own in a runtime of its own. */
struct training {
  gantry_runtime_t *runtime;
  gantry_plan_t *plan;
  gantry_state_t *state;
  gantry_session_t *session;
  gantry_bindings_t *step;
};

static struct training start_training(const char *folder) {
  static const float x[] = {1, 2, 3, 4};
  static const int64_t dims[] = {4};
  struct training made = {0};
  NEED(gantry_runtime_create(NULL, &made.runtime) == GANTRY_OK);
  NEED(gantry_plan_load(made.runtime, in_folder(folder, "training.gantry"), &made.plan) ==
       GANTRY_OK);
  NEED(gantry_session_create(made.plan, NULL, &made.session) == GANTRY_OK);
  NEED(gantry_session_state(made.session, &made.state) == GANTRY_OK);
  NEED(gantry_bindings_create(made.plan, 0, &made.step) == GANTRY_OK);
  NEED(gantry_bindings_set_input(made.step, "x", x, GANTRY_F32, dims, 1) == GANTRY_OK);
  return made;
}

static void end_training(struct training *made) {
  gantry_bindings_destroy(made->step);
  gantry_session_destroy(made->session);
  gantry_state_destroy(made->state);
  gantry_plan_destroy(made->plan);
  gantry_runtime_destroy(made->runtime);
}

static void test_whole_state(const char *folder) {
  struct training first = start_training(folder);
  gantry_value_t saved[3], now[3];
  float kept[3][4], values[3][4];
  EXPECT(gantry_state_mirror_of(first.state, 0) == NULL);
  EXPECT(strcmp(gantry_state_mirror_of(first.state, 1), "v") == 0);
  EXPECT(gantry_state_mirror_of(first.state, 3) == NULL);
  NEED(gantry_session_run(first.session, first.step) == GANTRY_OK);
  NEED(gantry_session_run(first.session, first.step) == GANTRY_OK);
  EXPECT(values_of(first.state, 0, saved, kept) == 2);
  EXPECT(strcmp(saved[1].name, "w") == 0 && saved[1].rank == 2);
  EXPECT(kept[0][3] == 8 && kept[1][3] == 13);

  /* Goes on where the first stopped; the names and dimensions are still the first's. */
  struct training second = start_training(folder);
  NEED(gantry_state_write_values(second.state, saved, 2) == GANTRY_OK);
  end_training(&first);
  NEED(gantry_session_run(second.session, second.step) == GANTRY_OK);
  EXPECT(values_of(second.state, 1, now, values) == 3);
  EXPECT(values[0][3] == 12 && values[1][3] == 12 && values[2][3] == 25);
  end_training(&second);
}

static void test_values_that_do_not_fit(const char *folder) {
  static const int64_t four[] = {4}, square[] = {2, 2};
  struct training made = start_training(folder);
  float data[4] = {9, 9, 9, 9}, values[3][4];
  gantry_value_t now[3], good = {"v", GANTRY_F32, 1, four, data};
  const struct {
    gantry_value_t value;
    gantry_status_t status;
    const char *message;
  } cases[] = {
      {{"u", GANTRY_F32, 1, four, data},
       GANTRY_NOT_FOUND,
       "there is no variable 'u'; the variables are 'v' f32[4], 'v/replica_1' f32[4], 'w' "
       "f32[2,2]"},
      {{"w", GANTRY_F32, 1, four, data},
       GANTRY_INVALID_ARGUMENT,
       "variable 'w': expected f32[2,2], got f32[4]"},
      {{"w", GANTRY_I32, 2, square, data}, GANTRY_INVALID_ARGUMENT, "got i32[2,2]"},
      {{"w", (gantry_element_type_t)15, 2, square, data},
       GANTRY_INVALID_ARGUMENT,
       "variable 'w': unknown element type 15"},
      {{"w", GANTRY_F32, 2, NULL, data}, GANTRY_INVALID_ARGUMENT, "dimensions are a null pointer"},
      {{"w", GANTRY_F32, 2, square, NULL}, GANTRY_INVALID_ARGUMENT, "data is a null pointer"},
      {{NULL, GANTRY_F32, 2, square, data}, GANTRY_INVALID_ARGUMENT, "value 1 has no name"},
      {{"v", GANTRY_F32, 1, four, data}, GANTRY_INVALID_ARGUMENT, "'v' is given twice"},
      {{"v/replica_1", GANTRY_F32, 1, four, data},
       GANTRY_INVALID_ARGUMENT,
       "'v/replica_1' is a mirror of 'v' and gets its value; write 'v'"},
  };
  const size_t count = sizeof cases / sizeof *cases;
  for (size_t i = 0; i < count; ++i) {
    const gantry_value_t both[] = {good, cases[i].value};
    EXPECT_ERROR(gantry_state_write_values(made.state, both, 2), cases[i].status, cases[i].message);
    if (i + 1 < count) /* a mirror can be read */
      EXPECT_ERROR(gantry_state_read_values(made.state, both, 2), cases[i].status,
                   cases[i].message);
  }
  EXPECT(data[0] == 9);
  values_of(made.state, 1, now, values);
  EXPECT(values[0][0] == 0 && values[1][0] == 0 && values[2][0] == 1);
  EXPECT_ERROR(gantry_state_write_values(made.state, NULL, 1), GANTRY_INVALID_ARGUMENT, "null");
  NEED(gantry_state_write_values(made.state, NULL, 0) == GANTRY_OK);
  NEED(gantry_state_write_values(made.state, &good, 1) == GANTRY_OK); /* the others keep theirs */
  values_of(made.state, 1, now, values);
  EXPECT(values[0][0] == 9 && values[1][0] == 9 && values[2][0] == 1);
  end_training(&made);
}

/* What `path` holds, from malloc. */
static char *content_of(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  char *content = malloc(1 << 16);
  NEED(file && content);
  *size = fread(content, 1, 1 << 16, file);
  fclose(file);
  return content;
}

static void write_content(const char *path, const char *content, size_t size) {
  FILE *file = fopen(path, "wb");
  NEED(file && fwrite(content, 1, size, file) == size && fclose(file) == 0);
}

/* Of two replicas into a file, and from there to a program for one, and to other names. */
static void test_state_files(const char *folder) {
  struct training first = start_training(folder), second = start_training(folder);
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  gantry_state_t *one = NULL;
  gantry_value_t now[3];
  float values[3][4], v[4];
  char file[4096], again[4096];
  size_t size, same;
  snprintf(file, sizeof file, "%s/state.safetensors", folder);
  snprintf(again, sizeof again, "%s/again.safetensors", folder);
  NEED(gantry_session_run(first.session, first.step) == GANTRY_OK);
  NEED(gantry_state_save(first.state, file, "{\"step\": \"1\"}") == GANTRY_OK);

  NEED(gantry_state_load(second.state, file, NULL, 0) == GANTRY_OK);
  values_of(second.state, 1, now, values); /* v, its mirror, w */
  EXPECT(values[0][3] == 4 && values[1][3] == 4 && values[2][3] == 5);
  NEED(gantry_state_save(second.state, again, "{\"step\":\"1\"}") == GANTRY_OK);
  char *left = content_of(file, &size), *right = content_of(again, &same);
  EXPECT(size == same && memcmp(left, right, size) == 0);

  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  NEED(gantry_plan_load(runtime, in_folder(folder, "counter.gantry"), &plan) == GANTRY_OK);
  NEED(gantry_state_create(plan, &one) == GANTRY_OK);
  EXPECT_ERROR(gantry_state_load(one, file, NULL, 0), GANTRY_NOT_FOUND,
               "no variable is called 'w', which is in '");
  NEED(gantry_state_load(one, file, NULL, GANTRY_STATE_LOAD_SKIP_UNKNOWN) == GANTRY_OK);
  NEED(gantry_state_read(one, "v", v, sizeof v) == GANTRY_OK);
  EXPECT(v[0] == 1 && v[3] == 4);
  NEED(gantry_state_load(one, file, "{\"w\": null}", 0) == GANTRY_OK);
  EXPECT_ERROR(gantry_state_load(one, file, "{\"v\": null, \"w\": \"v\"}", 0),
               GANTRY_INVALID_ARGUMENT, "variable 'v' is f32[4], but '");
  EXPECT(strstr(gantry_last_error(), "holds f32[2,2] as 'w'") != NULL);
  gantry_state_destroy(one);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);

  /* A full disk, or what stands for it, and a file that is torn. */
  EXPECT_ERROR(gantry_state_save(first.state, "/dev/full", NULL), GANTRY_INVALID_ARGUMENT,
               "cannot write '/dev/full': no space left on device");
  for (size_t torn = 0; torn < size; ++torn) {
    write_content(again, left, torn);
    EXPECT(gantry_state_load(second.state, again, NULL, 0) == GANTRY_CORRUPT);
  }
  values_of(second.state, 1, now, values);
  EXPECT(values[0][3] == 4 && values[1][3] == 4 && values[2][3] == 5);
  free(left);
  free(right);
  end_training(&first);
  end_training(&second);
}

/* Files of other programs: what fits no variable changes none. */
static void test_states_that_do_not_fit(const char *folder) {
  static const int64_t four[] = {4}, square[] = {2, 2};
  static float nines[] = {9, 9, 9, 9};
  struct training made = start_training(folder);
  const gantry_value_t v = {"v", GANTRY_F32, 1, four, nines};
  const gantry_value_t w = {"w", GANTRY_F32, 2, square, nines};
  gantry_value_t now[3];
  float values[3][4];
  const struct {
    gantry_value_t second;
    const char *names;
    uint32_t flags;
    gantry_status_t status;
    const char *message;
  } cases[] = {
      {{"w", GANTRY_F32, 1, four, nines},
       NULL,
       3,
       GANTRY_INVALID_ARGUMENT,
       "variable 'w' is f32[2,2], but '"},
      {{"w", GANTRY_I32, 2, square, nines}, NULL, 3, GANTRY_INVALID_ARGUMENT, "holds i32[2,2]"},
      {{"u", GANTRY_F32, 2, square, nines},
       NULL,
       0,
       GANTRY_NOT_FOUND,
       "no variable is called 'u', which is in '"},
      {{"u", GANTRY_F32, 2, square, nines},
       NULL,
       GANTRY_STATE_LOAD_SKIP_UNKNOWN,
       GANTRY_NOT_FOUND,
       "has no values for the variables w: f32[2,2]"},
      {{"w", GANTRY_F32, 2, square, nines},
       "{\"w\":\"u\"}",
       3,
       GANTRY_NOT_FOUND,
       "no variable is called 'u', which is in '"},
      {{"w", GANTRY_F32, 2, square, nines},
       "{\"x\":\"w\"}",
       3,
       GANTRY_NOT_FOUND,
       "the map names 'x', which is not in '"},
      {{"x", GANTRY_F32, 1, four, nines},
       "{\"x\":\"v\"}",
       3,
       GANTRY_INVALID_ARGUMENT,
       "variable 'v' gets two values of '"},
      {{"v/replica_1", GANTRY_F32, 1, four, nines},
       NULL,
       3,
       GANTRY_INVALID_ARGUMENT,
       "is a mirror of 'v' and gets its value"},
      {{"w", GANTRY_F32, 2, square, nines},
       "[]",
       0,
       GANTRY_INVALID_ARGUMENT,
       "the map is not a JSON object of names"},
      {{"w", GANTRY_F32, 2, square, nines}, NULL, 4, GANTRY_INVALID_ARGUMENT, "flags are 4"},
  };
  char file[4096];
  snprintf(file, sizeof file, "%s/other.safetensors", folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const gantry_value_t both[] = {v, cases[i].second};
    NEED(gantry_tensor_file_save(file, both, 2, NULL) == GANTRY_OK);
    EXPECT_ERROR(gantry_state_load(made.state, file, cases[i].names, cases[i].flags),
                 cases[i].status, cases[i].message);
    values_of(made.state, 1, now, values);
    EXPECT(values[0][0] == 0 && values[1][0] == 0 && values[2][0] == 1);
  }
  EXPECT_ERROR(gantry_state_load(made.state, "/no/file", NULL, 0), GANTRY_NOT_FOUND, "/no/file");
  EXPECT_ERROR(gantry_state_load(made.state, NULL, NULL, 0), GANTRY_INVALID_ARGUMENT, "null");
  EXPECT_ERROR(gantry_state_save(NULL, file, NULL), GANTRY_INVALID_ARGUMENT, "null");
  EXPECT_ERROR(gantry_state_save(made.state, file, "{\"step\": 1}"), GANTRY_INVALID_ARGUMENT,
               "the metadata are not a JSON object of texts: byte 9: expected '\"'");
  const gantry_value_t renamed[] = {v, {"k", GANTRY_F32, 2, square, nines}};
  NEED(gantry_tensor_file_save(file, renamed, 2, NULL) == GANTRY_OK);
  NEED(gantry_state_load(made.state, file, "{\"k\":\"w\"}", 0) == GANTRY_OK);
  values_of(made.state, 1, now, values);
  EXPECT(values[0][0] == 9 && values[1][0] == 9 && values[2][0] == 9);
  NEED(gantry_tensor_file_save(file, &w, 1, NULL) == GANTRY_OK);
  NEED(gantry_state_load(made.state, file, NULL, GANTRY_STATE_LOAD_KEEP_MISSING) == GANTRY_OK);
  end_training(&made);
}

static void test_tensor_files(const char *folder) {
  static const int64_t three[] = {3}, none[] = {0, 5};
  static double numbers[] = {1, 2, 3};
  static unsigned char byte[] = {7};
  gantry_value_t given[] = {{"b", GANTRY_U8, 0, NULL, byte},
                            {"n", GANTRY_F32, 2, none, NULL},
                            {"a", GANTRY_F64, 1, three, numbers}};
  gantry_tensor_file_t *file = NULL;
  gantry_value_t tensor;
  char path[4096];
  snprintf(path, sizeof path, "%s/tensors.safetensors", folder);
  NEED(gantry_tensor_file_save(path, given, 3, "{\"from\":\"C\"}") == GANTRY_OK);
  NEED(gantry_tensor_file_load(path, &file) == GANTRY_OK);
  EXPECT(gantry_tensor_file_num_tensors(file) == 3);
  EXPECT(strcmp(gantry_tensor_file_metadata(file), "{\"from\":\"C\"}") == 0);
  NEED(gantry_tensor_file_tensor(file, 0, &tensor) == GANTRY_OK); /* the widest first */
  EXPECT(strcmp(tensor.name, "a") == 0 && tensor.element == GANTRY_F64 && tensor.rank == 1);
  EXPECT(tensor.dims[0] == 3 && memcmp(tensor.data, numbers, sizeof numbers) == 0);
  NEED(gantry_tensor_file_tensor(file, 1, &tensor) == GANTRY_OK);
  EXPECT(strcmp(tensor.name, "n") == 0 && tensor.rank == 2 && tensor.dims[1] == 5);
  EXPECT_ERROR(gantry_tensor_file_tensor(file, 3, &tensor), GANTRY_INVALID_ARGUMENT,
               "there is no tensor number 3 of 3");
  gantry_tensor_file_destroy(file);
  gantry_tensor_file_destroy(NULL);
  EXPECT(gantry_tensor_file_num_tensors(NULL) == 0 && gantry_tensor_file_metadata(NULL) == NULL);

  write_content(path, "12345678{}", 10);
  EXPECT_ERROR(gantry_tensor_file_load(path, &file), GANTRY_CORRUPT, "its header has ");
  EXPECT(file == NULL);
  EXPECT_ERROR(gantry_tensor_file_load(folder, &file), GANTRY_INVALID_ARGUMENT, folder);
  given[1].name = "a";
  EXPECT_ERROR(gantry_tensor_file_save(path, given, 3, NULL), GANTRY_INVALID_ARGUMENT,
               "a tensor is called 'a', which another one is, too");
  given[1].name = NULL;
  EXPECT_ERROR(gantry_tensor_file_save(path, given, 3, NULL), GANTRY_INVALID_ARGUMENT,
               "tensor 1 has no name");
  given[2].data = NULL;
  EXPECT_ERROR(gantry_tensor_file_save(path, given + 2, 1, NULL), GANTRY_INVALID_ARGUMENT,
               "tensor 'a': the data is a null pointer");
  given[2].element = (gantry_element_type_t)40;
  EXPECT_ERROR(gantry_tensor_file_save(path, given + 2, 1, NULL), GANTRY_INVALID_ARGUMENT,
               "tensor 'a': unknown element type 40");
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  test_runtime();
  test_names();
  test_hello(argv[1]);
  test_memory(argv[1]);
  test_custom_kernel(argv[1]);
  test_state(argv[1]);
  test_whole_state(argv[1]);
  test_values_that_do_not_fit(argv[1]);
  test_state_files(argv[1]);
  test_states_that_do_not_fit(argv[1]);
  test_tensor_files(argv[1]);
  if (failures)
    fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
