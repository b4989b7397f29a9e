/* Arrays on devices from C: a host and two simulated GPUs, one of 4096 bytes; every call at least
 * once, the failures with their words.
 *   gantry-capi-array-test FOLDER [CALLS]     with the plans of MakePlans.cpp; CALLS, 1000 unless
 *                                             given, are those of each thread on one session */
#include "gantry-c/array.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Expect.h"

#define EXPECT_ERROR(call, code, text)                                                             \
  do {                                                                                             \
    EXPECT((call) == (code));                                                                      \
    EXPECT(strcmp(gantry_last_error(), text) == 0);                                                \
  } while (0)

#define TASK "/job:localhost/replica:0/task:0/"
static const char *topology =
    "{\"physical\": ["
    "{\"name\": \"" TASK "physical_device:CPU:0\", \"driver\": \"host\"},"
    "{\"name\": \"" TASK "physical_device:GPU:0\", \"driver\": \"sim\", \"memory\": 1048576},"
    "{\"name\": \"" TASK "physical_device:GPU:1\", \"driver\": \"sim\", \"memory\": 4096}]}";

static const int64_t four[] = {4};
static int calls_of_a_thread = 1000;

static gantry_runtime_t *make_runtime(void) {
  gantry_runtime_options_t options = {.struct_size = sizeof options, .topology = topology};
  gantry_runtime_t *runtime;
  NEED(gantry_runtime_create(&options, &runtime) == GANTRY_OK);
  return runtime;
}

static gantry_memory_info_t memory_of(gantry_runtime_t *runtime, const char *device) {
  gantry_memory_info_t info = {.struct_size = sizeof info};
  NEED(gantry_runtime_memory(runtime, device, &info) == GANTRY_OK);
  return info;
}

static int holds(const gantry_array_t *array, float a, float b, float c, float d) {
  float got[4] = {0};
  NEED(gantry_array_read(array, got, sizeof got) == GANTRY_OK);
  return got[0] == a && got[1] == b && got[2] == c && got[3] == d;
}

static gantry_array_t *make(gantry_runtime_t *runtime, const char *device, float first) {
  const float data[] = {first, first + 1, first + 2, first + 3};
  gantry_array_t *array;
  NEED(gantry_array_from_host(runtime, device, data, GANTRY_F32, four, 1, &array) == GANTRY_OK);
  return array;
}

/* A device is opened by the first array on it; memory is counted there alone. */
static void test_devices(void) {
  gantry_runtime_t *runtime = make_runtime();
  EXPECT(!memory_of(runtime, "GPU:0").is_open &&
         memory_of(runtime, "GPU:0").total_bytes == 1 << 20 &&
         memory_of(runtime, "GPU:0").free_bytes == 1 << 20);
  EXPECT(!memory_of(runtime, "CPU:0").is_open &&
         memory_of(runtime, "CPU:0").total_bytes > 1 << 20 &&
         memory_of(runtime, "CPU:0").free_bytes > 0);
  gantry_array_t *x = make(runtime, "cuda:0", 1), *y, *z, *w;
  EXPECT(holds(x, 1, 2, 3, 4));
  gantry_array_info_t info = {.struct_size = sizeof info};
  NEED(gantry_array_info(x, &info) == GANTRY_OK);
  EXPECT(info.element == GANTRY_F32 && info.rank == 1 && info.dims[0] == 4 && info.size == 16);
  EXPECT(strcmp(info.device, TASK "device:GPU:0") == 0 && strcmp(info.driver, "sim") == 0);
  EXPECT(!info.is_on_host);
  EXPECT(memory_of(runtime, "GPU:0").bytes_in_use == 16 && !memory_of(runtime, "GPU:1").is_open);

  NEED(gantry_array_copy_to(x, "GPU:1", &y) == GANTRY_OK);
  NEED(gantry_array_copy_to(y, NULL, &z) == GANTRY_OK);
  NEED(gantry_array_copy_to(y, "/gpu:1", &w) == GANTRY_OK);
  EXPECT(holds(y, 1, 2, 3, 4) && holds(z, 1, 2, 3, 4) && holds(w, 1, 2, 3, 4));
  const float other[] = {9, 9, 9, 9};
  NEED(gantry_array_write(w, other, sizeof other) == GANTRY_OK);
  EXPECT(holds(y, 1, 2, 3, 4) && holds(w, 9, 9, 9, 9));
  gantry_device_info_t gpu = {.struct_size = sizeof gpu};
  NEED(gantry_runtime_device(runtime, 1, &gpu) == GANTRY_OK);
  EXPECT(strcmp(gpu.name, TASK "device:GPU:1") == 0);
  EXPECT(gpu.array_copies[GANTRY_COPY_DEVICE_TO_DEVICE].bytes == 16);
  EXPECT(gpu.array_copies[GANTRY_COPY_SAME_DEVICE].copies == 1);
  EXPECT(gpu.array_copies[GANTRY_COPY_HOST_TO_DEVICE].copies == 1);
  EXPECT(gpu.run_copies[GANTRY_COPY_HOST_TO_DEVICE].copies == 0);

  gantry_array_retain(x);
  gantry_array_destroy(x);
  EXPECT(holds(x, 1, 2, 3, 4));
  gantry_array_destroy(x);
  EXPECT(memory_of(runtime, "GPU:0").bytes_in_use == 0 &&
         memory_of(runtime, "GPU:0").peak_bytes == 16);
  NEED(gantry_runtime_reset_peak(runtime, "GPU:0") == GANTRY_OK);
  EXPECT(memory_of(runtime, "GPU:0").peak_bytes == 0);
  gantry_runtime_destroy(runtime); /* arrays keep what they need */
  EXPECT(holds(y, 1, 2, 3, 4));
  gantry_array_destroy(y);
  gantry_array_destroy(z);
  gantry_array_destroy(w);
  gantry_array_destroy(NULL);
}

static void test_refusals(void) {
  gantry_runtime_t *runtime = make_runtime();
  gantry_array_t *array;
  EXPECT_ERROR(gantry_array_create(runtime, "GPU:2", GANTRY_F32, four, 1, &array),
               GANTRY_INVALID_ARGUMENT,
               "'" TASK "device:GPU:2': unknown device; the devices are " TASK "device:CPU:0, " TASK
               "device:GPU:0, " TASK "device:GPU:1");
  EXPECT(array == NULL);
  const int64_t many[] = {2048}, negative[] = {-1};
  EXPECT_ERROR(gantry_array_create(runtime, "GPU:1", GANTRY_F32, many, 1, &array),
               GANTRY_DOES_NOT_FIT,
               "'" TASK "device:GPU:1': an array of f32[2048] needs 8 KiB, the limit is 4 KiB "
               "and 0 bytes are in use; raise the limit to at least 8 KiB");
  EXPECT_ERROR(gantry_array_create(runtime, NULL, GANTRY_F32, negative, 1, &array),
               GANTRY_INVALID_ARGUMENT, "no array can have the type f32[-1]");
  EXPECT_ERROR(gantry_array_create(runtime, NULL, (gantry_element_type_t)99, four, 1, &array),
               GANTRY_INVALID_ARGUMENT, "unknown element type 99");
  EXPECT_ERROR(gantry_array_from_host(runtime, NULL, NULL, GANTRY_F32, four, 1, &array),
               GANTRY_INVALID_ARGUMENT, "the data is a null pointer");
  gantry_array_t *x = make(runtime, NULL, 1);
  float out[4];
  EXPECT_ERROR(gantry_array_read(x, out, 12), GANTRY_INVALID_ARGUMENT,
               "an array of f32[4] has 16 bytes, got 12");
  EXPECT_ERROR(gantry_array_info(x, &(gantry_array_info_t){0}), GANTRY_INVALID_ARGUMENT,
               "gantry_array_info_t: struct_size is not set");
  gantry_array_destroy(x);
  gantry_runtime_options_t wrong = {.struct_size = sizeof wrong, .topology = "[]"};
  gantry_runtime_t *none;
  EXPECT(gantry_runtime_create(&wrong, &none) != GANTRY_OK && none == NULL);
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &wrong), GANTRY_INVALID_ARGUMENT,
               gantry_last_error());
  wrong.topology = NULL;
  EXPECT(gantry_runtime_configure_devices(runtime, &wrong) == GANTRY_FAILED_PRECONDITION);
  gantry_runtime_destroy(runtime);
}

static void add_one(void *count) { ++*(int *)count; }

/* Memory of others is used in place, and given back once. */
static void test_borrowed(void) {
  gantry_runtime_t *runtime = make_runtime();
  _Alignas(64) float data[] = {1, 2, 3, 4};
  int released = 0;
  gantry_array_t *array, *copy;
  NEED(gantry_array_from_pointer(runtime, NULL, data, GANTRY_F32, four, 1, add_one, &released,
                                 &array) == GANTRY_OK);
  data[0] = 7;
  EXPECT(holds(array, 7, 2, 3, 4) && released == 0);
  NEED(gantry_array_copy_to(array, "GPU:0", &copy) == GANTRY_OK);
  gantry_array_destroy(array);
  EXPECT(released == 1);
  EXPECT(gantry_array_from_pointer(runtime, "GPU:5", data, GANTRY_F32, four, 1, add_one, &released,
                                   &array) == GANTRY_INVALID_ARGUMENT);
  EXPECT(released == 2 && array == NULL);
  EXPECT_ERROR(gantry_array_from_pointer(runtime, NULL, NULL, GANTRY_F32, four, 1, add_one,
                                         &released, &array),
               GANTRY_INVALID_ARGUMENT, "an array of f32[4] cannot be at a null pointer");
  EXPECT(released == 3);

  /* By DLPack there and back again. */
  for (int versioned = 0; versioned < 2; ++versioned) {
    gantry_array_t *shared, *back;
    void *managed;
    int32_t type = 0, id = 9;
    NEED(gantry_array_from_pointer(runtime, NULL, data, GANTRY_F32, four, 1, add_one, &released,
                                   &shared) == GANTRY_OK);
    NEED(gantry_array_dlpack_device(shared, &type, &id) == GANTRY_OK);
    EXPECT(type == 1 && id == 0);
    NEED(gantry_array_to_dlpack(shared, versioned, &managed) == GANTRY_OK);
    gantry_array_destroy(shared);
    EXPECT(released == 3 + versioned);
    NEED(gantry_array_from_dlpack(runtime, managed, versioned, &back) == GANTRY_OK);
    gantry_array_info_t info = {.struct_size = sizeof info};
    NEED(gantry_array_info(back, &info) == GANTRY_OK);
    EXPECT(info.data == data && info.is_on_host);
    gantry_array_destroy(back);
    EXPECT(released == 4 + versioned);
  }
  void *managed;
  EXPECT_ERROR(gantry_array_to_dlpack(copy, 0, &managed), GANTRY_UNSUPPORTED,
               "the memory of '" TASK
               "device:GPU:0', which driver 'sim' simulates, cannot be shared; "
               "copy the array to the host first");
  gantry_array_destroy(copy);
  gantry_runtime_destroy(runtime);
}

/* y = 2 * (x + 5..8), with arrays that the call makes, and with one of the caller's. */
static void test_call(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/hello.gantry", folder);
  gantry_runtime_t *runtime = make_runtime();
  gantry_plan_t *plan;
  gantry_session_t *session;
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  gantry_array_t *x = make(runtime, NULL, 0), *y = NULL, *on_gpu = make(runtime, "GPU:0", 0);
  const uint64_t before = memory_of(runtime, "CPU:0").bytes_in_use;
  for (int i = 0; i < 3; ++i) {
    y = NULL;
    NEED(gantry_session_call(session, 0, &x, 1, &y, 1, NULL) == GANTRY_OK);
    EXPECT(holds(y, 10, 14, 18, 22));
    if (i < 2)
      gantry_array_destroy(y);
  }
  EXPECT(memory_of(runtime, "CPU:0").bytes_in_use == before + 16); /* y alone */
  gantry_array_t *given = y, *same[] = {x};
  NEED(gantry_session_call(session, 0, &x, 1, &given, 1, NULL) == GANTRY_OK);
  EXPECT(given == y);
  EXPECT_ERROR(
      gantry_session_call(session, 0, &x, 1, same, 1, NULL), GANTRY_INVALID_ARGUMENT,
      "output 'y' of function 'main' overlaps the memory of input 'x'; give it memory of its own");
  gantry_array_t *none = NULL;
  EXPECT_ERROR(gantry_session_call(session, 0, &x, 0, &none, 1, NULL), GANTRY_INVALID_ARGUMENT,
               "function 'main' has 1 input, got 0");
  EXPECT_ERROR(gantry_session_call(session, 0, &none, 1, &none, 1, NULL), GANTRY_INVALID_ARGUMENT,
               "input 'x' is a null pointer");
  EXPECT(gantry_session_call(session, 7, &x, 1, &none, 1, NULL) == GANTRY_INVALID_ARGUMENT);
  EXPECT_ERROR(gantry_session_call(session, 0, &on_gpu, 1, &none, 1, NULL), GANTRY_UNSUPPORTED,
               "input 'x' of function 'main' is on '" TASK "device:CPU:0', its data on '" TASK
               "device:GPU:0'; give it in host memory");
  gantry_cancel_t *cancel;
  NEED(gantry_cancel_create(&cancel) == GANTRY_OK);
  gantry_cancel_set(cancel);
  EXPECT(gantry_session_call(session, 0, &x, 1, &none, 1, cancel) == GANTRY_CANCELLED && !none);
  gantry_cancel_destroy(cancel);
  NEED(gantry_session_call(session, 0, &x, 1, &none, 1, NULL) ==
       GANTRY_OK); /* the token is forgotten */
  EXPECT(holds(none, 10, 14, 18, 22));

  gantry_bindings_t *bindings;
  gantry_array_t *seen;
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  NEED(gantry_bindings_set_input_array_at(bindings, 0, x) == GANTRY_OK);
  NEED(gantry_bindings_output_array_at(bindings, 0, &seen) == GANTRY_OK);
  NEED(gantry_session_run(session, bindings) == GANTRY_OK);
  EXPECT(holds(seen, 10, 14, 18, 22));
  NEED(gantry_bindings_set_output_array_at(bindings, 0, y) == GANTRY_OK);
  gantry_bindings_destroy(bindings);
  EXPECT(holds(seen, 10, 14, 18, 22));
  gantry_array_destroy(seen);
  gantry_array_destroy(none);
  gantry_array_destroy(x);
  gantry_array_destroy(y);
  gantry_array_destroy(on_gpu);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
}

struct caller {
  gantry_session_t *session;
  gantry_runtime_t *runtime;
  int number, wrong;
};

static void *call_often(void *context) {
  struct caller *caller = context;
  const float first = (float)caller->number;
  gantry_array_t *x = make(caller->runtime, NULL, first);
  for (int i = 0; i < calls_of_a_thread; ++i) {
    gantry_array_t *y = NULL;
    if (gantry_session_call(caller->session, 0, &x, 1, &y, 1, NULL) != GANTRY_OK ||
        !holds(y, 2 * first + 10, 2 * first + 14, 2 * first + 18, 2 * first + 22))
      ++caller->wrong;
    gantry_array_destroy(y);
  }
  gantry_array_destroy(x);
  return NULL;
}

/* One session, eight threads, no bindings of theirs; for the sanitizers above all. */
static void test_threads(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/hello.gantry", folder);
  gantry_runtime_t *runtime = make_runtime();
  gantry_plan_t *plan;
  gantry_session_t *session;
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  pthread_t threads[8];
  struct caller callers[8];
  for (int i = 0; i < 8; ++i) {
    callers[i] = (struct caller){session, runtime, i, 0};
    EXPECT(pthread_create(&threads[i], NULL, call_often, &callers[i]) == 0);
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT(pthread_join(threads[i], NULL) == 0);
    EXPECT(callers[i].wrong == 0);
  }
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  EXPECT(memory_of(runtime, NULL).bytes_in_use == 0);
  gantry_runtime_destroy(runtime);
}

/* Variables made before the plan that uses them: step is v = v + x, get is y = v. */
static void test_state(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/counter.gantry", folder);
  gantry_runtime_t *runtime = make_runtime();
  gantry_state_t *state;
  NEED(gantry_state_create_empty(runtime, &state) == GANTRY_OK);
  gantry_array_t *v = make(runtime, NULL, 1), *w = make(runtime, "GPU:0", 5), *now, *y = NULL;
  EXPECT_ERROR(gantry_state_array(state, "v", &now), GANTRY_NOT_FOUND,
               "there is no variable 'v'; there are none");
  NEED(gantry_state_add(state, "v", v) == GANTRY_OK);
  NEED(gantry_state_add(state, "w", w) == GANTRY_OK);
  EXPECT_ERROR(gantry_state_add(state, "v", v), GANTRY_INVALID_ARGUMENT,
               "there is a variable 'v' already; write to it, or give this one another name");
  EXPECT(gantry_state_num_variables(state) == 2);
  gantry_plan_t *plan;
  gantry_session_t *session;
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  NEED(gantry_session_create(plan, state, &session) == GANTRY_OK);
  uint32_t step, get;
  NEED(gantry_plan_find_function(plan, "step", &step) == GANTRY_OK);
  NEED(gantry_plan_find_function(plan, "get", &get) == GANTRY_OK);
  NEED(gantry_session_call(session, step, &v, 1, NULL, 0, NULL) == GANTRY_OK);
  NEED(gantry_session_call(session, get, NULL, 0, &y, 1, NULL) == GANTRY_OK);
  EXPECT(holds(y, 2, 4, 6, 8));
  NEED(gantry_state_array(state, "v", &now) == GANTRY_OK);
  EXPECT(holds(now, 2, 4, 6, 8));
  gantry_array_destroy(now);
  NEED(gantry_state_array(state, "w", &now) == GANTRY_OK);
  EXPECT(holds(now, 5, 6, 7, 8));
  NEED(gantry_state_extend(state, plan) == GANTRY_OK); /* has all of it */
  EXPECT(gantry_state_num_variables(state) == 2);

  gantry_state_t *fresh, *elsewhere;
  NEED(gantry_state_create_empty(runtime, &fresh) == GANTRY_OK);
  NEED(gantry_state_extend(fresh, plan) == GANTRY_OK);
  gantry_array_t *zeros;
  NEED(gantry_state_array(fresh, "v", &zeros) == GANTRY_OK);
  EXPECT(holds(zeros, 0, 0, 0, 0));
  NEED(gantry_state_create_empty(runtime, &elsewhere) == GANTRY_OK);
  NEED(gantry_state_add(elsewhere, "v", w) == GANTRY_OK);
  char expected[8192];
  snprintf(expected, sizeof expected,
           "variable 'v' of '%s' is f32[4] on '" TASK
           "device:CPU:0', in this state it is f32[4] on "
           "'" TASK "device:GPU:0'",
           path);
  EXPECT_ERROR(gantry_state_extend(elsewhere, plan), GANTRY_INVALID_ARGUMENT, expected);
  /* What is taken out goes on for sessions that use it, and its name is free. */
  EXPECT_ERROR(gantry_state_remove(state, "u"), GANTRY_NOT_FOUND,
               "there is no variable 'u'; the variables are 'v' f32[4], 'w' f32[4]");
  NEED(gantry_state_remove(state, "v") == GANTRY_OK);
  EXPECT(gantry_state_num_variables(state) == 1);
  NEED(gantry_session_call(session, step, &v, 1, NULL, 0, NULL) == GANTRY_OK);
  gantry_array_t *later = NULL;
  NEED(gantry_session_call(session, get, NULL, 0, &later, 1, NULL) == GANTRY_OK);
  EXPECT(holds(later, 3, 6, 9, 12));
  gantry_array_destroy(later);
  NEED(gantry_state_add(state, "v", w) == GANTRY_OK);
  gantry_state_t *own;
  NEED(gantry_state_create(plan, &own) == GANTRY_OK);
  snprintf(expected, sizeof expected,
           "variable 'v' is one of the plan '%s', which the state was made for", path);
  EXPECT_ERROR(gantry_state_remove(own, "v"), GANTRY_FAILED_PRECONDITION, expected);
  gantry_state_destroy(own);
  gantry_state_destroy(elsewhere);
  gantry_state_destroy(fresh);
  gantry_state_destroy(state);
  gantry_array_destroy(zeros);
  gantry_array_destroy(now);
  gantry_array_destroy(y);
  gantry_array_destroy(v);
  gantry_array_destroy(w);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
}

static int is_alone(const gantry_array_t *array) {
  gantry_array_info_t info = {.struct_size = sizeof info};
  NEED(gantry_array_info(array, &info) == GANTRY_OK);
  return info.is_alone;
}

/* next = w + g in the place of w, which the caller gives away; and beside it. */
static void test_given_away(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/given.gantry", folder);
  gantry_runtime_t *runtime = make_runtime();
  gantry_plan_t *plan;
  gantry_session_t *session;
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  EXPECT(gantry_plan_output_over(plan, 0, 0) == 0);
  EXPECT(gantry_plan_output_over(plan, 0, 1) == -1);
  EXPECT(gantry_plan_output_over(plan, 0, 2) == -1 && gantry_plan_output_over(plan, 1, 0) == -1);
  gantry_array_t *w = make(runtime, NULL, 1), *g = make(runtime, NULL, 5), *inputs[] = {w, g};
  gantry_array_t *kept[] = {NULL, NULL};
  NEED(gantry_session_call(session, 0, inputs, 2, kept, 2, NULL) == GANTRY_OK);
  EXPECT(holds(w, 1, 2, 3, 4) && holds(kept[0], 6, 8, 10, 12));
  const uint64_t before = memory_of(runtime, "CPU:0").bytes_in_use;
  NEED(gantry_runtime_reset_peak(runtime, NULL) == GANTRY_OK);
  for (int i = 0; i < 3; ++i) {
    gantry_array_t *outputs[] = {w, kept[1]};
    NEED(gantry_session_call(session, 0, inputs, 2, outputs, 2, NULL) == GANTRY_OK);
    EXPECT(outputs[0] == w);
  }
  EXPECT(holds(w, 16, 20, 24, 28));
  EXPECT(memory_of(runtime, "CPU:0").bytes_in_use == before);
  EXPECT(memory_of(runtime, "CPU:0").peak_bytes == before);
  gantry_array_t *crossed[] = {g, kept[1]};
  EXPECT_ERROR(gantry_session_call(session, 0, inputs, 2, crossed, 2, NULL),
               GANTRY_INVALID_ARGUMENT,
               "output 'next' of function 'main' overlaps the memory of input 'g'; give it memory "
               "of its own");
  EXPECT(is_alone(w) && is_alone(g));
  gantry_array_retain(w);
  EXPECT(!is_alone(w));
  gantry_array_destroy(w);
  gantry_bindings_t *bindings;
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  NEED(gantry_bindings_set_input_array_at(bindings, 0, w) == GANTRY_OK);
  EXPECT(!is_alone(w));
  gantry_bindings_destroy(bindings);
  EXPECT(is_alone(w));
  float mine[4] __attribute__((aligned(64)));
  const int64_t dims[] = {4};
  gantry_array_t *borrowed;
  NEED(gantry_array_from_pointer(runtime, NULL, mine, GANTRY_F32, dims, 1, NULL, NULL, &borrowed) ==
       GANTRY_OK);
  EXPECT(!is_alone(borrowed));
  gantry_array_destroy(borrowed);
  gantry_array_destroy(kept[0]);
  gantry_array_destroy(kept[1]);
  gantry_array_destroy(w);
  gantry_array_destroy(g);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
}

static void note_end(void *context, gantry_status_t status, const char *message) {
  *(int *)context += status == GANTRY_OK && message[0] == '\0' ? 1 : 100;
}

static void test_done(const char *folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/hello.gantry", folder);
  gantry_runtime_t *runtime = make_runtime();
  gantry_plan_t *plan;
  gantry_session_t *session;
  gantry_bindings_t *bindings;
  gantry_fence_t *fence;
  gantry_array_t *x = make(runtime, NULL, 0);
  int told = 0;
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &bindings) == GANTRY_OK);
  NEED(gantry_bindings_set_input_array_at(bindings, 0, x) == GANTRY_OK);
  NEED(gantry_session_submit(session, bindings, &fence) == GANTRY_OK);
  NEED(gantry_fence_on_done(fence, note_end, &told) == GANTRY_OK);
  NEED(gantry_fence_wait(fence) == GANTRY_OK);
  EXPECT(told == 1);
  gantry_fence_destroy(fence);
  gantry_bindings_destroy(bindings);
  gantry_array_destroy(x);
  gantry_session_destroy(session);
  gantry_plan_destroy(plan);
  gantry_runtime_destroy(runtime);
}

/* In a forked process nothing of the parent's runtime works, and nothing hangs; a new one does. */
static void test_fork(void) {
  gantry_runtime_t *runtime = make_runtime();
  gantry_array_t *x = make(runtime, NULL, 1), *y;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    EXPECT_ERROR(
        gantry_array_copy_to(x, NULL, &y), GANTRY_FAILED_PRECONDITION,
        "this process was forked from the one that uses Gantry, whose threads and devices "
        "are in the parent only; start it with spawn, or fork before Gantry is first used");
    gantry_array_destroy(x);
    gantry_runtime_destroy(runtime);
    runtime = make_runtime();
    x = make(runtime, "GPU:0", 1);
    EXPECT(holds(x, 1, 2, 3, 4));
    _exit(failures != 0);
  }
  int status = 1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(holds(x, 1, 2, 3, 4));
  gantry_array_destroy(x);
  gantry_runtime_destroy(runtime);
}

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3)
    return 2;
  if (argc == 3)
    calls_of_a_thread = atoi(argv[2]);
  test_devices();
  test_given_away(argv[1]);
  test_refusals();
  test_borrowed();
  test_call(argv[1]);
  test_threads(argv[1]);
  test_state(argv[1]);
  test_done(argv[1]);
  test_fork();
  if (failures)
    fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
