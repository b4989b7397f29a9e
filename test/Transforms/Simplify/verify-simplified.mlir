// RUN: gantry-opt %s --gantry-verify-simplified -split-input-file -verify-diagnostics

// What Simplify gives.
func.func @simplified(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// An input of unknown size.
// expected-error @below {{'func.func' op has the open shape 'tensor<?xf32>'; shapes must be known when compiling, give sizes with --dim}}
func.func @open(%x: tensor<?xf32>) {
  return
}

// -----

// A value of unknown size.
func.func @open(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.reshape' op has the open shape 'tensor<?x2xf32>'; shapes must be known when compiling, give sizes with --dim}}
  %0 = gantry.reshape %x : (tensor<4xf32>) -> tensor<?x2xf32>
  return
}

// -----

// Sizes whose product overflows 64 bits are still seen as too large.
func.func @large(%x: tensor<f32>) {
  // expected-error @below {{'gantry.broadcast' op makes 'tensor<4294967296x4294967296xf32>', which no machine can hold}}
  %0 = gantry.broadcast %x : (tensor<f32>) -> tensor<4294967296x4294967296xf32>
  return
}
