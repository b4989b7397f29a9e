/* Arrays and a stream of a C program that uses CUDA itself: inputs and outputs stay on the GPU, and
 * runs are ordered with the program's own copies. On the library that GANTRY_CUDA_LIB names.
 *   gantry-capi-cuda-test FOLDER     with gpu.gantry of MakePlans.cpp: y = x + x */
#include "gantry-c/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEED(condition)                                                                            \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: not true: %s (last error: %s)\n", __FILE__, __LINE__, #condition,    \
              gantry_last_error());                                                                \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
#define NEED_ERROR(call, code, text)                                                               \
  do {                                                                                             \
    NEED((call) == (code));                                                                        \
    NEED(strstr(gantry_last_error(), text) != NULL);                                               \
  } while (0)

/* What cuda.h would declare. */
typedef unsigned long long address_t;
static int (*cuInit)(unsigned);
static int (*cuDevicePrimaryCtxRetain)(void **, int);
static int (*cuCtxPushCurrent_v2)(void *);
static int (*cuStreamCreate)(void **, unsigned);
static int (*cuStreamSynchronize)(void *);
static int (*cuMemAlloc_v2)(address_t *, size_t);
static int (*cuMemHostAlloc)(void **, size_t, unsigned);
static int (*cuMemcpyHtoDAsync_v2)(address_t, const void *, size_t, void *);
static int (*cuMemcpyDtoHAsync_v2)(void *, address_t, size_t, void *);

static void find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  NEED(found != NULL);
  memcpy(function, &found, sizeof found);
}
#define FIND(name) find(library, #name, &name)

static void open_cuda(void) {
  void *library = dlopen(getenv("GANTRY_CUDA_LIB"), RTLD_NOW | RTLD_LOCAL);
  NEED(library != NULL);
  FIND(cuInit), FIND(cuDevicePrimaryCtxRetain), FIND(cuCtxPushCurrent_v2), FIND(cuStreamCreate);
  FIND(cuStreamSynchronize), FIND(cuMemAlloc_v2), FIND(cuMemHostAlloc);
  FIND(cuMemcpyHtoDAsync_v2), FIND(cuMemcpyDtoHAsync_v2);
}

static const int64_t dims[] = {4};
#define TYPE GANTRY_F32, dims, 1

static void test_refusals(gantry_bindings_t *bindings, address_t x) {
  _Alignas(64) float host[4] = {0};
  NEED_ERROR(gantry_bindings_set_device_input(NULL, "x", host, TYPE), GANTRY_INVALID_ARGUMENT,
             "null pointer");
  NEED_ERROR(gantry_bindings_set_device_input(bindings, "z", host, TYPE), GANTRY_NOT_FOUND, "'z'");
  NEED_ERROR(gantry_bindings_set_device_output_at(bindings, 1, host, TYPE), GANTRY_INVALID_ARGUMENT,
             "there is no number 1");
  NEED_ERROR(gantry_bindings_set_device_input(bindings, "x", NULL, TYPE), GANTRY_INVALID_ARGUMENT,
             "null pointer");
  NEED_ERROR(gantry_bindings_set_device_input(bindings, "x", host, TYPE), GANTRY_INVALID_ARGUMENT,
             "the array is not in memory of a GPU");
  NEED_ERROR(gantry_bindings_set_device_input_at(bindings, 0, (void *)(uintptr_t)(x + 4), TYPE),
             GANTRY_INVALID_ARGUMENT, "multiple of 64 bytes");
  NEED_ERROR(gantry_bindings_set_stream(NULL, NULL), GANTRY_INVALID_ARGUMENT, "null pointer");
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  open_cuda();
  void *context = NULL, *stream = NULL, *given = NULL, *got = NULL;
  address_t x = 0;
  NEED(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0);
  NEED(cuCtxPushCurrent_v2(context) == 0 && cuStreamCreate(&stream, 1) == 0);
  NEED(cuMemAlloc_v2(&x, 16) == 0);
  NEED(cuMemHostAlloc(&given, 16, 0) == 0 && cuMemHostAlloc(&got, 16, 0) == 0);

  char path[4096];
  snprintf(path, sizeof path, "%s/gpu.gantry", argv[1]);
  gantry_runtime_t *runtime = NULL;
  gantry_plan_t *plan = NULL;
  gantry_session_t *session = NULL;
  gantry_bindings_t *first = NULL, *second = NULL;
  NEED(gantry_runtime_create(NULL, &runtime) == GANTRY_OK);
  NEED(gantry_plan_load(runtime, path, &plan) == GANTRY_OK);
  NEED(gantry_session_create(plan, NULL, &session) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &first) == GANTRY_OK);
  NEED(gantry_bindings_create(plan, 0, &second) == GANTRY_OK);
  test_refusals(first, x);

  /* first's output is left on the GPU and is second's input; nothing is copied by Gantry. */
  const void *between = NULL, *y = NULL;
  NEED(gantry_bindings_set_device_input(first, "x", (void *)(uintptr_t)x, TYPE) == GANTRY_OK);
  NEED(gantry_bindings_output(first, "y", &between) == GANTRY_OK);
  NEED(gantry_bindings_set_device_input_at(second, 0, between, TYPE) == GANTRY_OK);
  NEED(gantry_bindings_output(second, "y", &y) == GANTRY_OK);
  NEED(gantry_bindings_set_stream(first, stream) == GANTRY_OK);
  NEED(gantry_bindings_set_stream(second, stream) == GANTRY_OK);
  for (int run = 1; run <= 3; ++run) {
    for (int i = 0; i < 4; ++i)
      ((float *)given)[i] = (float)(run + i);
    gantry_fence_t *fences[2] = {NULL, NULL};
    NEED(cuMemcpyHtoDAsync_v2(x, given, 16, stream) == 0);
    NEED(gantry_session_submit(session, first, &fences[0]) == GANTRY_OK);
    NEED(gantry_session_submit(session, second, &fences[1]) == GANTRY_OK);
    NEED(cuMemcpyDtoHAsync_v2(got, (address_t)(uintptr_t)y, 16, stream) == 0);
    NEED(cuStreamSynchronize(stream) == 0);
    for (int i = 0; i < 4; ++i)
      NEED(((float *)got)[i] == 4 * (float)(run + i));
    for (int i = 0; i < 2; ++i) {
      NEED(gantry_fence_wait(fences[i]) == GANTRY_OK);
      gantry_fence_destroy(fences[i]);
    }
  }
  gantry_device_info_t info = {.struct_size = sizeof info};
  for (size_t i = 0; i < gantry_runtime_num_devices(runtime); ++i) {
    NEED(gantry_runtime_device(runtime, i, &info) == GANTRY_OK);
    NEED(info.copies == 0 && info.staged_copies == 0 && info.pinned_bytes == 0);
  }
  gantry_device_info_t older = {.struct_size = offsetof(gantry_device_info_t, pinned_bytes)};
  older.pinned_bytes = 7;
  NEED(gantry_runtime_device(runtime, 0, &older) == GANTRY_OK);
  NEED(older.pinned_bytes == 7); /* beyond what an older caller knows */

  gantry_bindings_destroy(first), gantry_bindings_destroy(second);
  gantry_session_destroy(session), gantry_plan_destroy(plan), gantry_runtime_destroy(runtime);
  return 0;
}
