/* Writes what the process allocates and frees to a file, a line each: "a ADDRESS SIZE", "f ADDRESS 0".
 *
 *   cc -shared -fPIC -O2 -o trace.so trace_memory.c
 *   TRACE_FILE=trace.txt LD_PRELOAD=./trace.so node ort_memory.mjs ...
 *
 * Only allocations of at least 1 KiB are of interest: smaller ones are no values of a graph. */
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { least = 1024 };

static int file = -2;
static __thread int inside;

static void say(const char *what, const void *data, size_t size) {
  char line[64];
  if (file == -2) {
    const char *path = getenv("TRACE_FILE");
    file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  }
  if (file < 0)
    return;
  int length = snprintf(line, sizeof line, "%s %p %zu\n", what, data, size);
  if (write(file, line, (size_t)length) < 0)
    file = -1;
}

static void note(const void *data, size_t size) {
  if (!data || size < least || inside)
    return;
  inside = 1;
  say("a", data, size);
  inside = 0;
}

extern void *__libc_malloc(size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t size) {
  void *data = __libc_malloc(size);
  note(data, size);
  return data;
}

int posix_memalign(void **data, size_t alignment, size_t size) {
  *data = __libc_memalign(alignment, size);
  note(*data, size);
  return *data ? 0 : 12;
}

void *aligned_alloc(size_t alignment, size_t size) {
  void *data = __libc_memalign(alignment, size);
  note(data, size);
  return data;
}

void free(void *data) {
  if (data && !inside && malloc_usable_size(data) >= least) {
    inside = 1;
    say("f", data, 0);
    inside = 0;
  }
  __libc_free(data);
}
