// Options of the address sanitizer in all programs of this build; ASAN_OPTIONS adds to them.
//
// LLVM's allocators mark unused memory where they are instrumented, in our copies of their inline
// functions, and cannot take the marks back where they are not, in libMLIR and libLLVM. So these
// marks are not looked at; of what is checked for memory of malloc and new nothing is lost.

__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void) { return "allow_user_poisoning=0"; }
