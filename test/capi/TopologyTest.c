/* Names of devices and topologies, as a program sees them that has no compiler. Runs with two GPUs
 * that are not there (libnvidia-ml is a fake), so that it says the same on every machine. */
#include "gantry-c/topology.h"
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Expect.h"

/* The call fails like that, in these words. */
#define REFUSED(call, status, text)                                                                \
  do {                                                                                             \
    EXPECT((call) == (status));                                                                    \
    EXPECT(strcmp(gantry_last_error(), text) == 0);                                                \
  } while (0)

static gantry_device_name_t *parse(const char *text) {
  gantry_device_name_t *name = NULL;
  NEED(gantry_device_name_parse(text, &name) == GANTRY_OK);
  return name;
}

static void expect_printed(const char *text, const char *as_given, const char *full,
                           const char *brief) {
  gantry_device_name_t *name = parse(text);
  EXPECT(strcmp(gantry_device_name_print(name, GANTRY_DEVICE_NAME_AS_GIVEN), as_given) == 0);
  EXPECT(strcmp(gantry_device_name_print(name, GANTRY_DEVICE_NAME_FULL), full) == 0);
  EXPECT(strcmp(gantry_device_name_print(name, GANTRY_DEVICE_NAME_SHORT), brief) == 0);
  EXPECT(gantry_device_name_print(name, (gantry_device_name_form_t)9) == NULL);
  gantry_device_name_destroy(name);
}

static void test_names(void) {
  static const char gpu1[] = "/job:localhost/replica:0/task:0/device:GPU:1";
  gantry_device_name_t *name = NULL;
  expect_printed("GPU:1", "/device:GPU:1", gpu1, "GPU:1");
  expect_printed("cuda:1", "/device:GPU:1", gpu1, "GPU:1");
  expect_printed(gpu1, gpu1, gpu1, "GPU:1");
  expect_printed("/job:worker/device:GPU:*", "/job:worker/device:GPU:*",
                 "/job:worker/replica:0/task:0/device:GPU:*", "/job:worker/device:GPU:*");
  REFUSED(gantry_device_name_parse("GPU:x", &name), GANTRY_INVALID_ARGUMENT,
          "device name 'GPU:x', column 5: expected a number (0, 1, ...) or '*'");
  EXPECT(name == NULL);
  EXPECT(gantry_device_name_print(NULL, GANTRY_DEVICE_NAME_FULL) == NULL);
}

static void test_parts(void) {
  gantry_device_name_t *name = parse("/job:worker/task:2/physical_device:GPU:3");
  gantry_device_name_parts_t parts = {.struct_size = sizeof parts};
  NEED(gantry_device_name_parts(name, &parts) == GANTRY_OK);
  EXPECT(strcmp(parts.job, "worker") == 0 && parts.replica == -1 && parts.task == 2);
  EXPECT(strcmp(parts.type, "GPU") == 0 && parts.id == 3 && parts.is_physical == 1);
  gantry_device_name_destroy(name);
  name = parse("/device:*");
  NEED(gantry_device_name_parts(name, &parts) == GANTRY_OK);
  EXPECT(!parts.job && !parts.type && parts.id == -1 && parts.is_physical == 0);
  parts.struct_size = 0;
  REFUSED(gantry_device_name_parts(name, &parts), GANTRY_INVALID_ARGUMENT,
          "gantry_device_name_parts_t: struct_size is not set");
  gantry_device_name_destroy(name);
}

static void test_scopes(void) {
  gantry_device_name_t *outer = parse("/job:worker/device:GPU:1"), *inner = parse("CPU");
  gantry_device_name_t *merged = NULL;
  NEED(gantry_device_name_merge(outer, inner, &merged) == GANTRY_OK);
  EXPECT(strcmp(gantry_device_name_print(merged, GANTRY_DEVICE_NAME_AS_GIVEN),
                "/job:worker/device:CPU:*") == 0);
  EXPECT(gantry_device_name_matches(inner, merged));
  EXPECT(!gantry_device_name_matches(outer, merged));
  gantry_device_name_destroy(outer);
  gantry_device_name_destroy(inner);
  gantry_device_name_destroy(merged);
}

static void expect_device(const gantry_topology_t *topology, const char *type, size_t index,
                          const char *brief, const char *driver, uint64_t limit, int is_limited) {
  gantry_logical_device_t device = {.struct_size = sizeof device};
  NEED(gantry_topology_logical(topology, type, index, &device) == GANTRY_OK);
  EXPECT(strcmp(device.short_name, brief) == 0 && strcmp(device.driver, driver) == 0);
  EXPECT(device.limit_bytes == limit && device.is_limited == is_limited);
}

static void test_flags(void) {
  static const char *const splits[] = {"GPU:0=1GiB,2GiB"};
  const gantry_topology_flags_t flags = {.struct_size = sizeof flags,
                                         .devices = "GPU:0,GPU:1@4GiB,GPU:2",
                                         .visible = "0,1",
                                         .splits = splits,
                                         .num_splits = 1,
                                         .simulate = 1};
  gantry_topology_t *topology = NULL;
  NEED(gantry_topology_parse(&flags, NULL, &topology) == GANTRY_OK);
  EXPECT(gantry_topology_num_physical(topology, "GPU") == 3);
  EXPECT(gantry_topology_num_logical(topology, "gpu") == 3);
  EXPECT(gantry_topology_num_logical(topology, "CPU") == 1);
  EXPECT(gantry_topology_num_logical(topology, NULL) == 4);
  EXPECT(gantry_topology_num_logical(topology, "TPU") == 0);
  expect_device(topology, NULL, 0, "CPU:0", "host", 0, 0);
  expect_device(topology, "GPU", 0, "GPU:0", "sim", UINT64_C(1) << 30, 1);
  expect_device(topology, "GPU", 1, "GPU:1", "sim", UINT64_C(2) << 30, 1);
  expect_device(topology, "GPU", 2, "GPU:2", "sim", UINT64_C(4) << 30, 1);

  gantry_physical_device_t device = {.struct_size = sizeof device};
  NEED(gantry_topology_physical(topology, "GPU", 2, &device) == GANTRY_OK);
  EXPECT(strcmp(device.name, "/job:localhost/replica:0/task:0/physical_device:GPU:2") == 0);
  EXPECT(strcmp(device.driver, "sim") == 0 && strcmp(device.type, "GPU") == 0);
  REFUSED(gantry_topology_physical(topology, "GPU", 3, &device), GANTRY_INVALID_ARGUMENT,
          "there is no physical GPU number 3 of 3");
  gantry_logical_device_t logical = {.struct_size = sizeof logical};
  REFUSED(gantry_topology_logical(topology, NULL, 4, &logical), GANTRY_INVALID_ARGUMENT,
          "there is no logical device number 4 of 4");
  gantry_topology_destroy(topology);
}

static void test_finding(void) {
  const gantry_topology_flags_t flags = {
      .struct_size = sizeof flags, .devices = "GPU:0,GPU:1", .simulate = 1};
  gantry_topology_t *topology = NULL;
  size_t index = 9;
  NEED(gantry_topology_parse(&flags, NULL, &topology) == GANTRY_OK);
  EXPECT(gantry_topology_find(topology, "cuda:1", &index) == GANTRY_OK && index == 2);
  EXPECT(gantry_topology_find(topology, "GPU", &index) == GANTRY_OK && index == 1);
  REFUSED(gantry_topology_find(topology, "GPU:2", &index), GANTRY_NOT_FOUND,
          "'/job:localhost/replica:0/task:0/device:GPU:2': unknown device; the devices are "
          "/job:localhost/replica:0/task:0/device:CPU:0, "
          "/job:localhost/replica:0/task:0/device:GPU:0, "
          "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT(index == 1);
  gantry_topology_destroy(topology);
}

static void test_placing(void) {
  const gantry_topology_flags_t flags = {
      .struct_size = sizeof flags, .devices = "GPU:0,GPU:1", .simulate = 1};
  const uint64_t held[] = {9, 1, 2};
  gantry_topology_t *topology = NULL;
  size_t index = 9;
  NEED(gantry_topology_parse(&flags, NULL, &topology) == GANTRY_OK);
  EXPECT(gantry_topology_place(topology, NULL, 0, NULL, &index) == GANTRY_OK && index == 1);
  EXPECT(gantry_topology_place(topology, NULL, 0, held, &index) == GANTRY_OK && index == 2);
  EXPECT(gantry_topology_place(topology, "CPU", 0, held, &index) == GANTRY_OK && index == 0);
  EXPECT(gantry_topology_place(topology, "GPU:7", 1, NULL, &index) == GANTRY_OK && index == 1);
  REFUSED(gantry_topology_place(topology, "GPU:7", 0, held, &index), GANTRY_NOT_FOUND,
          "'/job:localhost/replica:0/task:0/device:GPU:7': unknown device; the devices are "
          "/job:localhost/replica:0/task:0/device:CPU:0, "
          "/job:localhost/replica:0/task:0/device:GPU:0, "
          "/job:localhost/replica:0/task:0/device:GPU:1");
  EXPECT(index == 1);
  EXPECT(gantry_topology_place(topology, "GPU:x", 1, NULL, &index) == GANTRY_INVALID_ARGUMENT);
  EXPECT(gantry_topology_place(NULL, NULL, 0, NULL, &index) == GANTRY_INVALID_ARGUMENT);
  EXPECT(gantry_topology_place(topology, NULL, 0, NULL, NULL) == GANTRY_INVALID_ARGUMENT);
  gantry_topology_destroy(topology);
}

static void test_wrong_flags(void) {
  static const char *const splits[] = {"GPU:5=1GiB"};
  gantry_topology_flags_t flags = {.struct_size = sizeof flags, .devices = "GPU"};
  gantry_topology_t *topology = (gantry_topology_t *)&flags;
  REFUSED(
      gantry_topology_parse(&flags, NULL, &topology), GANTRY_INVALID_ARGUMENT,
      "--devices: 'GPU' in a device list does not name one device; write a type and an id, like "
      "GPU:0");
  EXPECT(topology == NULL);
  flags.devices = "GPU:0";
  flags.splits = splits;
  flags.num_splits = 1;
  REFUSED(gantry_topology_parse(&flags, NULL, &topology), GANTRY_INVALID_ARGUMENT,
          "--split: 'GPU:5': unknown device; the GPUs are GPU:0");
  flags.splits = NULL;
  REFUSED(gantry_topology_parse(&flags, NULL, &topology), GANTRY_INVALID_ARGUMENT,
          "gantry_topology_flags_t: splits is a null pointer, and num_splits is 1");
  flags.struct_size = 0;
  REFUSED(gantry_topology_parse(&flags, NULL, &topology), GANTRY_INVALID_ARGUMENT,
          "gantry_topology_flags_t: struct_size is not set");
  REFUSED(gantry_topology_from_json("{", &topology), GANTRY_CORRUPT,
          "topology: this is not JSON, see line 1, column 1");
}

/* The fake libnvidia-ml lists two GPUs. */
static void test_machine(void) {
  const gantry_topology_flags_t flags = {.struct_size = sizeof flags, .visible = "1"};
  gantry_topology_t *machine = NULL, *again = NULL, *hidden = NULL;
  NEED(gantry_topology_of_machine(&machine) == GANTRY_OK);
  EXPECT(gantry_topology_num_physical(machine, "GPU") == 2);
  NEED(gantry_topology_from_json(gantry_topology_to_json(machine), &again) == GANTRY_OK);
  EXPECT(strcmp(gantry_topology_to_json(machine), gantry_topology_to_json(again)) == 0);
  NEED(gantry_topology_parse(&flags, machine, &hidden) == GANTRY_OK);
  EXPECT(gantry_topology_num_physical(hidden, "GPU") == 2);
  EXPECT(gantry_topology_num_logical(hidden, "GPU") == 1);
  EXPECT(gantry_topology_num_logical(machine, "GPU") == 2);
  gantry_topology_destroy(machine);
  gantry_topology_destroy(again);
  gantry_topology_destroy(hidden);
}

int main(void) {
  test_names();
  test_parts();
  test_scopes();
  test_flags();
  test_finding();
  test_placing();
  test_wrong_flags();
  test_machine();
  EXPECT(gantry_topology_to_json(NULL) == NULL);
  EXPECT(gantry_topology_num_logical(NULL, NULL) == 0);
  if (failures == 0)
    printf("topologies: all as expected\n");
  return failures != 0;
}
