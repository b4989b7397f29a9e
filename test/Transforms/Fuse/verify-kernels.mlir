// RUN: gantry-opt %s --gantry-verify-kernels -split-input-file -verify-diagnostics

// What Fuse gives.
func.func @formed(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  %0 = gantry.reshape %x : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = gantry.launch @kernels::@relu_0(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
  gantry.kernel @relu_0 {
  ^bb0(%x: tensor<4xf32>):
    %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
}

// -----

// An op outside a kernel.
func.func @outside(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.relu' op is left outside a kernel after Fuse}}
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A launch of nothing.
func.func @missing(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.launch' op names the kernel 'relu_0', which does not exist}}
  %0 = gantry.launch @kernels::@relu_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
}

// -----

// A launch with other types.
func.func @misfit(%x: tensor<5xf32>) {
  // expected-error @below {{'gantry.launch' op does not fit the kernel 'relu_0'}}
  %0 = gantry.launch @kernels::@relu_0(%x) : (tensor<5xf32>) -> tensor<5xf32>
  return
}
module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
  gantry.kernel @relu_0 {
  ^bb0(%x: tensor<4xf32>):
    %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
}

// -----

// A module of kernels that nobody makes code of.
func.func @nobodys(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.launch' op names the kernel 'relu_0', whose module says no target}}
  %0 = gantry.launch @mine::@relu_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
module @mine {
  gantry.kernel @relu_0 {
  ^bb0(%x: tensor<4xf32>):
    %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
}

// -----

// The kernel for another driver has to be there, too.
func.func @also(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.launch' op names the kernel 'relu_1', which does not exist}}
  %0 = gantry.launch @kernels::@relu_0(%x) also [@kernels::@relu_1] : (tensor<4xf32>) -> tensor<4xf32>
  return
}
module @kernels attributes {gantry.target = #gantry.target<"cpu">} {
  gantry.kernel @relu_0 {
  ^bb0(%x: tensor<4xf32>):
    %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
}
