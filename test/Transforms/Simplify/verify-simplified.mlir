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

// -----

// Scalars are tensors without dimensions.
// expected-error @below {{'func.func' op has a value of type 'f32'; values are tensors of known rank}}
func.func @scalar(%x: f32) {
  return
}

// -----

// A tensor of any rank has no size.
// expected-error @below {{'func.func' op has a value of type 'tensor<*xf32>'; values are tensors of known rank}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// Elements that no kernel knows.
// expected-error @below {{'func.func' op has elements of type 'complex<f32>'; known are f32, f64, f16, bf16, i1 and i8, i16, i32, i64 with or without sign (ui8, ...)}}
func.func @complex(%x: tensor<4xcomplex<f32>>) {
  return
}

// -----

// expected-error @below {{'func.func' op has elements of type 'i4'; known are f32, f64, f16, bf16, i1 and i8, i16, i32, i64 with or without sign (ui8, ...)}}
func.func @narrow(%x: tensor<4xi4>) {
  return
}

// -----

func.func @layout(%x: tensor<1x2x8x8xf32>) -> tensor<1x1x8x8xf32> {
  // expected-error @below {{'gantry.max_pool' op has the layout NHWC, which the compiler sets after placement; transpose the images and leave it out}}
  %0 = gantry.max_pool %x {layout = #gantry<image_layout NHWC>, window = array<i64: 2, 1>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8xf32>) -> tensor<1x1x8x8xf32>
  return %0 : tensor<1x1x8x8xf32>
}

// -----

// Branches in one another, more than a plan holds.
func.func @nested(%c: tensor<i1>) {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
  gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c { gantry.if %c {
    // expected-error @below {{'gantry.if' op is a branch or loop in 64 others; plans hold no more}}
    gantry.if %c { } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1> } else { } : tensor<i1>
  return
}

// -----

// What is differentiated is ops.
func.func @gradient(%x: tensor<f32>) {
  // expected-error @below {{'gantry.gradient' op is left after Simplify}}
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    gantry.yield %a : tensor<f32>
  }
  return
}
