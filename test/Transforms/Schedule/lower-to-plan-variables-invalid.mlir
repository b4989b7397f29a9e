// Ties that do not hold together.
// RUN: gantry-opt %s --split-input-file --gantry-lower-to-plan --verify-diagnostics

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">]>} {
  gantry.variable @w = dense<0.0> : tensor<4xf32>
  // expected-error @below {{argument 0 is tied to '@w', which is no variable of 'tensor<2xf32>'}}
  func.func @argument(%w: tensor<2xf32> {gantry.variable = @w}) {
    return
  }
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">]>} {
  gantry.variable @w = dense<0.0> : tensor<4xf32>
  // expected-error @below {{result 0 is tied to '@w', which is no argument of 'tensor<4xf32>'}}
  func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {gantry.variable = @w}) {
    return %x : tensor<4xf32>
  }
}
