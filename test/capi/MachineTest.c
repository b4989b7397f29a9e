/* What the machine has, from C: the host, two GPUs of a fake NVML in the order that the environment
 * asks for, links and libraries; the failures with their words. */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include "gantry-c/machine.h"
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Expect.h"

#define EXPECT_ERROR(call, text)                                                                   \
  do {                                                                                             \
    EXPECT((call) == GANTRY_INVALID_ARGUMENT);                                                     \
    EXPECT(strcmp(gantry_last_error(), text) == 0);                                                \
  } while (0)

static void test_devices(const gantry_machine_t *machine) {
  EXPECT(gantry_machine_num_devices(machine) == 3);
  gantry_machine_device_t device = {.struct_size = sizeof device};
  EXPECT(gantry_machine_device(machine, 0, &device) == GANTRY_OK);
  EXPECT(strcmp(device.name, "/job:localhost/replica:0/task:0/device:CPU:0") == 0);
  EXPECT(strcmp(device.physical, "/job:localhost/replica:0/task:0/physical_device:CPU:0") == 0);
  EXPECT(strcmp(device.driver, "host") == 0);
  EXPECT(device.model[0] != '\0' && device.uuid[0] == '\0' && device.pci[0] == '\0');
  EXPECT(device.total_bytes > 0 && device.free_bytes <= device.total_bytes);
  EXPECT(device.flops == 0 && device.bandwidth == 0);

  EXPECT(gantry_machine_device(machine, 1, &device) == GANTRY_OK);
  EXPECT(strcmp(device.name, "/job:localhost/replica:0/task:0/device:GPU:0") == 0);
  EXPECT(strcmp(device.physical, "/job:localhost/replica:0/task:0/physical_device:GPU:0") == 0);
  EXPECT(strcmp(device.driver, "cuda") == 0);
  EXPECT(strcmp(device.model, "Fake H100") == 0);
  EXPECT(strcmp(device.uuid, "GPU-2000-fake") == 0); /* CUDA_VISIBLE_DEVICES=1,0 */
  EXPECT(device.total_bytes == 2147483648u && device.free_bytes == 1073741824u);
  EXPECT(device.flops == 4e13 && device.bandwidth == 1e12);
  EXPECT(device.architecture == 90 && device.launch == 0);

  /* A caller of an older version, whose struct ends earlier. */
  gantry_machine_device_t older = {.struct_size = offsetof(gantry_machine_device_t, uuid)};
  EXPECT(gantry_machine_device(machine, 2, &older) == GANTRY_OK);
  EXPECT(strcmp(older.model, "Fake H100") == 0 && older.uuid == NULL && older.total_bytes == 0);

  device.struct_size = 0;
  EXPECT_ERROR(gantry_machine_device(machine, 0, &device),
               "gantry_machine_device_t: struct_size is not set");
  EXPECT_ERROR(gantry_machine_device(machine, 3, &device), "there is no device number 3 of 3");
  EXPECT_ERROR(gantry_machine_device(NULL, 0, &device),
               "gantry_machine_device: an argument is a null pointer");
  EXPECT(gantry_machine_num_devices(NULL) == 0);
}

static void test_links(const gantry_machine_t *machine) {
  gantry_machine_link_t down = {.struct_size = sizeof down},
                        across = {.struct_size = sizeof across};
  EXPECT(gantry_machine_link(machine, 1, 0, &down) == GANTRY_OK);
  EXPECT(gantry_machine_link(machine, 1, 2, &across) == GANTRY_OK);
  EXPECT(down.bandwidth > 1e9 && down.latency > 0 && !down.is_known);
  EXPECT(across.bandwidth > down.bandwidth && !across.is_known); /* NVLink */
  EXPECT_ERROR(gantry_machine_link(machine, 0, 3, &down), "there is no device number 3 of 3");
  down.struct_size = 0;
  EXPECT_ERROR(gantry_machine_link(machine, 0, 1, &down),
               "gantry_machine_link_t: struct_size is not set");
}

static void test_libraries(const gantry_machine_t *machine) {
  size_t count = gantry_machine_num_libraries(machine);
  gantry_machine_library_t library = {.struct_size = sizeof library};
  EXPECT(count > 1);
  EXPECT(gantry_machine_library(machine, 0, &library) == GANTRY_OK);
  EXPECT(strcmp(library.name, "NVML") == 0 && strcmp(library.version, "570.86") == 0);
  EXPECT(strcmp(library.note, "lists GPUs") == 0);
  for (size_t i = 1; i < count; ++i) {
    EXPECT(gantry_machine_library(machine, i, &library) == GANTRY_OK);
    EXPECT(library.name[0] != '\0' && library.note[0] != '\0');
    EXPECT(library.version == NULL || library.version[0] != '\0');
  }
  EXPECT(gantry_machine_library(machine, count, &library) == GANTRY_INVALID_ARGUMENT);
  EXPECT(strncmp(gantry_last_error(), "there is no library number ", 27) == 0);
}

static void test_calibration(gantry_machine_t *machine) {
  EXPECT(strstr(gantry_machine_topology(machine), "\"Fake H100\"") != NULL);
  EXPECT(gantry_machine_topology(NULL) == NULL);
  EXPECT(gantry_machine_calibrate(machine, 1) == GANTRY_OK);
  gantry_machine_device_t gpu = {.struct_size = sizeof gpu};
  EXPECT(gantry_machine_device(machine, 2, &gpu) == GANTRY_OK);
  EXPECT(gpu.launch > 0 && gpu.bandwidth != 1e12 && gpu.flops != 4e13);
  EXPECT(strstr(gpu.model, "of no GPU") != NULL); /* by a stand-in for CUDA */
  gantry_machine_link_t across = {.struct_size = sizeof across};
  EXPECT(gantry_machine_link(machine, 1, 2, &across) == GANTRY_OK);
  EXPECT(across.is_known && across.bandwidth > 0);
  gantry_machine_device_t host = {.struct_size = sizeof host};
  gantry_machine_link_t inside = {.struct_size = sizeof inside};
  EXPECT(gantry_machine_device(machine, 0, &host) == GANTRY_OK);
  EXPECT(host.flops > 0 && host.bandwidth > 0);
  EXPECT(gantry_machine_link(machine, 0, 0, &inside) == GANTRY_OK);
  EXPECT(inside.is_known && inside.bandwidth > 0);
  EXPECT(strstr(gantry_machine_topology(machine), "\"links\"") != NULL);
  EXPECT_ERROR(gantry_machine_calibrate(NULL, 1),
               "gantry_machine_calibrate: an argument is a null pointer");
}

/* What can be measured is, and the status says what cannot. */
static void test_calibration_without_cuda(void) {
  gantry_machine_t *machine = NULL;
  gantry_machine_device_t host = {.struct_size = sizeof host};
  EXPECT(gantry_machine_read(&machine) == GANTRY_OK);
  setenv("GANTRY_CUDA_LIB", "/nowhere.so", 1);
  EXPECT(gantry_machine_calibrate(machine, 1) == GANTRY_UNAVAILABLE);
  EXPECT(strstr(gantry_last_error(), "NVIDIA's driver cannot be opened") != NULL);
  EXPECT(gantry_machine_device(machine, 0, &host) == GANTRY_OK);
  EXPECT(host.flops > 0);
  gantry_machine_destroy(machine);
}

int main(void) {
  gantry_machine_t *machine = NULL;
  EXPECT_ERROR(gantry_machine_read(NULL), "gantry_machine_read: an argument is a null pointer");
  if (gantry_machine_read(&machine) != GANTRY_OK)
    return 1;
  test_devices(machine);
  test_links(machine);
  test_libraries(machine);
  test_calibration(machine);
  test_calibration_without_cuda();
  gantry_machine_destroy(machine);
  gantry_machine_destroy(NULL);
  return failures != 0;
}
