// RUN: gantry-opt %s --gantry-finish-kernel-buffers -verify-diagnostics

// All shapes are known when compiling; if not, a pass before went wrong.
func.func private @unknown(%n: index) {
  // expected-error @below {{internal error: a kernel allocates a buffer of unknown size}}
  %t = memref.alloc(%n) : memref<?xf32>
  return
}
