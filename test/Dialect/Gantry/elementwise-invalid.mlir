// What elementwise ops refuse. Every text of lib/Dialect/Gantry/IR for them once, in
// full; what MLIR itself adds ("failed to infer returned types") is left alone.

// RUN: gantry-opt %s -split-input-file -verify-diagnostics=only-expected

// Sizes that differ can only meet a 1.
func.func @add(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{'gantry.add' op operands cannot be broadcast to each other: [2,3] and [2]}}
  %r = gantry.add %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

// One element type for all operands; conversions are explicit.
func.func @mul(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @below {{'gantry.mul' op operands have different element types: 'f32' and 'i32'}}
  %r = gantry.mul %x, %y : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// The values of a selection have one type, the condition another.
func.func @select(%x: tensor<4xi1>, %y: tensor<4xf32>, %z: tensor<4xf64>) {
  // expected-error @below {{'gantry.select' op operands have different element types: 'f32' and 'f64'}}
  %r = gantry.select %x, %y, %z : (tensor<4xi1>, tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

// A sum of nothing has no type.
func.func @add_n() {
  // expected-error @below {{'gantry.add_n' op needs at least one operand}}
  %r = gantry.add_n : () -> tensor<4xf32>
  return
}

// -----

// The result type is inferred; another one is refused.
func.func @relu(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.relu' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  %r = gantry.relu %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// Shapes stay when the element type changes.
func.func @cast(%x: tensor<4xf32>) {
  // expected-error @below {{'gantry.cast' op requires the same shape for all operands and results}}
  %r = gantry.cast %x : (tensor<4xf32>) -> tensor<5xi32>
  return
}
