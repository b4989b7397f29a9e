/* Trains over several processes: goes on from the variables in FILE, if it is there, runs the
 * plan's first function once and writes the variables back.
 *
 *   checkpoint PLAN FILE      every input is 0, 1, 2, ... (f32 only)
 *
 * The file is for one kind of machine: for each variable a header, its name, its dimensions and its
 * bytes, as they are in memory; it is trusted. It is written as FILE.part and then renamed, so that
 * whatever goes wrong leaves the one before. */
#include "gantry-c/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
  uint64_t name_length, element, rank, size;
};

static void fail(const char *what, const char *why) {
  fprintf(stderr, "error: %s%s\n", what, why);
  exit(1);
}

static void check(gantry_status_t status) {
  if (status != GANTRY_OK)
    fail("", gantry_last_error());
}

static void *allocate(uint64_t size) {
  void *memory = calloc(1, size + 1);
  if (!memory)
    fail("no memory", "");
  return memory;
}

static void *read_bytes(FILE *file, uint64_t size) {
  void *bytes = allocate(size);
  if (fread(bytes, 1, size, file) != size)
    fail("the checkpoint is cut off", "");
  return bytes;
}

static void load(gantry_state_t *state, FILE *file) {
  gantry_value_t *values = NULL;
  size_t count = 0;
  struct header header;
  while (fread(&header, sizeof header, 1, file) == 1) {
    if (header.name_length > 4096 || header.rank > 64 || header.size > UINT32_MAX)
      fail("this is no checkpoint", "");
    values = realloc(values, (count + 1) * sizeof *values);
    if (!values)
      fail("no memory", "");
    gantry_value_t *value = &values[count++];
    value->name = read_bytes(file, header.name_length);
    value->element = (gantry_element_type_t)header.element;
    value->rank = (uint32_t)header.rank;
    value->dims = read_bytes(file, header.rank * sizeof(int64_t));
    value->data = read_bytes(file, header.size);
  }
  check(gantry_state_write_values(state, values, count)); /* all of them or none */
  for (size_t i = 0; i < count; ++i) {
    free((void *)values[i].name);
    free((void *)values[i].dims);
    free(values[i].data);
  }
  free(values);
}

static void save_one(const gantry_value_t *value, uint64_t size, FILE *file) {
  const struct header header = {strlen(value->name), (uint64_t)value->element, value->rank, size};
  fwrite(&header, sizeof header, 1, file);
  fwrite(value->name, 1, header.name_length, file);
  fwrite(value->dims, sizeof(int64_t), value->rank, file);
  fwrite(value->data, 1, size, file);
  printf("%s:", value->name);
  for (size_t k = 0; value->element == GANTRY_F32 && k < size / sizeof(float); ++k)
    printf(" %g", ((const float *)value->data)[k]);
  printf("\n");
}

static void save(gantry_state_t *state, const char *path) {
  const uint32_t all = gantry_state_num_variables(state);
  gantry_value_t *values = allocate(all * sizeof *values);
  uint64_t *sizes = allocate(all * sizeof *sizes);
  size_t count = 0;
  for (uint32_t i = 0; i < all; ++i) {
    gantry_tensor_info_t info;
    if (gantry_state_mirror_of(state, i))
      continue; /* a mirror gets what its variable gets */
    check(gantry_state_variable(state, i, &info));
    sizes[count] = info.size;
    values[count++] =
        (gantry_value_t){info.name, info.element, info.rank, info.dims, allocate(info.size)};
  }
  check(gantry_state_read_values(state, values, count)); /* all of one moment */
  char *part = allocate(strlen(path) + sizeof ".part");
  strcat(strcpy(part, path), ".part");
  FILE *file = fopen(part, "wb");
  if (!file)
    fail("cannot write ", part);
  for (size_t i = 0; i < count; ++i) {
    save_one(&values[i], sizes[i], file);
    free(values[i].data);
  }
  const int is_whole = !ferror(file);
  if (fclose(file) != 0 || !is_whole || rename(part, path) != 0)
    fail("cannot write ", path);
  free(part);
  free(values);
  free(sizes);
}

int main(int argc, char **argv) {
  static gantry_runtime_t *runtime; /* static: nothing is destroyed, all lives until the end */
  static gantry_plan_t *plan;
  static gantry_session_t *session;
  static gantry_state_t *state;
  static gantry_bindings_t *bindings;
  if (argc != 3)
    fail("usage: checkpoint PLAN FILE", "");
  check(gantry_runtime_create(NULL, &runtime));
  check(gantry_plan_load(runtime, argv[1], &plan));
  check(gantry_state_create(plan, &state));
  FILE *file = fopen(argv[2], "rb");
  if (file) {
    load(state, file);
    fclose(file);
  }
  check(gantry_session_create(plan, state, &session));
  check(gantry_bindings_create(plan, 0, &bindings));
  for (uint32_t i = 0; i < gantry_plan_num_inputs(plan, 0); ++i) {
    gantry_tensor_info_t info;
    check(gantry_plan_input(plan, 0, i, &info));
    float *values = allocate(info.size);
    for (size_t k = 0; k < info.size / sizeof *values; ++k)
      values[k] = (float)k;
    check(gantry_bindings_set_input_at(bindings, i, values, GANTRY_F32, info.dims, info.rank));
  }
  check(gantry_session_run(session, bindings));
  save(state, argv[2]);
  return 0;
}
