// RUN: gantry-opt %s --gantry-lower-kernels -verify-diagnostics

module {
  // expected-error @below {{its kernels are for the target 'abacus', which this compiler does not have}}
  module @kernels attributes {gantry.target = #gantry.target<"abacus">} {
  }
}
