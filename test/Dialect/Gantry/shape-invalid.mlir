// What movement of elements refuses. Every text of lib/Dialect/Gantry/IR for them once, in
// full; what MLIR itself adds ("failed to infer returned types") is left alone.

// RUN: gantry-opt %s -split-input-file -verify-diagnostics=only-expected

// A permutation names each dimension once.
func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.transpose' op [0,0] is not a permutation of 2 dimensions}}
  %r = gantry.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

// Nothing to join.
func.func @concat() {
  // expected-error @below {{'gantry.concat' op needs at least one operand}}
  %r = gantry.concat {axis = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

// No axis of that number.
func.func @concat(%x: tensor<2x3xf32>) {
  // expected-error @below {{'gantry.concat' op axis 2 is outside the 2 dimensions of the input}}
  %r = gantry.concat %x {axis = 2 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// Joined tensors agree elsewhere.
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{'gantry.concat' op operands 'tensor<2x3xf32>' and 'tensor<2x4xf32>' differ outside axis 0}}
  %r = gantry.concat %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

// An entry for each dimension.
func.func @slice(%x: tensor<4x8xf32>) {
  // expected-error @below {{'gantry.slice' op starts, sizes and steps need 2 entries each}}
  %r = gantry.slice %x {starts = array<i64: 0>, sizes = array<i64: 2, 4>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<2x4xf32>
  return
}

// -----

// A step of nothing.
func.func @slice(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.slice' op dimension 0 has size 2 and step 0}}
  %r = gantry.slice %x {starts = array<i64: 0>, sizes = array<i64: 2>, steps = array<i64: 0>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// The last element read is outside.
func.func @slice(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.slice' op dimension 0 reaches from 2 to 4, the input has 4 elements there}}
  %r = gantry.slice %x {starts = array<i64: 2>, sizes = array<i64: 2>, steps = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

// No axis of that number.
func.func @split(%x: tensor<3xf32>) {
  // expected-error @below {{'gantry.split' op axis 1 is outside the 1 dimensions of the input}}
  %r = gantry.split %x {axis = 1 : i64, sizes = array<i64: 3>} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

// A piece of negative size.
func.func @split(%x: tensor<3xf32>) {
  // expected-error @below {{'gantry.split' op sizes has the entry -1, expected at least 0}}
  %a, %b = gantry.split %x {axis = 0 : i64, sizes = array<i64: 4, -1>} : (tensor<3xf32>) -> (tensor<4xf32>, tensor<0xf32>)
  return
}

// -----

// Pieces make up the whole.
func.func @split(%x: tensor<3xf32>) {
  // expected-error @below {{'gantry.split' op sizes add up to 2, axis 0 has 3}}
  %r = gantry.split %x {axis = 0 : i64, sizes = array<i64: 2>} : (tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// An entry for each dimension.
func.func @pad(%x: tensor<2x2xf32>, %y: tensor<f32>) {
  // expected-error @below {{'gantry.pad' op low and high need 2 entries each}}
  %r = gantry.pad %x, %y {low = array<i64: 1>, high = array<i64: 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x4xf32>
  return
}

// -----

// The border has the input's element type.
func.func @pad(%x: tensor<4xf32>, %y: tensor<1xf32>) {
  // expected-error @below {{'gantry.pad' op value must be a scalar of the input's element type, got 'tensor<1xf32>'}}
  %r = gantry.pad %x, %y {low = array<i64: 1>, high = array<i64: 1>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<1xf32>) -> tensor<6xf32>
  return
}

// -----

// Cutting is a slice.
func.func @pad(%x: tensor<4xf32>, %y: tensor<f32>) {
  // expected-error @below {{'gantry.pad' op dimension 0 has a negative border; use gantry.slice to cut}}
  %r = gantry.pad %x, %y {low = array<i64: -1>, high = array<i64: 1>, mode = #gantry<pad_mode constant>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// A reflection leaves the edge out.
func.func @pad(%x: tensor<4xf32>, %y: tensor<f32>) {
  // expected-error @below {{'gantry.pad' op dimension 0 has 4 elements, too few for a border of 4}}
  %r = gantry.pad %x, %y {low = array<i64: 4>, high = array<i64: 0>, mode = #gantry<pad_mode reflect>} : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

// Views keep the element type.
func.func @reshape(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.reshape' op changes the element type from 'f32' to 'i32'; use gantry.cast}}
  %r = gantry.reshape %x : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

// Views keep the number of elements.
func.func @reshape(%x: tensor<2x6xf32>) {
  // expected-error @below {{'gantry.reshape' op input 'tensor<2x6xf32>' has 12 elements, result 'tensor<3x5xf32>' has 15}}
  %r = gantry.reshape %x : (tensor<2x6xf32>) -> tensor<3x5xf32>
  return
}

// -----

// Only dimensions of size 1 stretch.
func.func @broadcast(%x: tensor<3xf32>) {
  // expected-error @below {{'gantry.broadcast' op input 'tensor<3xf32>' cannot be broadcast to 'tensor<2x6xf32>'}}
  %r = gantry.broadcast %x : (tensor<3xf32>) -> tensor<2x6xf32>
  return
}

// -----

// No axis of that number.
func.func @iota() {
  // expected-error @below {{'gantry.iota' op axis 1 is outside the 1 dimensions of the result}}
  %r = gantry.iota {axis = 1 : i64} : () -> tensor<5xi64>
  return
}

// -----

// A scale for each dimension.
func.func @resize(%x: tensor<3x4xf32>) {
  // expected-error @below {{'gantry.resize' op input 'tensor<3x4xf32>', result 'tensor<2x3x8xf32>' and 2 scales need the same number of dimensions}}
  %r = gantry.resize %x {mode = #gantry<resize_mode linear>, coordinate_mode = #gantry<coordinate_mode half_pixel>, nearest_mode = #gantry<nearest_mode floor>, scales = array<f64: 1.0, 2.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<3x4xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

// Starts and ends.
func.func @resize(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.resize' op roi has 1 entries, expected 2}}
  %r = gantry.resize %x {mode = #gantry<resize_mode linear>, coordinate_mode = #gantry<coordinate_mode half_pixel>, nearest_mode = #gantry<nearest_mode floor>, scales = array<f64: 2.0>, roi = array<f64: 0.0>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// Scales are positive.
func.func @resize(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.resize' op scale of dimension 0 is not positive}}
  %r = gantry.resize %x {mode = #gantry<resize_mode linear>, coordinate_mode = #gantry<coordinate_mode half_pixel>, nearest_mode = #gantry<nearest_mode floor>, scales = array<f64: 0.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// There is nothing to sample.
func.func @resize(%x: tensor<0xf32>) {
  // expected-error @below {{'gantry.resize' op dimension 0 of the input is empty}}
  %r = gantry.resize %x {mode = #gantry<resize_mode linear>, coordinate_mode = #gantry<coordinate_mode half_pixel>, nearest_mode = #gantry<nearest_mode floor>, scales = array<f64: 2.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<0xf32>) -> tensor<8xf32>
  return
}
