// In the place of malloc for what is linked into the compiler library (--wrap=malloc): MLIR uses
// what malloc gives without a look, and LLVM ends the process where it is nothing. Like this it is
// as if operator new had failed. Who asks with a remedy (AlignedBuffer) does not ask malloc.
#include <cstddef>
#include <new>

extern "C" {
void *__real_malloc(size_t size);

void *__wrap_malloc(size_t size) {
  void *made = __real_malloc(size);
  if (!made)
    throw std::bad_alloc();
  return made;
}
}
