// What reading and writing at computed indices refuses. Every text of lib/Dialect/Gantry/IR for them once, in
// full; what MLIR itself adds ("failed to infer returned types") is left alone.

// RUN: gantry-opt %s -split-input-file -verify-diagnostics=only-expected

// No axis of that number.
func.func @gather(%x: tensor<9x4xf32>, %y: tensor<2xi64>) {
  // expected-error @below {{'gantry.gather' op axis 2 is outside the 2 dimensions of the input}}
  %r = gantry.gather %x, %y {axis = 2 : i64} : (tensor<9x4xf32>, tensor<2xi64>) -> tensor<9x4x2xf32>
  return
}

// -----

// As many dimensions.
func.func @gather_elements(%x: tensor<2x5xf32>, %y: tensor<2xi64>) {
  // expected-error @below {{'gantry.gather_elements' op indices [2] need as many dimensions as the input [2,5]}}
  %r = gantry.gather_elements %x, %y {axis = 0 : i64} : (tensor<2x5xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

// Other dimensions are inside the input.
func.func @gather_elements(%x: tensor<2x5xf32>, %y: tensor<3x5xi64>) {
  // expected-error @below {{'gantry.gather_elements' op indices [3,5] reach beyond the input [2,5] in dimension 0}}
  %r = gantry.gather_elements %x, %y {axis = 1 : i64} : (tensor<2x5xf32>, tensor<3x5xi64>) -> tensor<3x5xf32>
  return
}

// -----

// Tuples longer than the input has dimensions.
func.func @gather_nd(%x: tensor<4x5xf32>, %y: tensor<2x3xi64>) {
  // expected-error @below {{'gantry.gather_nd' op indices [2,3] with 0 batch dimensions do not address the input [4,5]}}
  %r = gantry.gather_nd %x, %y {batch_dims = 0 : i64} : (tensor<4x5xf32>, tensor<2x3xi64>) -> tensor<2xf32>
  return
}

// -----

// Batches are shared.
func.func @gather_nd(%x: tensor<4x5xf32>, %y: tensor<3x1xi64>) {
  // expected-error @below {{'gantry.gather_nd' op batch dimension 0 differs: input [4,5], indices [3,1]}}
  %r = gantry.gather_nd %x, %y {batch_dims = 1 : i64} : (tensor<4x5xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  return
}

// -----

// An update for each index.
func.func @scatter_elements(%x: tensor<2x5xf32>, %y: tensor<2x3xi64>, %z: tensor<2x4xf32>) {
  // expected-error @below {{'gantry.scatter_elements' op indices 'tensor<2x3xi64>' and updates 'tensor<2x4xf32>' do not fit the input 'tensor<2x5xf32>'}}
  %r = gantry.scatter_elements %x, %y, %z {axis = 1 : i64, reduction = #gantry<reduction none>} : (tensor<2x5xf32>, tensor<2x3xi64>, tensor<2x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

// Other dimensions are inside the input.
func.func @scatter_elements(%x: tensor<2x5xf32>, %y: tensor<3x3xi64>, %z: tensor<3x3xf32>) {
  // expected-error @below {{'gantry.scatter_elements' op indices [3,3] reach beyond the input [2,5] in dimension 0}}
  %r = gantry.scatter_elements %x, %y, %z {axis = 1 : i64, reduction = #gantry<reduction add>} : (tensor<2x5xf32>, tensor<3x3xi64>, tensor<3x3xf32>) -> tensor<2x5xf32>
  return
}

// -----

// Tuples longer than the input has dimensions.
func.func @scatter_nd(%x: tensor<8xf32>, %y: tensor<4x2xi64>, %z: tensor<4xf32>) {
  // expected-error @below {{'gantry.scatter_nd' op indices [4,2] do not address the input [8]}}
  %r = gantry.scatter_nd %x, %y, %z {reduction = #gantry<reduction none>} : (tensor<8xf32>, tensor<4x2xi64>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// Updates are slices of the input.
func.func @scatter_nd(%x: tensor<8x2xf32>, %y: tensor<4x1xi64>, %z: tensor<4xf32>) {
  // expected-error @below {{'gantry.scatter_nd' op updates are 'tensor<4xf32>', expected 'tensor<4x2xf32>'}}
  %r = gantry.scatter_nd %x, %y, %z {reduction = #gantry<reduction none>} : (tensor<8x2xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8x2xf32>
  return
}

// -----

// Two scalars of one type.
func.func @one_hot(%x: tensor<4xi64>, %y: tensor<f32>, %z: tensor<i32>) {
  // expected-error @below {{'gantry.one_hot' op on and off values must be scalars of one type, got 'tensor<i32>' and 'tensor<f32>'}}
  %r = gantry.one_hot %x, %y, %z {axis = 0 : i64, depth = 3 : i64} : (tensor<4xi64>, tensor<f32>, tensor<i32>) -> tensor<3x4xf32>
  return
}

// -----

// The new dimension is among the result's.
func.func @one_hot(%x: tensor<4xi64>, %y: tensor<f32>, %z: tensor<f32>) {
  // expected-error @below {{'gantry.one_hot' op axis 2 is outside the 2 dimensions of the input}}
  %r = gantry.one_hot %x, %y, %z {axis = 2 : i64, depth = 3 : i64} : (tensor<4xi64>, tensor<f32>, tensor<f32>) -> tensor<4x3xf32>
  return
}

// -----

// A negative number of classes.
func.func @one_hot(%x: tensor<4xi64>, %y: tensor<f32>, %z: tensor<f32>) {
  // expected-error @below {{'gantry.one_hot' op depth is -1, expected at least 0}}
  %r = gantry.one_hot %x, %y, %z {axis = 0 : i64, depth = -1 : i64} : (tensor<4xi64>, tensor<f32>, tensor<f32>) -> tensor<0x4xf32>
  return
}

// -----

// No index can be brought into an empty dimension; where nothing is asked for, that is no matter.
func.func @from_nothing(%x: tensor<0x4xf32>, %i: tensor<2xi64>, %none: tensor<0xi64>) {
  %ok = gantry.gather %x, %none {axis = 0 : i64} : (tensor<0x4xf32>, tensor<0xi64>) -> tensor<0x4xf32>
  // expected-error @below {{'gantry.gather' op reads the empty input [0,4] at indices}}
  %r = gantry.gather %x, %i {axis = 0 : i64} : (tensor<0x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @into_nothing(%x: tensor<0xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @below {{'gantry.scatter_elements' op writes the empty input [0] at indices}}
  %r = gantry.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = #gantry<reduction none>} : (tensor<0xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<0xf32>
  return
}

// -----

// No axis of that number.
func.func @set_slice(%x: tensor<9x4xf32>, %u: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error @below {{'gantry.set_slice' op axis 2 is outside the 2 dimensions of the input}}
  %r = gantry.set_slice %x, %u, %i {axis = 2 : i64} : (tensor<9x4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<9x4xf32>
  return
}

// -----

// One slice, one index.
func.func @set_slice(%x: tensor<9x4xf32>, %u: tensor<4xf32>, %i: tensor<1xi64>) {
  // expected-error @below {{'gantry.set_slice' op the index must be a scalar, got 'tensor<1xi64>'}}
  %r = gantry.set_slice %x, %u, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<4xf32>, tensor<1xi64>) -> tensor<9x4xf32>
  return
}

// -----

// The update is a slice.
func.func @set_slice(%x: tensor<9x4xf32>, %u: tensor<1x4xf32>, %i: tensor<i64>) {
  // expected-error @below {{'gantry.set_slice' op the update is 'tensor<1x4xf32>', expected 'tensor<4xf32>'}}
  %r = gantry.set_slice %x, %u, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<1x4xf32>, tensor<i64>) -> tensor<9x4xf32>
  return
}

// -----

// There is nowhere to write.
func.func @set_slice(%x: tensor<0x4xf32>, %u: tensor<4xf32>, %i: tensor<i64>) {
  // expected-error @below {{'gantry.set_slice' op writes the empty input [0,4] at indices}}
  %r = gantry.set_slice %x, %u, %i {axis = 0 : i64} : (tensor<0x4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<0x4xf32>
  return
}

// -----

// A size for each component, or one.
func.func @first_bad_index(%i: tensor<3x3xi64>) {
  // expected-error @below {{'gantry.first_bad_index' op 2 sizes do not fit the indices [3,3]; expected one, or one for each component of a tuple}}
  %r = gantry.first_bad_index %i {sizes = array<i64: 4, 5>} : (tensor<3x3xi64>) -> tensor<2xi64>
  return
}

// -----

// Position and value.
func.func @assert_indices(%i: tensor<3xi64>) {
  // expected-error @below {{'gantry.assert_indices' op reads a tensor<2xi64>, got 'tensor<3xi64>'}}
  gantry.assert_indices %i of "i" shape [3] sizes [4] in "a" is "Gather" : tensor<3xi64>
  return
}

// -----

// No index of none is bad.
func.func @assert_indices(%i: tensor<2xi64>) {
  // expected-error @below {{'gantry.assert_indices' op needs at least one size, and indices to be about}}
  gantry.assert_indices %i of "i" shape [0] sizes [4] in "a" is "Gather" : tensor<2xi64>
  return
}

// -----

func.func @assert_indices(%i: tensor<2xi64>) {
  // expected-error @below {{'gantry.assert_indices' op tells of indices of the shape [2, -3], which no tensor has}}
  gantry.assert_indices %i of "i" shape [2, -3] sizes [4] in "a" is "Gather" : tensor<2xi64>
  return
}

// -----

func.func @assert_indices(%i: tensor<2xi64>) {
  // expected-error @below {{'gantry.assert_indices' op tells of indices of the shape [4294967296, 4294967296], which no tensor has}}
  gantry.assert_indices %i of "i" shape [4294967296, 4294967296] sizes [4] in "a" is "Gather" : tensor<2xi64>
  return
}

// -----

func.func @assert_indices(%i: tensor<2xi64>) {
  // expected-error @below {{'gantry.assert_indices' op tells of the sizes [-1], which no tensor has}}
  gantry.assert_indices %i of "i" shape [2] sizes [-1] in "a" is "Gather" : tensor<2xi64>
  return
}
