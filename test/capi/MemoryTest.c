/* What may be taken of devices, from C: settings of the options and of the environment, and when
 * they can be changed.
 *   gantry-capi-memory-test     changes its own environment */
#define _POSIX_C_SOURCE 200809L
#include "gantry-c/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Expect.h"

#define EXPECT_ERROR(call, code, text)                                                             \
  do {                                                                                             \
    EXPECT((call) == (code));                                                                      \
    if (strcmp(gantry_last_error(), text) != 0) {                                                  \
      fprintf(stderr, "got: %s\n", gantry_last_error());                                           \
      EXPECT(!"that text");                                                                        \
    }                                                                                              \
  } while (0)

#define TASK "/job:localhost/replica:0/task:0/"
#define GRAMMAR                                                                                    \
  "; write DEVICE=SETTING[,SETTING], a device like GPU:0 or GPU:*, settings limit:4GiB, "
/* Two GPUs of 1 MiB. */
static const char *topology =
    "{\"physical\": ["
    "{\"name\": \"" TASK "physical_device:CPU:0\", \"driver\": \"host\"},"
    "{\"name\": \"" TASK "physical_device:GPU:0\", \"driver\": \"sim\", \"memory\": 1048576},"
    "{\"name\": \"" TASK "physical_device:GPU:1\", \"driver\": \"sim\", \"memory\": 1048576}]}";

static gantry_runtime_options_t options_with(const char *const *memory, size_t count) {
  gantry_runtime_options_t options = {.struct_size = sizeof options, .topology = topology};
  options.memory = memory;
  options.num_memory = count;
  return options;
}

static gantry_status_t array_of(gantry_runtime_t *runtime, const char *device, int64_t floats) {
  gantry_array_t *array = NULL;
  gantry_status_t status = gantry_array_create(runtime, device, GANTRY_F32, &floats, 1, &array);
  gantry_array_destroy(array);
  return status;
}

/* What a device may take once it is in use. */
static uint64_t limit_of(gantry_runtime_t *runtime, const char *device) {
  gantry_memory_info_t info = {.struct_size = sizeof info};
  NEED(array_of(runtime, device, 4) == GANTRY_OK);
  NEED(gantry_runtime_memory(runtime, device, &info) == GANTRY_OK);
  return info.limit_bytes;
}

static gantry_runtime_t *runtime_of(gantry_runtime_options_t options) {
  gantry_runtime_t *runtime = NULL;
  NEED(gantry_runtime_create(&options, &runtime) == GANTRY_OK);
  return runtime;
}

/* Each device has its own, and what is over it is refused with the number that would do. */
static void test_options(void) {
  const char *memory[] = {"GPU:*=fraction:0.5", "GPU:1=limit:4KiB"};
  gantry_runtime_t *runtime = runtime_of(options_with(memory, 2));
  EXPECT(limit_of(runtime, "GPU:0") == 1 << 19);
  EXPECT(limit_of(runtime, "GPU:1") == 4096);
  EXPECT(array_of(runtime, "GPU:0", 1 << 17) == GANTRY_OK);
  EXPECT_ERROR(array_of(runtime, "GPU:1", 1025), GANTRY_DOES_NOT_FIT,
               "'" TASK "device:GPU:1': an array of f32[1025] needs 4 KiB, the memory setting of "
               "GPU:1 of this machine allows 4 KiB and 0 bytes are in use; raise it to at least "
               "4100 bytes");
  gantry_runtime_destroy(runtime);
}

/* The environment is read when a runtime is made; what the program says counts more. */
static void test_environment(void) {
  const char *memory[] = {"GPU:0=limit:8KiB"};
  gantry_runtime_t *runtime;
  setenv("GANTRY_MEMORY", "GPU:0=limit:4KiB;GPU:1=limit:2KiB", 1);
  runtime = runtime_of(options_with(NULL, 0));
  EXPECT(limit_of(runtime, "GPU:0") == 4096 && limit_of(runtime, "GPU:1") == 2048);
  gantry_runtime_destroy(runtime);
  runtime = runtime_of(options_with(memory, 1));
  EXPECT(limit_of(runtime, "GPU:0") == 8192 && limit_of(runtime, "GPU:1") == 2048);
  gantry_runtime_destroy(runtime);
  unsetenv("GANTRY_MEMORY");

  setenv("TF_FORCE_GPU_ALLOW_GROWTH", "yes", 1);
  EXPECT_ERROR(gantry_runtime_create(NULL, &runtime), GANTRY_INVALID_ARGUMENT,
               "TF_FORCE_GPU_ALLOW_GROWTH is 'yes'; it takes true or false");
  unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
}

static uint64_t reserved_of(gantry_runtime_t *runtime, const char *device) {
  gantry_memory_info_t info = {.struct_size = sizeof info};
  NEED(gantry_runtime_memory(runtime, device, &info) == GANTRY_OK);
  return info.reserved_bytes;
}

/* Nothing is reserved on a device that nothing uses; by option and by environment alike. */
static void test_reserve(void) {
  const char *memory[] = {"GPU:*=limit:64KiB,reserve"};
  gantry_runtime_t *runtime = runtime_of(options_with(memory, 1));
  EXPECT(reserved_of(runtime, "GPU:0") == 0);
  EXPECT(limit_of(runtime, "GPU:0") == 65536);
  EXPECT(reserved_of(runtime, "GPU:0") == 65536 && reserved_of(runtime, "GPU:1") == 0);
  gantry_runtime_destroy(runtime);

  setenv("GANTRY_MEMORY", "GPU:1=fraction:0.25,reserve;GPU:0=growth,reserve", 1);
  setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true", 1);
  runtime = runtime_of(options_with(NULL, 0));
  EXPECT(limit_of(runtime, "GPU:1") == 1 << 18 && reserved_of(runtime, "GPU:1") == 1 << 18);
  EXPECT(limit_of(runtime, "GPU:0") == 1 << 20); /* its own alone: growth goes beyond */
  EXPECT(reserved_of(runtime, "GPU:0") == (1 << 20) - (1 << 20) / 20);
  gantry_runtime_destroy(runtime);
  unsetenv("GANTRY_MEMORY");
  unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
}

/* Before devices are in use settings can change; what a change leaves out stays. */
static void test_configure(void) {
  const char *first[] = {"GPU:0=limit:4KiB"}, *second[] = {"GPU:0=limit:2KiB"};
  gantry_runtime_options_t others = options_with(NULL, 0), changed = options_with(second, 1);
  gantry_runtime_t *runtime = runtime_of(options_with(first, 1));
  others.sim_order = "random:1";
  NEED(gantry_runtime_configure_devices(runtime, &others) == GANTRY_OK);
  EXPECT(limit_of(runtime, "GPU:0") == 4096);
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &changed), GANTRY_FAILED_PRECONDITION,
               "devices cannot be configured any more: a plan that uses '" TASK
               "device:GPU:0' has been loaded in this runtime; configure before, or make another "
               "runtime");
  EXPECT(limit_of(runtime, "GPU:0") == 4096);
  gantry_runtime_destroy(runtime);

  runtime = runtime_of(options_with(first, 1));
  NEED(gantry_runtime_configure_devices(runtime, &changed) == GANTRY_OK);
  EXPECT(limit_of(runtime, "GPU:0") == 2048);
  gantry_runtime_destroy(runtime);
}

static void test_wrong(void) {
  const char *wrong[] = {"GPU:0=much"}, *null[] = {NULL};
  gantry_runtime_options_t options = options_with(NULL, 1);
  gantry_runtime_t *runtime = runtime_of(options_with(NULL, 0));
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &options), GANTRY_INVALID_ARGUMENT,
               "gantry_runtime_options_t: memory is a null pointer, and num_memory is 1");
  options.memory = null;
  EXPECT_ERROR(gantry_runtime_configure_devices(runtime, &options), GANTRY_INVALID_ARGUMENT,
               "gantry_runtime_options_t: memory[0] is a null pointer");
  options.memory = wrong;
  EXPECT(gantry_runtime_configure_devices(runtime, &options) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strstr(gantry_last_error(), "the memory setting 'GPU:0=much' says 'much'" GRAMMAR));
  gantry_runtime_destroy(runtime);
}

int main(void) {
  unsetenv("GANTRY_MEMORY");
  unsetenv("TF_FORCE_GPU_ALLOW_GROWTH");
  test_options();
  test_environment();
  test_reserve();
  test_configure();
  test_wrong();
  if (failures)
    fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
