// Options of the address sanitizer's runtime in all of this build's programs; ASAN_OPTIONS adds to them.
//
// LLVM's allocators mark unused memory in what is instrumented, our copies of their inline functions,
// and cannot unmark it in what is not, libMLIR and libLLVM. So such marks are not looked at; that
// loses nothing of what is checked for memory of malloc and new.

__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void) { return "allow_user_poisoning=0"; }
