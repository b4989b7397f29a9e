// In the place of malloc, calloc and realloc for what is linked into the compiler library
// (--wrap=malloc and so on): MLIR uses what they give without a look, and LLVM ends the process
// where it is nothing. Like this it is as if operator new had failed. calloc is among them because
// an optimiser makes it of a malloc whose memory is cleared. Who asks with a remedy (AlignedBuffer)
// asks none of them.
//
// The C library ends the process where it has no memory to note the destructor of a thread's
// variable: they are noted here (__cxa_thread_atexit).
#include <cstddef>
#include <cstdlib>
#include <new>
#include <pthread.h>

extern "C" {
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *before, size_t size);

static void *orThrow(void *made) {
  if (!made)
    throw std::bad_alloc();
  return made;
}

void *__wrap_malloc(size_t size) { return orThrow(__real_malloc(size)); }

void *__wrap_calloc(size_t count, size_t size) { return orThrow(__real_calloc(count, size)); }

/// realloc to nothing frees, and gives nothing.
void *__wrap_realloc(void *before, size_t size) {
  void *made = __real_realloc(before, size);
  return size ? orThrow(made) : made;
}

/// What a thread runs when it ends, the latest first.
struct AtThreadEnd {
  void (*destroy)(void *);
  void *object;
  AtThreadEnd *before;
};

static void runAtThreadEnd(void *latest) {
  for (auto *entry = static_cast<AtThreadEnd *>(latest); entry;) {
    entry->destroy(entry->object);
    AtThreadEnd *before = entry->before;
    std::free(entry);
    entry = before;
  }
}

/// The library is never unloaded (-z nodelete). The main thread's variables live until the process
/// ends.
int __wrap___cxa_thread_atexit(void (*destroy)(void *), void *object, void *) {
  static pthread_key_t key;
  static const int noKey = pthread_key_create(&key, runAtThreadEnd);
  auto *entry = static_cast<AtThreadEnd *>(__wrap_malloc(sizeof(AtThreadEnd)));
  if (!noKey)
    *entry = {destroy, object, static_cast<AtThreadEnd *>(pthread_getspecific(key))};
  if (noKey || pthread_setspecific(key, entry)) {
    std::free(entry);
    throw std::bad_alloc();
  }
  return 0;
}
}
