// Dialects are loaded for the targets that there may be kernels for.
// RUN: gantry-opt %s --gantry-lower-kernels=targets=cuda -verify-diagnostics

module {
  // expected-error @below {{its kernels are for the target 'cpu', which is not among those whose dialects were loaded}}
  module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
  }
}
