// Refuses one allocation or one thread of the process that preloads it, counted from 1 from its
// start: REFUSE_ALLOCATION=N, REFUSE_THREAD=N, REFUSE_CALLOC=N (allocations by calloc alone), or
// with N+ that and all later ones. When it has refused one it writes a file, REFUSE_TOLD, and at
// the end, to REFUSE_COUNTS, how many there were of each.
//
// The C library's own names are in the place of dlsym, which allocates.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
}

namespace {

void writeFile(const char *variable, const char *text) {
  const char *path = std::getenv(variable);
  const int file = path ? ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
  if (file < 0)
    return;
  (void)!::write(file, text, std::strlen(text));
  ::close(file);
}

/// What is counted, and refused at a number.
class Count {
public:
  explicit Count(const char *variable) : variable(variable) {}

  /// Whether the next one is refused.
  bool next() {
    const uint64_t number = seen.fetch_add(1, std::memory_order_relaxed) + 1;
    uint64_t refused = at.load(std::memory_order_relaxed);
    if (refused == unread)
      refused = read();
    if (refused == none || number < refused || (number > refused && !andLater))
      return false;
    writeFile("REFUSE_TOLD", "refused\n");
    return true;
  }

  uint64_t total() const { return seen; }

private:
  static constexpr uint64_t unread = 0, none = UINT64_MAX;

  /// The environment is there before the first constructor runs.
  uint64_t read() {
    const char *text = std::getenv(variable);
    char *end = nullptr;
    const uint64_t number = text ? std::strtoull(text, &end, 10) : none;
    andLater = end && *end == '+';
    at = number;
    return number;
  }

  const char *variable;
  std::atomic<uint64_t> seen = 0, at = unread;
  bool andLater = false;
};

Count &allocations() {
  static Count count("REFUSE_ALLOCATION");
  return count;
}
Count &threads() {
  static Count count("REFUSE_THREAD");
  return count;
}

Count &callocs() {
  static Count count("REFUSE_CALLOC");
  return count;
}

bool refuses(Count &count = allocations()) {
  if (!count.next())
    return false;
  errno = ENOMEM;
  return true;
}

__attribute__((destructor)) void tellCounts() {
  char text[80];
  std::snprintf(text, sizeof text, "%llu %llu %llu\n",
                static_cast<unsigned long long>(allocations().total()),
                static_cast<unsigned long long>(threads().total()),
                static_cast<unsigned long long>(callocs().total()));
  writeFile("REFUSE_COUNTS", text);
}

} // namespace

// Programs look for these here.
#pragma GCC visibility push(default)
extern "C" {

void *malloc(size_t size) { return refuses() ? nullptr : __libc_malloc(size); }
void *calloc(size_t count, size_t size) {
  const bool refused = refuses() | refuses(callocs()); // both count
  return refused ? nullptr : __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) { return refuses() ? nullptr : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) {
  return refuses() ? nullptr : __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **result, size_t alignment, size_t size) {
  void *made = memalign(alignment, size);
  if (!made)
    return ENOMEM;
  *result = made;
  return 0;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
  static const auto real =
      reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  return threads().next() ? EAGAIN : real(thread, attributes, start, argument);
}
}
#pragma GCC visibility pop
